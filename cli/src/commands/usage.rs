//! `svc usage`: spending by day and kind.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use svc_sdk::Developer;
use svc_sdk::types::{JobId, RunId, TopUpId, UsageEntry, UsageKind, Usd};

use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;

/// The length of the longest bar of the chart, in characters.
const MAX_BAR_WIDTH: i64 = 40;

/// The flags of `svc usage`.
#[derive(Args, Debug)]
pub(crate) struct Usage {
    /// List ledger entries instead of totals
    #[arg(long, conflicts_with = "chart")]
    entries: bool,
    /// Draw a chart of the charged amounts by day
    #[arg(long)]
    chart: bool,
}

/// The total of one kind of entry on one day.
#[derive(Debug, PartialEq, Serialize)]
struct Total {
    day: String,
    kind: UsageKind,
    count: u64,
    amount_usd: Usd,
}

/// The JSON output: the totals, and the entries they are computed from.
#[derive(Debug, Serialize)]
struct Report {
    totals: Vec<Total>,
    entries: Vec<UsageEntry>,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, args: &Usage) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let ledger = client.account().usage().await?;
    if ledger.next_cursor.is_some() {
        session.printer.note("older entries are not included");
    }
    if args.entries {
        return session.printer.print_list(&ledger.items, entry_table);
    }
    let totals = totals(&ledger.items);
    let report = Report {
        totals,
        entries: ledger.items,
    };
    session.printer.print_item(&report, |report| {
        if args.chart {
            chart(&report.totals)
        } else {
            total_table(&report.totals)
        }
    })
}

fn totals(entries: &[UsageEntry]) -> Vec<Total> {
    let mut sums: BTreeMap<(String, UsageKind), (u64, Usd)> = BTreeMap::new();
    for entry in entries {
        let moment = entry.created_at.as_ref().map_or("", |at| at.as_str());
        let day = moment.split('T').next().unwrap_or_default().to_owned();
        let (count, sum) = sums.entry((day, entry.kind.clone())).or_default();
        *count += 1;
        *sum = [*sum, entry.amount_usd].into_iter().sum();
    }
    sums.into_iter()
        .rev()
        .map(|((day, kind), (count, amount_usd))| Total {
            day,
            kind,
            count,
            amount_usd,
        })
        .collect()
}

fn total_table(totals: &[Total]) -> Table {
    let mut table = Table::new(["day", "kind", "count", "usd"]);
    for total in totals {
        table.row([
            &total.day,
            total.kind.as_str(),
            &total.count.to_string(),
            &total.amount_usd.to_string(),
        ]);
    }
    table
}

fn entry_table(entries: &[UsageEntry]) -> Table {
    let mut table = Table::new(["id", "kind", "usd", "for", "created"]);
    for entry in entries {
        let job = entry.job_id.as_ref().map(JobId::as_str);
        let what = job
            .or(entry.run_id.as_ref().map(RunId::as_str))
            .or(entry.top_up_id.as_ref().map(TopUpId::as_str));
        table.row([
            entry.id.as_deref().unwrap_or_default(),
            entry.kind.as_str(),
            &entry.amount_usd.to_string(),
            what.unwrap_or_default(),
            entry.created_at.as_ref().map_or("", |at| at.as_str()),
        ]);
    }
    table
}

/// Returns a bar chart of the charged amounts, one bar per day.
fn chart(totals: &[Total]) -> Table {
    let captured = totals
        .iter()
        .filter(|total| total.kind == UsageKind::Capture);
    let max_micros = captured
        .clone()
        .map(|total| total.amount_usd.micros())
        .max()
        .unwrap_or(1)
        .max(1);
    let mut table = Table::key_value();
    for total in captured {
        let share = i128::from(total.amount_usd.micros()) * i128::from(MAX_BAR_WIDTH);
        let length = usize::try_from(share / i128::from(max_micros)).unwrap_or(0);
        table.row([
            &total.day,
            &total.amount_usd.to_string(),
            &"█".repeat(length),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<UsageEntry> {
        serde_json::from_value(serde_json::json!([
            {"kind": "capture", "amount_usd": "0.5000", "created_at": "2026-01-02T10:00:00Z"},
            {"kind": "capture", "amount_usd": "0.2500", "created_at": "2026-01-02T09:00:00Z"},
            {"kind": "refund", "amount_usd": "1.0000", "created_at": "2026-01-02T08:00:00Z"},
            {"kind": "capture", "amount_usd": "1.5000", "created_at": "2026-01-01T10:00:00Z"},
        ]))
        .unwrap()
    }

    #[test]
    fn totals_are_grouped_by_day_and_kind_newest_first() {
        assert_eq!(
            total_table(&totals(&entries())).render(None, false),
            "DAY         KIND     COUNT  USD\n\
             2026-01-02  refund   1      1.0000\n\
             2026-01-02  capture  2      0.7500\n\
             2026-01-01  capture  1      1.5000\n"
        );
    }

    #[test]
    fn bar_length_is_proportional_to_amount() {
        let text = chart(&totals(&entries())).render(None, false);
        let bars: Vec<_> = text.lines().map(|line| line.matches('█').count()).collect();
        assert_eq!(bars, [20, 40]);
    }
}
