//! Net spend of a period: `svc usage --since`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use clap::ValueEnum;
use futures_util::{StreamExt as _, stream};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::Serialize;
use svc_sdk::Developer;
use svc_sdk::developer::Client;
use svc_sdk::types::{UsageEntry, UsageKind, Usd};

use super::net_spend::{OTHER, RefundOfUnread, Spend, Subject, moment_of, net_spend, subject_id};
use super::{Total, Usage, entry_table, print_chart, totals};
use crate::config::state_dir;
use crate::error::{Failure, Result};
use crate::input::{read_or_empty, write_private};
use crate::output::Table;
use crate::output::layout::{number, required};
use crate::output::values::money;
use crate::resource::ResourceId;
use crate::session::{Access, Session};
use crate::text::counted;
use crate::{batch, clock, journal};

/// How long before the period entries are read: a refund in it may return what was reserved then.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(24);
/// How long before the period entries are read until what was refunded in it is found.
const MAX_LOOK_BACK: SignedDuration = SignedDuration::from_hours(30 * 24);
const READS: usize = 16;

/// What net spend is grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    #[default]
    Day,
    Model,
    Operation,
    Batch,
}

struct Period {
    since: Timestamp,
    until: Timestamp,
    /// Whether the period ends now. Then what a clock ahead of this one wrote is part of it.
    is_open: bool,
    zone: TimeZone,
}

/// What was read of the ledger, newest first.
struct ReadEntries {
    entries: Vec<UsageEntry>,
    undecoded: usize,
    of_unread: RefundOfUnread,
}

#[derive(Serialize)]
struct NetSpendReport {
    since: Timestamp,
    until: Timestamp,
    net_usd: Usd,
    groups: Vec<NetSpendGroup>,
    totals: Vec<Total>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<UsageEntry>>,
}

#[derive(Serialize)]
struct NetSpendGroup {
    key: String,
    count: u64,
    amount_usd: Usd,
}

pub(super) async fn run(
    session: &Session,
    access: &Access<Developer>,
    args: &Usage,
    since: &str,
) -> Result {
    let client = &access.client;
    let period = Period::parse(since, args.until.as_deref(), args.utc)?;
    let ReadEntries { entries, undecoded, of_unread } = period.read(client, args).await?;
    let undated = entries.iter().filter(|entry| moment_of(entry).is_none()).count();
    let others = undecoded + undated;
    if others > 0 {
        let count = entries.len() + undecoded;
        session.printer.warn(&format!(
            "{others} of {count} entries do not have the expected fields and are not included; svc usage \
             --entries -o json shows them"
        ));
    }
    let spends = net_spend(entries.iter(), of_unread);
    let spends = spends.into_iter().filter(|spend| period.contains(spend.at));
    let spends: Vec<Spend> =
        spends.map(|spend| Spend { day: period.day(spend.at), ..spend }).collect();
    if args.chart && !session.printer.is_json_requested() {
        return print_chart(session, client, &spends).await;
    }
    let mut entries = entries;
    entries.retain(|entry| period.contains(moment_of(entry)));
    let names = SubjectNames::read(session, access, args.by, &spends).await?;
    let mut groups: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for spend in &spends {
        let key = match args.by {
            By::Day => spend.day.clone(),
            By::Model => spend.subject.model(&names.0).to_owned(),
            By::Operation | By::Batch => names.of(&spend.subject).to_owned(),
        };
        let (count, sum) = groups.entry(key).or_default();
        *count += 1;
        *sum = sum.saturating_add(spend.micros);
    }
    let net = spends.iter().fold(0_i64, |sum, spend| sum.saturating_add(spend.micros));
    let group =
        |(key, (count, micros))| NetSpendGroup { key, count, amount_usd: Usd::from_micros(micros) };
    let mut groups: Vec<NetSpendGroup> = groups.into_iter().map(group).collect();
    match args.by {
        By::Day => groups.reverse(),
        _ => groups.sort_by_key(|group| std::cmp::Reverse(group.amount_usd)),
    }
    let totals = totals(&entries, |entry| period.day(moment_of(entry)));
    let report = NetSpendReport {
        since: period.since,
        until: period.until,
        net_usd: Usd::from_micros(net),
        groups,
        totals,
        entries: args.entries.then_some(entries),
    };
    session.printer.print_item(&report, |report| match &report.entries {
        Some(entries) => entry_table(entries),
        None => report.table(args.by),
    })
}

impl Period {
    fn parse(since: &str, until: Option<&str>, is_utc: bool) -> Result<Self> {
        let zone = if is_utc { TimeZone::UTC } else { TimeZone::system() };
        let now = Timestamp::from_second(clock::now().as_second()).unwrap_or_default();
        let since = moment("--since", since, now, &zone)?;
        let is_open = until.is_none();
        let until = match until {
            Some(until) => moment("--until", until, now, &zone)?,
            None => now,
        };
        match since < until {
            true => Ok(Self { since, until, is_open, zone }),
            false => Err(Failure::usage("--since must be before --until")),
        }
    }

