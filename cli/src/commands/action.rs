//! `svc action`: Actions, which are scheduled agent tasks, and their runs.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::handle::ActionRun;
use svc_sdk::types::{Action as Entry, ActionTrigger};

use crate::args::{InstructionArgs, ListArgs, RunArgs, headings};
use crate::error::Failure;
use crate::listing::Listing;
use crate::output::values::time_ago_and_date;
use crate::output::{Column, Table};
use crate::request_body::run as run_body;
use crate::resource::run::FinishedRun;
use crate::resource::run::tables;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// The subcommands of `svc action`.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List Actions
    List(List),
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
    /// Prints the receipt if the run has no output.
    Run(Box<Start>),
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

/// The flags of `svc action list`.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only Actions with this status, such as active
    #[arg(long, help_heading = headings::FILTERS)]
    status: Option<String>,
    /// Only Actions with this type of trigger, such as `api_call`
    #[arg(long, value_name = "TYPE", help_heading = headings::FILTERS)]
    trigger_type: Option<String>,
    #[command(flatten)]
    list: ListArgs,
}

/// The flags of `svc action run`.
#[derive(Args, Debug)]
pub(crate) struct Start {
    /// Action id
    #[arg(value_name = "ACTION_ID")]
    id: String,
    #[command(flatten)]
    instruction: InstructionArgs,
    #[command(flatten)]
    start: RunArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, action: Action) -> Result<(), Failure> {
    match action {
        Action::List(args) => list(session, args).await,
        Action::Get { id } => {
            let client = session.access::<Developer>()?.client;
            let action = client.actions().get(id).await?;
            session.printer.print_item(&action, entry_table)
        }
        Action::Runs { id, list } => {
            let client = session.access::<Developer>()?.client;
            let call = || client.actions().list_runs(id.as_str());
            let listing = Listing::new(session, &list, "runs");
            listing.print(call, tables::list).await
        }
        Action::Run(args) => {
            let body = run_body::from_args(&args.start, &args.instruction)?.finish()?;
            run_body::validate_cap(&body)?;
            let request = SubmitRequest {
                noun: "Action run",
                operation: Operation::ActionsRunsCreate,
                segments: vec![args.id],
                body,
            };
            let receipt_mode = args.start.receipt_mode.into();
            submit::run::<ActionRun>(session, request, &args.start.options, receipt_mode).await
        }
        Action::RunGet { id, run_id } => {
            let client = session.access::<Developer>()?.client;
            let call = client.actions().get_run(id, run_id);
            let finished = FinishedRun::new(call.await?);
            session.printer.print_item(&finished, tables::finished)
        }
    }
}

async fn list(session: &Session, args: List) -> Result<(), Failure> {
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

fn list_table(actions: &[Entry]) -> Table {
    let mut table = Table::new([
        Column::required("id"),
        Column::status("status"),
        Column::text("name"),
        Column::text("triggers"),
    ]);
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

fn triggers(action: &Entry) -> String {
    let of = |trigger: &ActionTrigger| {
        let kind = trigger.trigger_type.clone().unwrap_or_default();
        match &trigger.schedule {
            Some(schedule) => format!("{kind} ({schedule})"),
            None => kind,
        }
    };
    action
        .triggers
        .iter()
        .map(of)
        .collect::<Vec<_>>()
        .join(", ")
}

fn entry_table(action: &Entry) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&action.id));
    table.field("name", action.name.as_ref());
    table.field("description", action.description.as_ref());
    table.status_field("status", action.status.as_ref());
    table.field("triggers", Some(triggers(action)));
    table.field("created", time_ago_and_date(action.created_at.as_ref()));
    table.field("updated", time_ago_and_date(action.updated_at.as_ref()));
    table
}
