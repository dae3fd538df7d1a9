//! Net spend: captured amounts less refunds, as totals and as a chart.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use console::style;
use svc_sdk::types::{JobId, RunId, UsageEntry, UsageKind, Usd};
use unicode_width::UnicodeWidthStr;

use crate::output::values::money;
use crate::text::sanitize;

/// The name of what nothing else is known of.
pub(super) const OTHER: &str = "other";

#[derive(Debug, PartialEq)]
pub(super) struct Spend {
    /// The day, in UTC unless it is of a period.
    pub(super) day: String,
    pub(super) at: Option<jiff::Timestamp>,
    pub(super) subject: Subject,
    pub(super) micros: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject {
    Model(String),
    Job(String),
    Run(String),
    Other,
}

impl Subject {
    pub(super) fn model<'a>(&'a self, of_jobs: &'a HashMap<String, String>) -> &'a str {
        match self {
            Self::Model(model) => model,
            Self::Job(id) => of_jobs.get(id).map_or(OTHER, String::as_str),
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
pub(super) enum RefundOfUnread {
    Ignored,
    OfCapture,
}

/// A refund returns what is reserved first, which was not spent, and then what was captured.
pub(super) fn net_spend<'a>(
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
pub(super) fn day_of(entry: &UsageEntry) -> &str {
    let moment = entry.created_at.as_ref().map_or("", |at| at.as_str());
    moment.split('T').next().unwrap_or_default()
}

pub(super) fn subject_id(entry: &UsageEntry) -> Option<&str> {
    let run = || entry.run_id.as_ref().map(RunId::as_str);
    entry.job_id.as_ref().map(JobId::as_str).or_else(run)
}

pub(super) fn moment_of(entry: &UsageEntry) -> Option<jiff::Timestamp> {
    entry.created_at.as_ref().and_then(|at| at.as_str().parse().ok())
}

const MAX_BAR_WIDTH: usize = 60;

pub(super) fn render(
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
    let label_width = rows.iter().map(|(label, ..)| label.width()).max();
    let label_width = label_width.unwrap_or_default();
    let amount_width = rows.iter().map(|(_, amount, _)| amount.len()).max();
    let amount_width = amount_width.unwrap_or_default();
    let bar_width = width.saturating_sub(label_width + amount_width + 4).min(MAX_BAR_WIDTH);
    let most = rows.iter().map(|(.., micros)| *micros).max();
    let most = most.unwrap_or_default().max(1);
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