    fn contains(&self, moment: Option<Timestamp>) -> bool {
        moment.is_some_and(|it| it >= self.since && (self.is_open || it < self.until))
    }

    fn day(&self, moment: Option<Timestamp>) -> String {
        moment.map_or_else(String::new, |at| at.to_zoned(self.zone.clone()).date().to_string())
    }

    /// Reads the ledger back to the beginning of the period.
    async fn read(&self, client: &Client, args: &Usage) -> Result<ReadEntries> {
        let call = client.account().usage().query("limit", 100);
        let call =
            args.list.query.pairs().fold(call, |call, (name, value)| call.query(name, value));
        let [begin, end] = [LOOK_BACK, MAX_LOOK_BACK]
            .map(|time| self.since.checked_sub(time).unwrap_or(Timestamp::MIN));
        let mut pages = call.pages();
        let (mut entries, mut undecoded) = (Vec::new(), 0);
        // At the end of the ledger, nothing was captured of what is not in it.
        let mut of_unread = RefundOfUnread::Ignored;
        let mut refunded = HashSet::new();
        while let Some(page) = pages.next().await {
            let page = page?;
            undecoded += page.unreadable.len();
            let oldest = page.items.iter().rev().find_map(moment_of);
            for entry in &page.items {
                let Some(id) = subject_id(entry) else { continue };
                match entry.kind {
                    UsageKind::Refund if self.contains(moment_of(entry)) => {
                        refunded.insert(id.to_owned());
                    }
                    UsageKind::Reservation | UsageKind::Capture => {
                        refunded.remove(id);
                    }
                    _ => {}
                }
            }
            entries.extend(page);
            let end = if refunded.is_empty() { begin } else { end };
            if oldest.is_some_and(|moment| moment < end) {
                of_unread = RefundOfUnread::OfCapture;
                break;
            }
        }
        Ok(ReadEntries { entries, undecoded, of_unread })
    }
}

