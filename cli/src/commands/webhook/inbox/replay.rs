//! `svc webhook inbox replay`: events that are to be handled again.

use std::str::FromStr;
use std::time::SystemTime;

use clap::{ArgGroup, Args};
use jiff::Timestamp;
use serde::Serialize;
use svc_webhook_inbox::{EventId, ReplayFilter};

use super::{StoreArgs, not_found};
use crate::clock;
use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;
use crate::webhook::store_failure;

/// The flags of `svc webhook inbox replay`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("selection").required(true).args(["ids", "dead", "since"]))]
pub(crate) struct Replay {
    /// Ids of the events, as `svc webhook inbox list` prints them
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
    /// All dead events
    #[arg(long)]
    dead: bool,
    /// All finished events that were received at or after this time, such as 2026-01-05T10:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Time>,
    /// Only events that were received before this time [default: now]
    #[arg(long, value_name = "TIME", requires = "since")]
    until: Option<Time>,
}

/// A time in RFC 3339, or a date, which is its beginning in UTC.
#[derive(Clone, Copy, Debug)]
struct Time(Timestamp);

#[derive(Serialize)]
struct Replayed {
    /// The number of events that are pending again.
    replayed: u64,
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let date = || {
            let date: jiff::civil::Date = text.parse().ok()?;
            let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
            Some(midnight.timestamp())
        };
        let time = text.parse().ok().or_else(date);
        time.map(Self)
            .ok_or_else(|| "expected a time such as 2026-01-05T10:00:00Z, or a date".to_owned())
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Replay) -> Result<(), Failure> {
    let address = args.store.require(session)?;
    let store = address.open_existing().await?;
    let mut filters = Vec::new();
    for id in &args.ids {
        let event = store.get(&EventId::new(id)).await;
        let event = event.map_err(|error| store_failure(&error))?;
        let event = event.ok_or_else(|| not_found(id, &address))?;
        filters.push(ReplayFilter::Id(event.id));
    }
    if args.dead {
        filters.push(ReplayFilter::Dead);
    }
    if let Some(Time(since)) = args.since {
        let until = args.until.map_or_else(clock::now, |Time(until)| until);
        if until <= since {
            return Err(Failure::usage(
                "invalid --until: expected a time after --since",
            ));
        }
        let range = SystemTime::from(since)..SystemTime::from(until);
        filters.push(ReplayFilter::ReceivedIn(range));
    }
    let mut replayed = 0;
    for filter in &filters {
        let count = store.replay(filter).await;
        replayed += count.map_err(|error| store_failure(&error))?;
    }
    session
        .printer
        .print_item(&Replayed { replayed }, |report| {
            let mut table = Table::key_value();
            table.field("replayed", Some(report.replayed));
            table
        })?;
    if usize::try_from(replayed).is_ok_and(|count| count < args.ids.len()) {
        session
            .printer
            .note("events that are pending or in progress were left unchanged");
    }
    Ok(())
}
