//! `svc usage`: spending by day, kind and model, and as a chart.

mod period;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use clap::Args;
use console::style;
use serde::Serialize;
use svc_sdk::Developer;
use svc_sdk::developer::Client;
use svc_sdk::types::{JobId, RunId, TopUpId, UsageEntry, UsageKind, Usd};
use unicode_width::UnicodeWidthStr;

use crate::args::{ListArgs, headings};
use crate::commands::usage::period::By;
use crate::error::{Failure, Result};
use crate::listing::{ListItem, Listing};
use crate::output::Table;
use crate::output::layout::{number, required, time, whole};
use crate::output::values::{money, time_ago};
use crate::session::Session;
use crate::text::sanitize;

const DEFAULT_ENTRIES: u64 = 1000;

/// The help of `--limit`, whose default differs from that of other lists.
const LIMIT_HELP: &str = "Maximum number of ledger entries to read [default: 50 with --entries, or else the newest 1000]";

#[derive(Args, Debug)]
#[command(mut_arg("limit", |arg| arg.help(LIMIT_HELP)))]
pub(crate) struct Usage {
    /// List ledger entries instead of totals
    #[arg(long, conflicts_with = "chart", help_heading = headings::FILTERS)]
    entries: bool,
    /// Draw a chart of the net spend by day and by model
    #[arg(long, conflicts_with = "by", help_heading = headings::FILTERS)]
    chart: bool,
    /// Net spend since then: today, yesterday, month, 7d, 12h, 2026-11, 2026-11-01, or a time
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["limit", "cursor"], help_heading = headings::FILTERS)]
    since: Option<String>,
    /// End of the period, which is not part of it [default: now]
    #[arg(long, value_name = "WHEN", requires = "since", help_heading = headings::FILTERS)]
    until: Option<String>,
    /// What net spend is grouped by; operations and batches are those of this machine
    #[arg(long, value_name = "WHAT", value_enum, default_value_t, hide_default_value = true, requires = "since", help_heading = headings::FILTERS)]
    by: By,
    /// With --since, use days in UTC instead of local ones; without it, they are always in UTC
    #[arg(long, help_heading = headings::FILTERS)]
    utc: bool,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, PartialEq, Serialize)]
struct Total {
    day: String,
    kind: UsageKind,
    count: u64,
    amount_usd: Usd,
}

#[derive(Debug, Serialize)]
struct SpendReport {
    totals: Vec<Total>,
    entries: Vec<ListItem<UsageEntry>>,
}

pub(crate) async fn run(session: &Session, args: &Usage) -> Result {
    let access = session.access::<Developer>()?;
    if let Some(since) = &args.since {
        return period::run(session, &access, args, since).await;
    }
    let client = access.client;
    let listing = Listing::new(session, &args.list, "entries");
    let call = || client.account().usage();
    if args.entries {
        return listing.print(call, entry_table).await;
    }
    let (entries, rest) = listing.default_limit(DEFAULT_ENTRIES).collect(call).await?;
    let (count, printer) = (entries.len(), &session.printer);
    let decoded: Vec<&UsageEntry> = entries.iter().filter_map(ListItem::decoded).collect();
    if decoded.len() < count {
        let others = count - decoded.len();
        printer.warn(&format!(
            "{others} of {count} entries do not have the expected fields and are not in the totals; -o json shows them"
        ));
    }
    let totals = totals(decoded.iter().copied(), |entry| day_of(entry).to_owned());
    if args.chart && !printer.is_json_requested() {
        print_chart(session, &client, &net_spend(decoded, RefundOfUnread::Ignored)).await?;
    } else {
        let spends = net_spend(decoded, RefundOfUnread::Ignored);
        let net = spends.iter().fold(0_i64, |sum, spend| sum.saturating_add(spend.micros));
        let report = SpendReport { totals, entries };
        printer.print_item(&report, |report| total_table(&report.totals))?;
        if printer.is_table() {
            let net = money(Usd::from_micros(net));
            printer.note(&format!(
                "net spend: {net}, captures less their refunds (a reservation only holds money); days are in UTC"
            ));
        }
    }
    rest.report_totals(printer, count);
    Ok(())
}

async fn print_chart(session: &Session, client: &Client, spends: &[Spend]) -> Result {
    let models = models_of_jobs(session, client, spends).await;
    let chart = |width, colored| render(spends, &models, width, colored);
    session.printer.print_text_for_width(chart)
}

