//! `svc agent`: the agent on an instruction of one's own, with nothing saved.

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::runs::{AgentRun, RunHandle};

use crate::args::{CapArg, Pair, StartArgs};
use crate::error::Failure;
use crate::request_body::run as run_body;
use crate::resource::run::tables;
use crate::session::Session;
use crate::submit;
use crate::types::Order;

/// Agent Completions.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Runs the agent on an instruction, waits, and prints its output; without one, the receipt.
    /// --cap has to be given.
    Run(Box<Start>),
    /// Lists the runs, newest first.
    Runs {
        /// How many, at most.
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// Any other query parameter; may be repeated.
        #[arg(short, long, value_name = "KEY=VALUE")]
        query: Vec<Pair>,
    },
}

/// The flags of `svc agent run`.
#[derive(Args, Debug)]
pub(crate) struct Start {
    #[command(flatten)]
    cap: CapArg,
    #[command(flatten)]
    start: StartArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, agent: Agent) -> Result<(), Failure> {
    match agent {
        Agent::Run(args) => start(session, &args).await,
        Agent::Runs { limit, query } => {
            let mut call = session.access::<Developer>()?.client.agent_runs_list();
            if let Some(limit) = limit {
                call = call.with_query("limit", limit);
            }
            for pair in &query {
                call = call.with_query(&pair.name, &pair.value);
            }
            let runs = call.send().await?;
            session.printer.more(&runs, "runs");
            session.printer.many(&runs.items, tables::list)
        }
    }
}

async fn start(session: &Session, args: &Start) -> Result<(), Failure> {
    let cap = args.cap.cap.map(run_body::number);
    let body = run_body::begin(&args.start)?
        .with("generation_spend_cap_usd", cap)?
        .finish()?;
    if !body.contains_key("generation_spend_cap_usd") {
        return Err(
            Failure::usage("an agent run needs a cap, which is never made up")
                .next("pass --cap USD: what its generations may cost at most"),
        );
    }
    run_body::judge_cap(&body)?;
    let says = body.get("instruction").and_then(Value::as_str);
    if says.is_none_or(|text| text.trim().is_empty()) {
        return Err(Failure::usage("there is nothing to run").next("pass --instruction TEXT"));
    }
    let order = Order {
        noun: "agent run",
        operation: Operation::AgentCompletionsCreate,
        segments: Vec::new(),
        body,
    };
    let told = args.start.told.into();
    submit::run::<RunHandle<AgentRun>>(session, order, &args.start.terms, told).await
}
