//! `svc agent` and `svc action`: runs of the agent without a saved recipe, and Actions.

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::handle::{ActionRun, AgentRun};
use svc_sdk::types::{Action, ActionTrigger};

use crate::args::{CapArg, InstructionArgs, ListArgs, RunArgs, headings};
use crate::error::{Failure, Result};
use crate::follow::run::{FinishedRun, report};
use crate::listing::Listing;
use crate::output::layout::{cut, required, status};
use crate::output::{ObjectKind, Table};
use crate::request::SubmitRequest;
use crate::request::body::run as run_body;
use crate::session::Session;
use crate::submit;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Run the agent with an instruction, wait, and print the output
    ///
    /// The instruction and --cap are required. A terminal shows only the output of a completed run,
    /// unless --receipt is given; a pipe, -o json and --jq get the whole receipt, with the output in its
    /// field `output`.
    Run(Box<StartAgent>),
    /// List agent runs, newest first
    Runs(ListArgs),
}

#[derive(Args, Debug)]
pub(crate) struct StartAgent {
    #[command(flatten)]
    instruction: InstructionArgs,
    #[command(flatten)]
    cap: CapArg,
    #[command(flatten)]
    start: RunArgs,
}

pub(crate) async fn agent(session: &Session, agent: Agent) -> Result {
    match agent {
        Agent::Run(args) => start(session, &args).await,
        Agent::Runs(args) => {
            let client = session.access::<Developer>()?.client;
            let listing = Listing::new(session, &args, "runs").of(ObjectKind::Run);
            listing.print(|| client.agent_runs().list(), report::list).await
        }
    }
}

async fn start(session: &Session, args: &StartAgent) -> Result {
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
    let request = SubmitRequest::new("agent run", Operation::AgentCompletionsCreate, body);
    let receipt_mode = args.start.receipt_mode;
    submit::run::<AgentRun>(session, request, &args.start.options, receipt_mode, None).await
}

#[derive(Debug, Subcommand)]
pub(crate) enum ActionCommand {
    /// List Actions
    List(ListActions),
    /// Show an Action
    Get {
        /// Action id
        #[arg(value_name = "ACTION_ID")]
        id: String,
    },
    /// List the runs of an Action
    Runs {
        /// Action id
        #[arg(value_name = "ACTION_ID")]
        id: String,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Run an Action that has an `api_call` trigger, wait, and print the output
    ///
    /// A terminal shows only the output of a completed run, unless --receipt is given; a pipe, -o json
    /// and --jq get the whole receipt, with the output in its field `output`.
    Run(Box<StartAction>),
    /// Show a run of an Action
    RunGet {
        /// Action id
        #[arg(value_name = "ACTION_ID")]
        id: String,
        /// Run id
        #[arg(value_name = "RUN_ID")]
        run_id: String,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ListActions {
    /// Only Actions with this status, such as active
    #[arg(long, help_heading = headings::FILTERS)]
    status: Option<String>,
    /// Only Actions with this type of trigger, such as `api_call`
    #[arg(long, value_name = "TYPE", help_heading = headings::FILTERS)]
    trigger_type: Option<String>,
    #[command(flatten)]
    list: ListArgs,
}

/// The help of `--max-price`: unlike Formats and the agent, Actions take no cap.
const MAX_PRICE_HELP: &str =
    "Submit nothing if the price is higher or unknown; that of an Action's run is unknown";

#[derive(Args, Debug)]
#[command(mut_arg("max_price", |arg| arg.help(MAX_PRICE_HELP)))]
pub(crate) struct StartAction {
    /// Action id
    #[arg(value_name = "ACTION_ID")]
    id: String,
    #[command(flatten)]
    instruction: InstructionArgs,
    #[command(flatten)]
    start: RunArgs,
}

pub(crate) async fn action(session: &Session, action: ActionCommand) -> Result {
    match action {
        ActionCommand::List(args) => list(session, args).await,
        ActionCommand::Get { id } => {
            let client = session.access::<Developer>()?.client;
            let action = client.actions().get(id).await?;
            session.printer.print_item(&action, entry_table)
        }
        ActionCommand::Runs { id, list } => {
            let client = session.access::<Developer>()?.client;
            let call = || client.actions().list_runs(id.as_str());
            let listing = Listing::new(session, &list, "runs").of(ObjectKind::Run);
            listing.print(call, report::list).await
        }
        ActionCommand::Run(args) => {
            let body = run_body::from_args(&args.start, &args.instruction)?.finish()?;
            run_body::validate_cap(&body)?;
            let request = SubmitRequest {
                noun: "Action run",
                operation: Operation::ActionsRunsCreate,
                segments: vec![args.id],
                body,
            };
            let receipt_mode = args.start.receipt_mode;
            submit::run::<ActionRun>(session, request, &args.start.options, receipt_mode, None)
                .await
        }
        ActionCommand::RunGet { id, run_id } => {
            let client = session.access::<Developer>()?.client;
            let call = client.actions().get_run(id, run_id);
            let finished = FinishedRun::new(call.await?);
            session.printer.print_object(ObjectKind::Run, &finished, report::finished)
        }
    }
}

async fn list(session: &Session, args: ListActions) -> Result {
    let client = session.access::<Developer>()?.client;
    let call = || {
        let mut call = client.actions().list();
        if let Some(status) = &args.status {
            call = call.status(status);
        }
        if let Some(trigger) = &args.trigger_type {
            call = call.trigger_type(trigger);
        }
        call
    };
    let listing = Listing::new(session, &args.list, "Actions");
    listing.print(call, list_table).await
}

fn list_table(actions: &[Action]) -> Table {
    let mut table = Table::new([required("id"), status("status"), cut("name"), cut("triggers")]);
    for action in actions {
        table.row([
            action.id.as_str(),
            action.status.as_deref().unwrap_or_default(),
            action.name.as_deref().unwrap_or_default(),
            &triggers(action),
        ]);
    }
    table
}

fn triggers(action: &Action) -> String {
    let of = |trigger: &ActionTrigger| {
        let kind = trigger.trigger_type.clone().unwrap_or_default();
        match &trigger.schedule {
            Some(schedule) => format!("{kind} ({schedule})"),
            None => kind,
        }
    };
    action.triggers.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn entry_table(action: &Action) -> Table {
    let mut table = Table::of(action, "id, name, description, status");
    table.field("triggers", Some(triggers(action)));
    table.fields(action, "created=created_at, updated=updated_at");
    table
}
