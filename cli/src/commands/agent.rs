//! `svc agent`: the agent, run with an instruction and without a saved recipe.

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::handle::AgentRun;

use crate::args::{CapArg, InstructionArgs, ListArgs, RunArgs};
use crate::error::Failure;
use crate::listing::Listing;
use crate::request_body::run as run_body;
use crate::resource::run::tables;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// The subcommands of `svc agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Run the agent with an instruction, wait, and print the output
    ///
    /// The instruction and --cap are required. Prints the receipt if the run has no output.
    Run(Box<Start>),
    /// List agent runs, newest first
    Runs(ListArgs),
}

/// The flags of `svc agent run`.
#[derive(Args, Debug)]
pub(crate) struct Start {
    #[command(flatten)]
    instruction: InstructionArgs,
    #[command(flatten)]
    cap: CapArg,
    #[command(flatten)]
    start: RunArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, agent: Agent) -> Result<(), Failure> {
    match agent {
        Agent::Run(args) => start(session, &args).await,
        Agent::Runs(args) => {
            let client = session.access::<Developer>()?.client;
            let listing = Listing::new(session, &args, "runs");
            listing
                .print(|| client.agent_runs().list(), tables::list)
                .await
        }
    }
}

async fn start(session: &Session, args: &Start) -> Result<(), Failure> {
    let cap = args.cap.cap.map(run_body::usd_number);
    let body = run_body::from_args(&args.start, &args.instruction)?
        .with("generation_spend_cap_usd", cap)?
        .finish()?;
    if !body.contains_key("generation_spend_cap_usd") {
        return Err(Failure::usage("--cap is required (USD)")
            .hint("pass --cap USD, the maximum cost of the run's generations"));
    }
    run_body::validate_cap(&body)?;
    let instruction = body.get("instruction").and_then(Value::as_str);
    if instruction.is_none_or(|text| text.trim().is_empty()) {
        return Err(Failure::usage("--instruction is required")
            .hint("pass it as the argument INSTRUCTION, or with --instruction"));
    }
    let request = SubmitRequest {
        noun: "agent run",
        operation: Operation::AgentCompletionsCreate,
        segments: Vec::new(),
        body,
    };
    let receipt_mode = args.start.receipt_mode.into();
    submit::run::<AgentRun>(session, request, &args.start.options, receipt_mode).await
}
