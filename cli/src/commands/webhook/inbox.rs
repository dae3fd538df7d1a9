//! `svc webhook inbox`: the events that `svc webhook listen`, or a receiver with the same store,
//! has received.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use http::HeaderMap;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use svc_webhook_inbox::{EventId, EventState, EventStore, ListQuery, StoredEvent};

use crate::args::{PageArgs, headings, parse_seconds};
use crate::clock;
use crate::error::{ClientCode, Exit, Failure, Result, Suggestion};
use crate::listing::Continuation;
use crate::output::layout::{cut, number, required, status, time, whole};
use crate::output::values::ago;
use crate::output::{Table, write_stdout};
use crate::session::Session;
use crate::text::sanitize;
use crate::webhook::{Change, StoreAddress};

#[derive(Debug, Subcommand)]
pub(crate) enum Inbox {
    /// List received events, newest first
    ///
    /// The attempts are those since the event was received, or replayed.
    List(ListInbox),
    /// Show an event with its headers and body
    Show(Show),
    /// Have events handled again
    ///
    /// The same as `svc webhook replay`.
    Replay(Replay),
    /// Remove old events that are handled or dead
    ///
    /// If the service delivers a removed event again, it counts as new.
    Purge(Purge),
}

#[derive(Args, Debug)]
struct StoreArgs {
    /// Store of the events: a file, or a URL that begins with sqlite:, postgres://, redis:// or
    /// nats:// [default: that of `svc webhook listen`] [env: SVC_WEBHOOK_STORE]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<StoreAddress>,
}

impl StoreArgs {
    fn resolve(self, session: &Session) -> Result<StoreAddress> {
        StoreAddress::resolve(self.store, session)
    }
}

pub(super) async fn run(session: &Session, inbox: Inbox) -> Result {
    match inbox {
        Inbox::List(args) => list(session, args).await,
        Inbox::Show(args) => show(session, args).await,
        Inbox::Replay(args) => replay(session, args).await,
        Inbox::Purge(args) => purge(session, args).await,
    }
}

fn not_found(id: &str, store: &StoreAddress) -> Failure {
    Failure::new(Exit::NotFound, format!("event `{id}` is not in {store}"))
        .with_client_code(ClientCode::NOT_FOUND)
        .hint(Suggestion::from("list the events with: ").svc(["webhook", "inbox", "list"]))
}

#[derive(Debug, Serialize)]
struct InboxItem {
    id: String,
    event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    state: &'static str,
    /// The number of attempts to handle it since it was received or replayed.
    attempts: u32,
    received_at: Timestamp,
    /// When it may be handled, or when the lease of the process that handles it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    due_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    bytes: usize,
}

impl InboxItem {
    fn new(event: &StoredEvent) -> Self {
        let parsed = event.parse().ok();
        let parsed = parsed.as_ref();
        Self {
            id: event.id.to_string(),
            event: event.event_type.clone(),
            job_id: parsed.and_then(|event| event.job_id().map(str::to_owned)),
            run_id: parsed.and_then(|event| event.run_id().map(str::to_owned)),
            state: event.state.as_str(),
            attempts: event.attempts,
            received_at: timestamp(event.received_at),
            due_at: event.due_at.map(timestamp),
            finished_at: event.finished_at.map(timestamp),
            error: event.last_error.clone(),
            bytes: event.body.len(),
        }
    }

    /// Returns the error of the last attempt, unless a later attempt has succeeded.
    fn shown_error(&self) -> Option<&str> {
        self.error.as_deref().filter(|_| self.state != EventState::Handled.as_str())
    }
}

fn table(items: &[InboxItem]) -> Table {
    let mut table = Table::new([
        required("id"),
        cut("event"),
        whole("job"),
        whole("run"),
        status("state"),
        number("attempts"),
        time("received"),
        cut("error"),
    ]);
    for item in items {
        table.row([
            &item.id,
            &sanitize(&item.event),
            &sanitize(item.job_id.as_deref().unwrap_or("-")),
            &sanitize(item.run_id.as_deref().unwrap_or("-")),
            item.state,
            &item.attempts.to_string(),
            &ago(item.received_at.as_second()),
            &sanitize(item.shown_error().unwrap_or("-")),
        ]);
    }
    table
}

