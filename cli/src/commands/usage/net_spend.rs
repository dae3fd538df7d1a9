//! Net spend: captured amounts less refunds, as totals and as a chart.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use console::style;
use svc_sdk::types::{JobId, RunId, UsageEntry, UsageKind, Usd};
use unicode_width::UnicodeWidthStr;

use crate::output::values::money;
use crate::text::sanitize;

/// An amount that was spent, or given back if it is negative.
#[derive(Debug, PartialEq)]
pub(super) struct Spend {
    /// The day, in UTC.
    pub(super) day: String,
    /// The time of the entry.
    pub(super) at: Option<jiff::Timestamp>,
    /// What it was spent for.
    pub(super) subject: Subject,
    /// The amount in millionths of a dollar.
    pub(super) micros: i64,
}

/// What an amount was spent for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject {
    /// A model that the entry names.
    Model(String),
    Job(String),
    Run(String),
    /// Anything else.
    Other,
}

/// The amounts of a job or run so far.
#[derive(Default)]
struct Amounts {
    reserved: i64,
    captured: i64,
}

/// Returns what was spent, oldest first.
///
/// A refund returns what is reserved first, which was not spent, and then what was captured.
pub(super) fn net_spend<'a>(
    newest_first: impl IntoIterator<Item = &'a UsageEntry, IntoIter: DoubleEndedIterator>,
) -> Vec<Spend> {
    let mut accounts: HashMap<&str, Amounts> = HashMap::new();
    let mut spends = Vec::new();
    for entry in newest_first.into_iter().rev() {
        let job = entry.job_id.as_ref().map(JobId::as_str);
        let run = entry.run_id.as_ref().map(RunId::as_str);
        let account = accounts.entry(job.or(run).unwrap_or_default()).or_default();
        let amount = entry.amount_usd.as_micros();
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

/// Returns the time of an entry.
pub(super) fn moment_of(entry: &UsageEntry) -> Option<jiff::Timestamp> {
    entry.created_at.as_ref().and_then(|at| at.as_str().parse().ok())
}

/// The length of the longest bar on a wide terminal.
const MAX_BAR_WIDTH: usize = 60;

/// Renders the charts by day, newest first, and by model, most expensive first.
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
    let by_model = sums(spends, |spend| match &spend.subject {
        Subject::Model(model) => model,
        Subject::Job(id) => models.get(id).map_or("other jobs", String::as_str),
        Subject::Run(_) => "agent runs",
        Subject::Other => "other",
    });
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

/// Renders a line with a label, an amount and a bar for each sum.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refunds_of_reservations_are_not_negative_spend() {
        let entry = |kind: &str, job: &str, amount: &str| json!({"kind": kind, "job_id": job, "amount_usd": amount, "created_at": "2026-01-02T10:00:00Z"});
        let rows = [
            // A job that completed for less than was reserved.
            (vec![("reservation", "2.0"), ("capture", "0.5"), ("refund", "1.5")], vec![500_000]),
            // A job that failed.
            (vec![("reservation", "2.0"), ("refund", "2.0")], vec![]),
            // A job that was given back after it completed.
            (
                vec![("reservation", "2.0"), ("capture", "2.0"), ("refund", "2.0")],
                vec![2_000_000, -2_000_000],
            ),
            // The reservation is older than the entries that were read.
            (vec![("refund", "2.0")], vec![]),
            (vec![("capture", "0.25")], vec![250_000]),
        ];
        for (entries, expected) in rows {
            let newest_first = entries.iter().rev();
            let json = newest_first.map(|(kind, amount)| entry(kind, "job_1", amount));
            let entries: Vec<UsageEntry> =
                serde_json::from_value(json.collect::<Vec<_>>().into()).unwrap();
            let micros: Vec<i64> = net_spend(&entries).iter().map(|it| it.micros).collect();
            assert_eq!(micros, expected, "{entries:?}");
        }
    }

    #[test]
    fn a_spend_names_its_subject() {
        let entries: Vec<UsageEntry> = serde_json::from_value(json!([
            {"kind": "top_up", "amount_usd": "5.0", "top_up_id": "top_1"},
            {"kind": "capture", "amount_usd": "0.1"},
            {"kind": "capture", "amount_usd": "0.2", "run_id": "run_1"},
            {"kind": "capture", "amount_usd": "0.3", "job_id": "job_1"},
            {"kind": "capture", "amount_usd": "0.4", "job_id": "job_2", "model": "video-f"}
        ]))
        .unwrap();
        let subjects: Vec<Subject> = net_spend(&entries).into_iter().map(|it| it.subject).collect();
        assert_eq!(
            subjects,
            [
                Subject::Model("video-f".into()),
                Subject::Job("job_1".into()),
                Subject::Run("run_1".into()),
                Subject::Other
            ]
        );
    }

    fn spends() -> Vec<Spend> {
        let rows = [
            ("2026-01-01", Subject::Job("job_1".into()), 1_500_000),
            ("2026-01-02", Subject::Job("job_2".into()), 750_000),
            ("2026-01-02", Subject::Run("run_1".into()), 10_000),
            ("2026-01-02", Subject::Job("job_3".into()), 500),
        ];
        rows.map(|(day, subject, micros)| Spend { day: day.into(), at: None, subject, micros })
            .into()
    }

    fn models() -> HashMap<String, String> {
        [("job_1", "video-f"), ("job_2", "image-i")]
            .map(|(job, model)| (job.into(), model.into()))
            .into()
    }

    #[test]
    fn bars_are_proportional_and_fit_the_width() {
        assert_eq!(
            render(&spends(), &models(), 40, false),
            "Net spend by day: $2.2605\n\
             2026-01-02  $0.7605  █████████\n\
             2026-01-01    $1.50  ███████████████████\n\
             \n\
             Net spend by model\n\
             video-f       $1.50  ███████████████████\n\
             image-i       $0.75  █████████\n\
             agent runs    $0.01  █\n\
             other jobs  $0.0005  █\n"
        );
        for width in [10, 20, 30, 80, 200] {
            let text = render(&spends(), &models(), width, false);
            for line in text.lines() {
                assert!(line.width() <= width.max(25), "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_refund_has_no_bar() {
        let text = bars(&[("a", -500_000), ("b", 250_000)], 30, false);
        assert_eq!(text, format!("a  -$0.50\nb   $0.25  {}\n", "█".repeat(19)));
        assert_eq!(render(&[], &models(), 40, false), "nothing was spent\n");
    }
}