fn totals<'a>(
    entries: impl IntoIterator<Item = &'a UsageEntry>,
    day_of: impl Fn(&UsageEntry) -> String,
) -> Vec<Total> {
    let mut sums: BTreeMap<(String, UsageKind), (u64, Usd)> = BTreeMap::new();
    for entry in entries {
        let day = day_of(entry);
        let (count, sum) = sums.entry((day, entry.kind.clone())).or_default();
        *count += 1;
        *sum = [*sum, entry.amount_usd].into_iter().sum();
    }
    sums.into_iter()
        .rev()
        .map(|((day, kind), (count, amount_usd))| Total { day, kind, count, amount_usd })
        .collect()
}

fn total_table(totals: &[Total]) -> Table {
    let amount = number("amount=amount_usd");
    Table::rows(totals, [required("day"), required("kind"), number("count"), amount])
}

fn entry_table(entries: &[UsageEntry]) -> Table {
    let mut table = Table::new([
        required("id"),
        required("kind"),
        number("amount"),
        time("created"),
        whole("for"),
    ]);
    for entry in entries {
        let job = entry.job_id.as_ref().map(JobId::as_str);
        let what = job
            .or(entry.run_id.as_ref().map(RunId::as_str))
            .or(entry.top_up_id.as_ref().map(TopUpId::as_str));
        table.row([
            entry.id.as_deref().unwrap_or_default(),
            entry.kind.as_str(),
            &money(entry.amount_usd),
            &time_ago(entry.created_at.as_ref()),
            what.unwrap_or_default(),
        ]);
    }
    table
}

const MAX_PAGES: usize = 3;

/// Returns the models of the jobs that money was spent for, as far as the newest jobs name them.
async fn models_of_jobs(
    session: &Session,
    client: &Client,
    spends: &[Spend],
) -> HashMap<String, String> {
    let jobs = spends.iter().filter_map(|spend| match &spend.subject {
        Subject::Job(id) => Some(id.as_str()),
        _ => None,
    });
    let mut missing: HashSet<&str> = jobs.collect();
    let mut models = HashMap::new();
    if missing.is_empty() {
        return models;
    }
    let mut pages = client.jobs().list().pages();
    for _ in 0..MAX_PAGES {
        let page = match pages.next().await {
            Some(Ok(page)) => page,
            Some(Err(error)) => {
                let failure = Failure::from(error);
                let why = failure.headline();
                session.printer.warn(&format!("cannot read the models of the jobs: {why}"));
                break;
            }
            None => break,
        };
        for job in page {
            if missing.remove(job.id.as_str())
                && let Some(model) = job.model
            {
                models.insert(job.id.as_str().to_owned(), model);
            }
        }
        if missing.is_empty() {
            break;
        }
    }
    models
}

/// The name of what nothing else is known of.
const OTHER: &str = "other";

#[derive(Debug, PartialEq)]
struct Spend {
    /// The day, in UTC unless it is of a period.
    day: String,
    at: Option<jiff::Timestamp>,
    subject: Subject,
    micros: i64,
}

#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Model(String),
    Job(String),
    Run(String),
    Other,
}

impl Subject {
    fn model<'a>(&'a self, models_of_jobs: &'a HashMap<String, String>) -> &'a str {
        match self {
            Self::Model(model) => model,
            Self::Job(id) => models_of_jobs.get(id).map_or(OTHER, String::as_str),
            Self::Run(_) => "agent runs",
            Self::Other => OTHER,
        }
    }
}

#[derive(Default)]
struct Amounts {
    reserved: i64,
    captured: i64,
    /// Whether anything but refunds was read.
    is_read: bool,
}

/// What a refund is of which neither a reservation nor a capture was read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RefundOfUnread {
    Ignored,
    OfCapture,
}

