//! `svc operations`: the operations of the API, and the commands that call them.

use clap::Args;
use serde::Serialize;
use svc_sdk::contract::Operation;

use crate::args::PageArgs;
use crate::error::Failure;
use crate::listing;
use crate::operation_commands::command_of;
use crate::output::{Column, Table};
use crate::session::Session;

/// The flags of `svc operations`.
#[derive(Args, Debug)]
pub(crate) struct Operations {
    #[command(flatten)]
    page: PageArgs,
}

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
pub(crate) fn run(session: &Session, args: &Operations) -> Result<(), Failure> {
    let rows: Vec<Row> = Operation::ALL
        .iter()
        .map(|operation| row(*operation))
        .collect();
    // The table is fixed, so all of it is one page.
    let max_items = args.page.max_items_or(None);
    let (rows, rest) = listing::select(rows, &args.page, max_items, |row| row.name)?;
    session.printer.print_list(&rows, |rows| {
        let mut table = Table::new([
            Column::required("operation"),
            Column::whole("command"),
            Column::whole("method"),
            Column::whole("path"),
            Column::text("surface"),
            Column::text("retry"),
        ]);
        for row in rows {
            table.row([
                row.name,
                row.cli,
                row.method,
                row.path,
                row.surface,
                row.retry,
            ]);
        }
        table
    })?;
    rest.report(&session.printer, rows.len(), "operations");
    Ok(())
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
