//! `svc operations`: the operations of the API, and the commands that call them.

use clap::Args;
use serde::Serialize;
use svc_sdk::contract::Operation;

use crate::error::Failure;
use crate::operation_commands::command_of;
use crate::output::Table;
use crate::session::Session;

/// The flags of `svc operations`.
#[derive(Args, Debug)]
pub(crate) struct Operations {}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    surface: &'static str,
    auth: &'static str,
    scope: Option<String>,
    budget: &'static str,
    retry: &'static str,
    cli: &'static str,
    summary: &'static str,
}

/// Runs the command.
pub(crate) fn run(session: &Session, _: &Operations) -> Result<(), Failure> {
    let rows: Vec<Row> = Operation::ALL
        .iter()
        .map(|operation| row(*operation))
        .collect();
    session.printer.print_list(&rows, |rows| {
        let mut table = Table::new(["operation", "method", "path", "surface", "retry", "command"]);
        for row in rows {
            table.row([
                row.name,
                row.method,
                row.path,
                row.surface,
                row.retry,
                row.cli,
            ]);
        }
        table
    })
}

fn row(operation: Operation) -> Row {
    Row {
        name: operation.name(),
        method: operation.method().as_str(),
        path: operation.path(),
        surface: operation.surface().as_str(),
        auth: operation.auth().as_str(),
        scope: operation.scope().map(|scope| scope.to_string()),
        budget: operation.rate_limit_bucket().as_str(),
        retry: operation.retry().as_str(),
        cli: command_of(operation),
        summary: operation.summary(),
    }
}