/// A refund returns what is reserved first, which was not spent, and then what was captured.
fn net_spend<'a>(
    newest_first: impl IntoIterator<Item = &'a UsageEntry, IntoIter: DoubleEndedIterator>,
    of_unread: RefundOfUnread,
) -> Vec<Spend> {
    let mut accounts: HashMap<&str, Amounts> = HashMap::new();
    let mut spends = Vec::new();
    for entry in newest_first.into_iter().rev() {
        let job = entry.job_id.as_ref().map(JobId::as_str);
        let run = entry.run_id.as_ref().map(RunId::as_str);
        let account = accounts.entry(job.or(run).unwrap_or_default()).or_default();
        let amount = entry.amount_usd.as_micros();
        account.is_read |= matches!(entry.kind, UsageKind::Reservation | UsageKind::Capture);
        let micros = match entry.kind {
            UsageKind::Reservation => {
                account.reserved = account.reserved.saturating_add(amount);
                0
            }
            UsageKind::Capture => {
                account.reserved = account.reserved.saturating_sub(amount).max(0);
                account.captured = account.captured.saturating_add(amount);
                amount
            }
            UsageKind::Refund if !account.is_read && of_unread == RefundOfUnread::OfCapture => {
                -amount
            }
            UsageKind::Refund => {
                let released = amount.min(account.reserved);
                let returned = (amount - released).min(account.captured);
                account.reserved -= released;
                account.captured -= returned;
                -returned
            }
            _ => 0,
        };
        if micros != 0 {
            let model = entry.extra.get_as::<String>("model");
            let subject = match (model, job, run) {
                (Some(model), ..) => Subject::Model(model),
                (None, Some(job), _) => Subject::Job(job.to_owned()),
                (None, None, Some(run)) => Subject::Run(run.to_owned()),
                (None, None, None) => Subject::Other,
            };
            let day = day_of(entry).to_owned();
            spends.push(Spend { day, at: moment_of(entry), subject, micros });
        }
    }
    spends
}

/// Returns the day of an entry, as the service writes it, or an empty text if it has none.
fn day_of(entry: &UsageEntry) -> &str {
    let moment = entry.created_at.as_ref().map_or("", |at| at.as_str());
    moment.split('T').next().unwrap_or_default()
}

fn subject_id(entry: &UsageEntry) -> Option<&str> {
    let run = || entry.run_id.as_ref().map(RunId::as_str);
    entry.job_id.as_ref().map(JobId::as_str).or_else(run)
}

fn moment_of(entry: &UsageEntry) -> Option<jiff::Timestamp> {
    entry.created_at.as_ref().and_then(|at| at.as_str().parse().ok())
}

const MAX_BAR_WIDTH: usize = 60;

fn render(
    spends: &[Spend],
    models: &HashMap<String, String>,
    width: usize,
    colored: bool,
) -> String {
    if spends.is_empty() {
        return "nothing was spent\n".to_owned();
    }
    let by_day = sums(spends, |spend| match spend.day.as_str() {
        "" => "unknown day",
        day => day,
    });
    let by_model = sums(spends, |spend| spend.subject.model(models));
    let by_day: Vec<_> = by_day.into_iter().rev().collect();
    let mut by_model: Vec<_> = by_model.into_iter().collect();
    by_model.sort_by_key(|(_, micros)| Reverse(*micros));
    let total = spends.iter().fold(0_i64, |sum, spend| sum.saturating_add(spend.micros));
    let total = money(Usd::from_micros(total));
    let heading = |text: &str| style(text.to_owned()).bold().force_styling(colored);
    format!(
        "{}\n{}\n{}\n{}",
        heading(&format!("Net spend by day: {total}")),
        bars(&by_day, width, colored),
        heading("Net spend by model"),
        bars(&by_model, width, colored),
    )
}

fn sums<'a>(spends: &'a [Spend], label: impl Fn(&'a Spend) -> &'a str) -> BTreeMap<&'a str, i64> {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for spend in spends {
        let sum = sums.entry(label(spend)).or_default();
        *sum = sum.saturating_add(spend.micros);
    }
    sums
}

fn bars(sums: &[(&str, i64)], width: usize, colored: bool) -> String {
    let rows: Vec<_> = sums
        .iter()
        .map(|(label, micros)| (sanitize(label), money(Usd::from_micros(*micros)), *micros))
        .collect();
    let label_width = rows.iter().map(|(label, ..)| label.width()).max().unwrap_or_default();
    let amount_width = rows.iter().map(|(_, amount, _)| amount.len()).max().unwrap_or_default();
    let bar_width = width.saturating_sub(label_width + amount_width + 4).min(MAX_BAR_WIDTH);
    let most = rows.iter().map(|(.., micros)| *micros).max().unwrap_or_default().max(1);
    let mut text = String::new();
    for (label, amount, micros) in rows {
        let padding = " ".repeat(label_width - label.width());
        let bar = "█".repeat(bar_length(micros, most, bar_width));
        let bar = style(bar).cyan().force_styling(colored);
        let line = format!("{label}{padding}  {amount:>amount_width$}  {bar}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the length of a bar, at least 1 for an amount above zero.
fn bar_length(micros: i64, most: i64, width: usize) -> usize {
    if micros <= 0 || width == 0 {
        return 0;
    }
    let width = i128::try_from(width).unwrap_or(i128::MAX);
    let length = i128::from(micros).saturating_mul(width) / i128::from(most);
    usize::try_from(length).unwrap_or_default().max(1)
}
