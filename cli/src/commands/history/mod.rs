//! `svc history`: the requests in the journal.

mod last;
mod refresh;

use clap::Args;

pub(super) use self::last::newest_entry;
use self::refresh::{ListedEntry, read_statuses};
use crate::args::PageArgs;
use crate::clock;
use crate::error::Failure;
use crate::listing;
use crate::output::values::{optional_money, seconds_ago};
use crate::output::{Column, Table};
use crate::session::{EMPTY_SANDBOX, Session};
use crate::types::{Outcome, ResourceId};

/// The flags of `svc history`.
#[derive(Args, Debug)]
pub(crate) struct History {
    /// Only requests whose outcome is unknown: no response was received, or the wait was interrupted
    #[arg(long)]
    open: bool,
    /// Ask the service for the current status of each listed job, run, queue and top-up
    #[arg(long)]
    refresh: bool,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, args: &History) -> Result<(), Failure> {
    let mut entries = match session.journal()? {
        Some(journal) => journal.entries()?,
        None => Vec::new(),
    };
    entries.retain(|entry| !args.open || entry.outcome.is_none());
    let (entries, rest) = listing::select(entries, &args.page, args.page.max_items(), |entry| {
        &entry.intent.id
    })?;
    let entries = match args.refresh {
        true => read_statuses(session, entries).await,
        false => entries.into_iter().map(ListedEntry::from).collect(),
    };
    let printer = &session.printer;
    if !(entries.is_empty() && printer.prints_tables()) {
        let statuses = args.refresh;
        printer.print_list(&entries, |entries| table(entries, statuses))?;
    }
    rest.report(printer, entries.len(), "requests");
    if entries.is_empty() {
        printer.note(match session.is_sandbox() {
            true => EMPTY_SANDBOX,
            false => "batches have a journal of their own: svc batch status MANIFEST",
        });
    }
    Ok(())
}

fn table(entries: &[ListedEntry], has_statuses: bool) -> Table {
    let id = Column::required("id");
    let outcome = Column::status("outcome");
    let when = Column::time("when");
    let price = Column::number("price");
    let what = Column::whole("what");
    let key = Column::whole("key");
    let mut table = match has_statuses {
        true => {
            let status = Column::status("status");
            Table::new([id, status, outcome, when, price, what, key])
        }
        false => Table::new([id, outcome, when, price, what, key]),
    };
    for listed in entries {
        let entry = &listed.entry;
        let intent = &entry.intent;
        let id = entry.resource.as_ref().map_or("-", ResourceId::id);
        let outcome = entry.outcome.map_or("open", Outcome::as_str);
        let age = clock::now().as_second() - intent.created_at.as_second();
        let when = seconds_ago(age);
        let price = optional_money(intent.price_usd);
        let key = intent.idempotency_key.as_str();
        match has_statuses {
            true => {
                let status = listed.status_text();
                table.row([id, &status, outcome, &when, &price, &intent.summary, key]);
            }
            false => table.row([id, outcome, &when, &price, &intent.summary, key]),
        }
    }
    table
}
