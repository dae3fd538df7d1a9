//! `svc webhook inbox list`: received events, newest first.

use clap::{Args, ValueEnum};
use svc_webhook_inbox::{EventId, EventState, ListQuery, Store};

use super::item::{Item, table};
use super::{StoreArgs, not_found};
use crate::args::{PageArgs, headings};
use crate::error::Failure;
use crate::listing::Continuation;
use crate::session::Session;
use crate::webhook::store_failure;

/// The number of events that are read at once.
const PAGE_SIZE: usize = 200;

/// The flags of `svc webhook inbox list`.
#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    store: StoreArgs,
    /// Only events in this state
    #[arg(long, value_name = "STATE", help_heading = headings::FILTERS)]
    state: Option<State>,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    /// Waits to be handled, now or after a delay
    Pending,
    /// Is being handled
    #[value(alias = "in_progress")]
    InProgress,
    /// Was handled, or forwarded
    Handled,
    /// Was not handled, and is not retried
    Dead,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: List) -> Result<(), Failure> {
    let address = args.store.require(session)?;
    let store = address.open_read_only().await?;
    let mut query = ListQuery::default();
    query.state = args.state.map(EventState::from);
    if let Some(cursor) = &args.page.cursor {
        let id = EventId::new(cursor);
        let event = store.get(&id).await;
        if event.map_err(|error| store_failure(&error))?.is_none() {
            return Err(not_found(cursor, &address));
        }
        query.before = Some(id);
    }
    let max_items = args.page.max_items();
    let max_items = max_items.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
    let (items, rest) = read(&*store, query, max_items).await?;
    let printer = &session.printer;
    if !(items.is_empty() && printer.prints_tables()) {
        printer.print_list(&items, table)?;
    }
    rest.report(printer, items.len(), "events");
    Ok(())
}

async fn read(
    store: &dyn Store,
    mut query: ListQuery,
    max_items: usize,
) -> Result<(Vec<Item>, Continuation), Failure> {
    let mut items: Vec<Item> = Vec::new();
    loop {
        // One more tells whether the list continues.
        let missing = max_items.saturating_sub(items.len()).saturating_add(1);
        query.limit = missing.min(PAGE_SIZE);
        let page = store.list(&query).await;
        let page = page.map_err(|error| store_failure(&error))?;
        let is_last = page.len() < query.limit;
        query.before = page.last().map(|event| event.id.clone());
        items.extend(page.iter().map(Item::new));
        if items.len() > max_items {
            items.truncate(max_items);
            let cursor = items.last().map(|item| item.id.clone());
            return Ok((
                items,
                cursor.map_or(Continuation::WithoutCursor, Continuation::Cursor),
            ));
        }
        if is_last {
            return Ok((items, Continuation::None));
        }
    }
}

impl From<State> for EventState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::InProgress => Self::InProgress,
            State::Handled => Self::Handled,
            State::Dead => Self::Dead,
        }
    }
}
