//! Net spend of a period: `svc usage --since`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use clap::ValueEnum;
use futures_util::{StreamExt as _, stream};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use svc_sdk::Developer;
use svc_sdk::developer::Client;
use svc_sdk::types::{UsageEntry, UsageKind, Usd};

use super::{
    OTHER, RefundOfUnread, Spend, Subject, Total, Usage, entry_table, moment_of, net_spend,
    print_chart, subject_id, totals,
};
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

/// How far before the period the ledger is read: a refund in it may return what was reserved then.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(24);
/// How far before the period the ledger is read at most, until what was refunded in it is found.
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
    let names = names(session, access, args.by, &spends).await?;
    let mut groups: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for spend in &spends {
        let key = match args.by {
            By::Day => spend.day.clone(),
            By::Model => spend.subject.model(&names).to_owned(),
            By::Operation | By::Batch => match &spend.subject {
                Subject::Model(model) => model.clone(),
                Subject::Job(id) | Subject::Run(id) => {
                    names.get(id).map_or(OTHER, String::as_str).to_owned()
                }
                Subject::Other => OTHER.to_owned(),
            },
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
        let by = by.to_possible_value();
        let name = by.as_ref().map_or("", |by| by.get_name());
        let mut table = Table::new([required(name), number("count"), number("net")]);
        for group in &self.groups {
            table.row([&group.key, &group.count.to_string(), &money(group.amount_usd)]);
        }
        let count: u64 = self.groups.iter().map(|group| group.count).sum();
        table.row(["total", &count.to_string(), &money(self.net_usd)]);
        table
    }
}

/// Returns what the jobs and runs that money was spent for are grouped by, by their ids.
async fn names(
    session: &Session,
    access: &Access<Developer>,
    by: By,
    spends: &[Spend],
) -> Result<HashMap<String, String>> {
    let folder = state_dir(session.environment())?;
    let mut names = match by {
        By::Day => return Ok(HashMap::new()),
        By::Model => return Ok(models(session, &access.client, &folder, spends).await),
        By::Operation => operations(session, access, &folder, spends).await?,
        By::Batch => HashMap::new(),
    };
    let (items, problems) = batch::known_items(session).await?;
    problems.iter().for_each(|problem| session.printer.warn(problem));
    for item in items {
        let name = if by == By::Operation { item.operation } else { item.batch };
        names.insert(item.id, name);
    }
    Ok(names)
}

async fn models(
    session: &Session,
    client: &Client,
    folder: &Path,
    spends: &[Spend],
) -> HashMap<String, String> {
    let jobs = spends.iter().filter_map(|spend| match &spend.subject {
        Subject::Job(id) => Some(id),
        _ => None,
    });
    let model = async |id: &str| {
        let job = client.jobs().handle(id).get().await?;
        Ok((job.model.unwrap_or_else(|| OTHER.to_owned()), true))
    };
    let (models, failed) = kept_answers(&folder.join("models.json"), jobs.collect(), model).await;
    if failed > 0 {
        session.printer.warn(&format!("the models of {failed} jobs cannot be read"));
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
        let runs = async |id: &str| match access.client.queues().handle(id).get().await {
            Ok(queue) => {
                let is_ended = queue.is_terminal();
                let runs = queue.items.into_iter().filter_map(|item| item.run_id);
                Ok((runs.map(|run| run.to_string()).collect::<Vec<_>>(), is_ended))
            }
            // It is of another workspace.
            Err(error) if error.is_not_found() => Ok((Vec::new(), false)),
            Err(error) => Err(error),
        };
        let path = folder.join("queues.json");
        let (runs, failed) = kept_answers(&path, queues.keys().collect(), runs).await;
        if failed > 0 {
            let queues = counted(failed, "queue");
            session.printer.warn(&format!("the runs of {queues} cannot be read"));
        }
        for (queue, runs) in runs {
            let operation = queues.get(&queue);
            operations.extend(runs.into_iter().filter_map(|run| Some((run, operation?.clone()))));
        }
    }
    Ok(operations)
}

/// Reads something of each id, unless it is known from a file. An answer that is final is kept in that file.
/// Also returns how many could not be read.
async fn kept_answers<T: Serialize + DeserializeOwned>(
    path: &Path,
    ids: HashSet<&String>,
    read: impl AsyncFn(&str) -> Result<(T, bool), svc_sdk::Error>,
) -> (HashMap<String, T>, usize) {
    let known = read_or_empty(path).unwrap_or_default();
    let mut kept: HashMap<String, T> = serde_json::from_str(&known).unwrap_or_default();
    let missing: Vec<&String> = ids.into_iter().filter(|id| !kept.contains_key(*id)).collect();
    let read = &read;
    let reads = missing.into_iter().map(|id| async move { (id, read(id).await) });
    let mut reads = stream::iter(reads).buffer_unordered(READS);
    let (mut others, mut is_changed, mut failed) = (HashMap::new(), false, 0);
    while let Some((id, answer)) = reads.next().await {
        match answer {
            Ok((value, is_final)) => {
                is_changed |= is_final;
                let answers = if is_final { &mut kept } else { &mut others };
                answers.insert(id.clone(), value);
            }
            Err(_) => failed += 1,
        }
    }
    if is_changed && let Ok(json) = serde_json::to_vec(&kept) {
        // Without the file they are read again.
        let _ = write_private(path, &json);
    }
    kept.extend(others);
    (kept, failed)
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