fn moment(flag: &str, text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp> {
    let invalid = || {
        Failure::usage(format!(
            "invalid {flag} `{text}`: expected today, yesterday, month (this one), a time ago such as \
             7d or 12h, a month or day such as 2026-11 or 2026-11-01, or a time such as 2026-11-01T12:00:00Z"
        ))
    };
    let today = now.to_zoned(zone.clone()).date();
    let start = |day: Date| day.to_zoned(zone.clone()).map(|at| at.timestamp()).ok();
    let ago = |unit: char| text.strip_suffix(unit).and_then(|count| count.parse::<i64>().ok());
    let hours = ago('h').or_else(|| ago('d')?.checked_mul(24));
    let found = match text {
        "today" => start(today),
        "yesterday" => today.checked_sub(1.day()).ok().and_then(start),
        "month" => start(today.first_of_month()),
        _ => match hours.filter(|hours| (0..1_000_000).contains(hours)) {
            Some(hours) => now.checked_sub(SignedDuration::from_hours(hours)).ok(),
            None => {
                let day = |text: &str| start(text.parse().ok()?);
                let month = || day(&format!("{text}-01"));
                text.parse().ok().or_else(|| day(text)).or_else(month)
            }
        },
    };
    found.ok_or_else(invalid)
}

impl NetSpendReport {
    fn table(&self, by: By) -> Table {
        let name = match by {
            By::Day => "day",
            By::Model => "model",
            By::Operation => "operation",
            By::Batch => "batch",
        };
        let mut table = Table::new([required(name), number("count"), number("net")]);
        for group in &self.groups {
            table.row([&group.key, &group.count.to_string(), &money(group.amount_usd)]);
        }
        let count: u64 = self.groups.iter().map(|group| group.count).sum();
        table.row(["total", &count.to_string(), &money(self.net_usd)]);
        table
    }
}

/// The keys of jobs and runs by their ids.
#[derive(Default)]
struct SubjectNames(HashMap<String, String>);

impl SubjectNames {
    async fn read(
        session: &Session,
        access: &Access<Developer>,
        by: By,
        spends: &[Spend],
    ) -> Result<Self> {
        let folder = state_dir(session.environment())?;
        let names = match by {
            By::Day => HashMap::new(),
            By::Model => models(session, &access.client, &folder, spends).await,
            By::Operation | By::Batch => {
                let mut names = match by {
                    By::Operation => operations(session, access, &folder, spends).await?,
                    _ => HashMap::new(),
                };
                let (items, problems) = batch::known_items(session).await?;
                problems.iter().for_each(|problem| session.printer.warn(problem));
                for item in items {
                    let name = if by == By::Operation { item.operation } else { item.batch };
                    names.insert(item.id, name);
                }
                names
            }
        };
        Ok(Self(names))
    }

    fn of<'a>(&'a self, subject: &'a Subject) -> &'a str {
        match subject {
            Subject::Model(model) => model,
            Subject::Job(id) | Subject::Run(id) => self.0.get(id).map_or(OTHER, String::as_str),
            Subject::Other => OTHER,
        }
    }
}

async fn models(
    session: &Session,
    client: &Client,
    folder: &Path,
    spends: &[Spend],
) -> HashMap<String, String> {
    let path = folder.join("models.json");
    let known = read_or_empty(&path).unwrap_or_default();
    let mut models: HashMap<String, String> = serde_json::from_str(&known).unwrap_or_default();
    let ids: HashSet<&str> = spends
        .iter()
        .filter_map(|spend| match &spend.subject {
            Subject::Job(id) => Some(id.as_str()),
            _ => None,
        })
        .collect();
    let missing: Vec<_> = ids.into_iter().filter(|id| !models.contains_key(*id)).collect();
    let reads =
        missing.into_iter().map(|id| async move { (id, client.jobs().handle(id).get().await) });
    let mut reads = stream::iter(reads).buffer_unordered(READS);
    let (mut is_changed, mut failed) = (false, 0);
    while let Some((id, job)) = reads.next().await {
        match job {
            Ok(job) => {
                models.insert(id.to_owned(), job.model.unwrap_or_else(|| OTHER.to_owned()));
                is_changed = true;
            }
            Err(_) => failed += 1,
        }
    }
    if failed > 0 {
        session.printer.warn(&format!("the models of {failed} jobs cannot be read"));
    }
    if is_changed && let Ok(json) = serde_json::to_vec(&models) {
        // Without the file they are read again.
        let _ = write_private(&path, &json);
    }
    models
}

/// Returns the operations in the journal by the ids of what they made.
async fn operations(
    session: &Session,
    access: &Access<Developer>,
    folder: &Path,
    spends: &[Spend],
) -> Result<HashMap<String, String>> {
    let (mut operations, mut queues) = (HashMap::new(), HashMap::new());
    for entry in journal::entries(folder).await? {
        match entry.resource {
            Some(ResourceId::Queue(id)) if entry.base_url == access.base_url => {
                queues.insert(id, entry.operation);
            }
            Some(id) => {
                operations.insert(id.id().to_owned(), entry.operation);
            }
            None => {}
        }
    }
    // The ledger names the runs of a queue, and the journal the queue.
    let mut subjects = spends.iter().map(|spend| &spend.subject);
    if subjects.any(|it| matches!(it, Subject::Run(id) if !operations.contains_key(id))) {
        for (queue, runs) in runs_of_queues(session, &access.client, folder, queues.keys()).await {
            let operation = queues.get(&queue);
            operations.extend(runs.into_iter().filter_map(|run| Some((run, operation?.clone()))));
        }
    }
    Ok(operations)
}

/// Returns the runs of queues. Those of queues that have ended are kept in the state folder.
async fn runs_of_queues<'a>(
    session: &Session,
    client: &Client,
    folder: &Path,
    ids: impl Iterator<Item = &'a String>,
) -> HashMap<String, Vec<String>> {
    let path = folder.join("queues.json");
    let known = read_or_empty(&path).unwrap_or_default();
    let mut ended: HashMap<String, Vec<String>> = serde_json::from_str(&known).unwrap_or_default();
    let missing: Vec<_> = ids.filter(|id| !ended.contains_key(*id)).collect();
    let read =
        |id: &'a String| async move { (id, client.queues().handle(id.as_str()).get().await) };
    let mut reads = stream::iter(missing).map(read).buffer_unordered(READS);
    let (mut active, mut is_changed, mut failed) = (HashMap::new(), false, 0);
    while let Some((id, queue)) = reads.next().await {
        let queue = match queue {
            Ok(queue) => queue,
            // It is of another workspace.
            Err(error) if error.is_not_found() => continue,
            Err(_) => {
                failed += 1;
                continue;
            }
        };
        let is_ended = queue.is_terminal();
        let runs = queue.items.into_iter().filter_map(|item| item.run_id);
        let runs = runs.map(|run| run.to_string()).collect();
        is_changed |= is_ended;
        let queues = if is_ended { &mut ended } else { &mut active };
        queues.insert(id.clone(), runs);
    }
    if failed > 0 {
        session.printer.warn(&format!("the runs of {} cannot be read", counted(failed, "queue")));
    }
    if is_changed && let Ok(json) = serde_json::to_vec(&ended) {
        // Without the file they are read again.
        let _ = write_private(&path, &json);
    }
    ended.extend(active);
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_times_and_times_ago() {
        let now: Timestamp = "2026-11-24T10:30:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(-5));
        let rows = [
            ("today", "2026-11-24T05:00:00Z"),
            ("yesterday", "2026-11-23T05:00:00Z"),
            ("7d", "2026-11-17T10:30:00Z"),
            ("12h", "2026-11-23T22:30:00Z"),
            ("2026-11-01", "2026-11-01T05:00:00Z"),
            ("2026-10", "2026-10-01T05:00:00Z"),
            ("month", "2026-11-01T05:00:00Z"),
            ("2026-11-01T12:00:00Z", "2026-11-01T12:00:00Z"),
        ];
        for (text, expected) in rows {
            let found = moment("--since", text, now, &zone).unwrap();
            assert_eq!(found.to_string(), expected, "{text}");
        }
        for text in ["", "-1d", "d", "soon", "2026-13-01", "9999999h"] {
            assert!(moment("--since", text, now, &zone).is_err(), "{text}");
        }
    }
}
