//! `svc usage`: spending by day, kind and model.

mod net_spend;
mod period;

use std::collections::{BTreeMap, HashMap, HashSet};

use clap::Args;
use serde::Serialize;
use svc_sdk::Developer;
use svc_sdk::developer::Client;
use svc_sdk::types::{JobId, RunId, TopUpId, UsageEntry, UsageKind, Usd};

use crate::args::{ListArgs, headings};
use crate::commands::usage::net_spend::{RefundOfUnread, Spend, Subject, day_of, net_spend};
use crate::commands::usage::period::By;
use crate::error::{Failure, Result};
use crate::listing::{ListItem, Listing};
use crate::output::Table;
use crate::output::layout::{number, required, time, whole};
use crate::output::values::{money, time_ago};
use crate::session::Session;

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
    let models = of_jobs(session, client, spends).await;
    let chart = |width, colored| net_spend::render(spends, &models, width, colored);
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
async fn of_jobs(session: &Session, client: &Client, spends: &[Spend]) -> HashMap<String, String> {
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