fn timestamp(at: SystemTime) -> Timestamp {
    Timestamp::try_from(at).unwrap_or_default()
}

const PAGE_SIZE: usize = 200;

#[derive(Args, Debug)]
pub(crate) struct ListInbox {
    #[command(flatten)]
    store: StoreArgs,
    /// Only events in this state
    #[arg(long, value_name = "STATE", help_heading = headings::FILTERS)]
    state: Option<StateFilter>,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StateFilter {
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

async fn list(session: &Session, args: ListInbox) -> Result {
    let address = args.store.resolve(session)?;
    let store = address.open_read_only().await?;
    let mut query = ListQuery::default();
    query.state = args.state.map(EventState::from);
    if let Some(cursor) = &args.page.cursor {
        let id = EventId::new(cursor);
        if store.get(&id).await?.is_none() {
            return Err(not_found(cursor, &address));
        }
        query.before = Some(id);
    }
    let max_items = args.page.max_items();
    let max_items = max_items.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
    let (items, rest) = read(&*store, query, max_items).await?;
    let printer = &session.printer;
    if !(items.is_empty() && printer.is_table()) {
        printer.print_list(&items, table)?;
    }
    rest.report(printer, items.len(), "events");
    Ok(())
}

async fn read(
    store: &dyn EventStore,
    mut query: ListQuery,
    max_items: usize,
) -> Result<(Vec<InboxItem>, Continuation)> {
    let mut items: Vec<InboxItem> = Vec::new();
    loop {
        // One more tells whether the list continues.
        let missing = max_items.saturating_sub(items.len()).saturating_add(1);
        query.limit = missing.min(PAGE_SIZE);
        let page = store.list(&query).await?;
        let is_last = page.len() < query.limit;
        query.before = page.last().map(|event| event.id.clone());
        items.extend(page.iter().map(InboxItem::new));
        if items.len() > max_items {
            items.truncate(max_items);
            let cursor = items.last().map(|item| item.id.clone());
            return Ok((items, cursor.map_or(Continuation::WithoutCursor, Continuation::Cursor)));
        }
        if is_last {
            return Ok((items, Continuation::None));
        }
    }
}

impl From<StateFilter> for EventState {
    fn from(state: StateFilter) -> Self {
        match state {
            StateFilter::Pending => Self::Pending,
            StateFilter::InProgress => Self::InProgress,
            StateFilter::Handled => Self::Handled,
            StateFilter::Dead => Self::Dead,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Id of the event, as `svc webhook inbox list` prints it
    #[arg(value_name = "EVENT_ID")]
    id: String,
    #[command(flatten)]
    store: StoreArgs,
    /// Print only the raw body, byte for byte
    #[arg(long)]
    body: bool,
}

#[derive(Serialize)]
struct Details {
    #[serde(flatten)]
    item: InboxItem,
    headers: BTreeMap<String, Vec<String>>,
    /// The body as JSON, or as text if it is not JSON.
    body: Value,
}

async fn show(session: &Session, args: Show) -> Result {
    let address = args.store.resolve(session)?;
    let store = address.open_read_only().await?;
    let event = store.get(&EventId::new(&args.id)).await?;
    let event = event.ok_or_else(|| not_found(&args.id, &address))?;
    if args.body {
        return write_stdout(&event.body);
    }
    let text = || Value::String(String::from_utf8_lossy(&event.body).into_owned());
    let details = Details {
        item: InboxItem::new(&event),
        headers: header_values(&event.headers),
        body: serde_json::from_slice(&event.body).unwrap_or_else(|_| text()),
    };
    session.printer.print_item(&details, |details| {
        let item = &details.item;
        let mut table = Table::key_value();
        table.field("id", Some(&item.id));
        table.field("event", Some(sanitize(&item.event)));
        table.field("job", item.job_id.as_deref().map(sanitize));
        table.field("run", item.run_id.as_deref().map(sanitize));
        table.status_field("state", Some(item.state));
        table.field("attempts", Some(item.attempts));
        let received = format!("{} ({})", ago(item.received_at.as_second()), item.received_at);
        table.field("received", Some(received));
        table.field("due", item.due_at);
        table.field("finished", item.finished_at);
        table.field("error", item.shown_error().map(sanitize));
        for (name, values) in &details.headers {
            table.field(name, Some(sanitize(&values.join(", "))));
        }
        table.field("body", Some(sanitize(&details.body.to_string())));
        table
    })
}

fn header_values(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        values.entry(name.to_string()).or_default().push(value);
    }
    values
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("selection").required(true).args(["ids", "dead", "since"]))]
pub(crate) struct Replay {
    /// Ids of the events, as `svc webhook inbox list` prints them
    #[arg(value_name = "EVENT_ID")]
    ids: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
    /// All dead events
    #[arg(long)]
    dead: bool,
    /// All finished events that were received at or after this time, such as 2026-01-05T10:00:00Z, or
    /// that long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Only events that were received before this time [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "since")]
    until: Option<Timestamp>,
}

/// Parses a time in RFC 3339, a date, which is its beginning in UTC, or an age with a unit, such as `2h`.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    let date = || {
        let date: jiff::civil::Date = text.parse().ok()?;
        Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    let age = || {
        let seconds = parse_age(text).ok().filter(|_| text.ends_with(char::is_alphabetic))?;
        clock::now().checked_sub(Duration::from_secs(seconds)).ok()
    };
    let time = text.parse().ok().or_else(date).or_else(age);
    let expected = "expected a time such as 2026-01-05T10:00:00Z, a date, or an age such as 2h";
    time.ok_or_else(|| expected.to_owned())
}

pub(super) async fn replay(session: &Session, args: Replay) -> Result {
    let address = args.store.resolve(session)?;
    let store = address.open_read_only().await?;
    let mut changes = Vec::new();
    for id in &args.ids {
        store.get(&EventId::new(id)).await?.ok_or_else(|| not_found(id, &address))?;
        changes.push(Change::ReplayId(id.clone()));
    }
    drop(store);
    if args.dead {
        changes.push(Change::ReplayDead);
    }
    if let Some(since) = args.since {
        let until = args.until.unwrap_or_else(clock::now);
        if until <= since {
            return Err(Failure::usage("invalid --until: expected a time after --since"));
        }
        changes.push(Change::ReplayReceived(since, until));
    }
    let (mut replayed, mut is_forwarded) = (0, false);
    for change in &changes {
        let (count, is_forwarding) = address.change(change).await?;
        replayed += count;
        is_forwarded |= is_forwarding;
    }
    print_count(session, "replayed", replayed)?;
    // A database may have a listener elsewhere.
    if replayed > 0 && !is_forwarded && address.file().is_some() {
        let mut words = vec!["webhook", "listen", "--forward-to", "URL"];
        let store = address.to_string();
        if !matches!(address, StoreAddress::Default(_)) {
            words.extend(["--store", &store]);
        }
        session
            .printer
            .note(&format!("pending until a listener forwards them: {}", session.command(&words)));
    }
    if usize::try_from(replayed).is_ok_and(|count| count < args.ids.len()) {
        session.printer.note("events that are pending or in progress were left unchanged");
    }
    Ok(())
}

#[derive(Args, Debug)]
pub(crate) struct Purge {
    #[command(flatten)]
    store: StoreArgs,
    /// Minimum time since the event became handled or dead, such as 12h or 30d
    #[arg(long, value_name = "AGE", default_value = "7d", value_parser = parse_age)]
    older_than: u64,
}

fn parse_age(text: &str) -> Result<u64, &'static str> {
    parse_seconds(text, "smhd").ok_or("expected an age such as 90s, 15m, 12h or 30d")
}

async fn purge(session: &Session, args: Purge) -> Result {
    let address = args.store.resolve(session)?;
    let (purged, _) = address.change(&Change::Purge(args.older_than)).await?;
    print_count(session, "purged", purged)
}

fn print_count(session: &Session, name: &str, count: u64) -> Result {
    session.printer.print_item(&BTreeMap::from([(name, count)]), |_| {
        let mut table = Table::key_value();
        table.field(name, Some(count));
        table
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit_or_are_seconds() {
        for (text, seconds) in [("30d", 30 * 86_400), ("12h", 12 * 3600), ("0", 0)] {
            assert_eq!(parse_age(text), Ok(seconds));
        }
        for wrong in ["", "d", "-1d", "1w", "99999999999999999999d"] {
            assert!(parse_age(wrong).is_err(), "{wrong}");
        }
    }
}
