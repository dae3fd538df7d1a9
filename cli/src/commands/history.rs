//! `svc history`: the requests in the journal.

use clap::Args;

use crate::clock;
use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;
use crate::types::{Outcome, ResourceId};

/// The flags of `svc history`.
#[derive(Args, Debug)]
pub(crate) struct History {
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Only requests whose outcome is unknown: no answer was received, or the wait was interrupted
    #[arg(long)]
    open: bool,
}

/// Runs the command.
pub(crate) fn run(session: &Session, args: &History) -> Result<(), Failure> {
    let mut entries = match session.journal()? {
        Some(journal) => journal.entries()?,
        None => Vec::new(),
    };
    entries.retain(|entry| !args.open || entry.outcome.is_none());
    entries.truncate(args.limit);
    session.printer.print_list(&entries, |entries| {
        let mut table = Table::new(["id", "outcome", "when", "usd", "what", "key"]);
        for entry in entries {
            let intent = &entry.intent;
            let when = clock::format_duration(clock::elapsed(clock::now(), intent.created_at));
            table.row([
                entry.resource.as_ref().map_or("-", ResourceId::id),
                entry.outcome.map_or("open", Outcome::as_str),
                &format!("{when} ago"),
                &intent
                    .price_usd
                    .map(|price| price.to_string())
                    .unwrap_or_default(),
                &intent.summary,
                intent.idempotency_key.as_str(),
            ]);
        }
        table
    })
}
