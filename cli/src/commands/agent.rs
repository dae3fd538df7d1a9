//! `svc agent`: the agent on an instruction of one's own, with nothing saved.

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::handle::AgentRun;

use crate::args::{CapArg, ListArgs, RunArgs};
use crate::error::Failure;
use crate::request_body::run as run_body;
use crate::resource::run::tables;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// Agent Completions.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Runs the agent on an instruction, waits, and prints its output; without one, the receipt.
    /// --cap has to be given.
    Run(Box<Start>),
    /// Lists the runs, newest first.
    Runs(ListArgs),
}

/// The flags of `svc agent run`.
#[derive(Args, Debug)]
pub(crate) struct Start {
    #[command(flatten)]
    cap: CapArg,
    #[command(flatten)]
    start: RunArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, agent: Agent) -> Result<(), Failure> {
    match agent {
        Agent::Run(args) => start(session, &args).await,
        Agent::Runs(args) => {
            let client = session.access::<Developer>()?.client;
            let runs = args.apply(client.agent_runs().list()).await?;
            session.printer.note_more_pages(&runs, "runs");
            session.printer.print_list(&runs.items, tables::list)
        }
    }
}

async fn start(session: &Session, args: &Start) -> Result<(), Failure> {
    let cap = args.cap.cap.map(run_body::usd_number);
    let body = run_body::from_args(&args.start)?
        .with("generation_spend_cap_usd", cap)?
        .finish()?;
    if !body.contains_key("generation_spend_cap_usd") {
        return Err(
            Failure::usage("an agent run needs a cap, which is never made up")
                .hint("pass --cap USD: what its generations may cost at most"),
        );
    }
    run_body::validate_cap(&body)?;
    let says = body.get("instruction").and_then(Value::as_str);
    if says.is_none_or(|text| text.trim().is_empty()) {
        return Err(Failure::usage("there is nothing to run").hint("pass --instruction TEXT"));
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
