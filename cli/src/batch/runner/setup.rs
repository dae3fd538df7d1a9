//! What happens before a batch runs: clients, checks and the confirmation prompt.

use std::sync::Arc;
use std::time::Duration;

use svc_sdk::types::Usd;
use svc_sdk::{Developer, Open};

use crate::batch::journal::Status;
use crate::batch::manifest::Manifest;
use crate::batch::options::BatchOptions;
use crate::batch::plan::{Item, NextStep, Plan, account_on};
use crate::batch::quote::Quote;
use crate::batch::requests::Clients;
use crate::batch::scheduler::{Account, Scheduler, WriteLimit};
use crate::clock;
use crate::download::DownloadPlan;
use crate::error::Failure;
use crate::pricing::NOTHING_CHARGED;
use crate::session::Session;
use crate::text::counted;

/// Creates the clients of the surfaces that are needed.
pub(super) fn clients(
    session: &Session,
    plan: &Plan,
    download: Option<Arc<DownloadPlan>>,
) -> Result<Clients, Failure> {
    let is_needed = |account| {
        let mut items = plan.items.iter();
        items.any(|item| item.account == account && item.next_step != NextStep::Done)
    };
    let mut clients = Clients::new(download);
    if is_needed(Account::Open) {
        clients.open = Some(Arc::new(session.access::<Open>()?));
    }
    if is_needed(Account::Developer) {
        clients.developer = Some(Arc::new(session.access::<Developer>()?));
    }
    Ok(clients)
}

/// Checks that the jobs in flight belong to the service that is configured now.
pub(super) fn check_account(plan: &Plan, clients: &Clients) -> Result<(), Failure> {
    for item in plan
        .items
        .iter()
        .filter(|item| item.next_step == NextStep::Wait)
    {
        let attempt = item.record.attempt.as_ref();
        if let (Some(attempt), Some((base_url, _))) =
            (attempt, clients.url_and_fingerprint(item.account))
            && attempt.base_url != base_url
        {
            let flag = match item.account {
                Account::Open => "--base-url",
                Account::Developer => "--developer-base-url",
            };
            return Err(Failure::usage(format!(
                "the batch was submitted to {}, but {base_url} is configured",
                attempt.base_url
            ))
            .hint(format!(
                "set {flag} {}, or start over, and pay again, with another --journal FILE",
                attempt.base_url
            )));
        }
    }
    Ok(())
}

/// Tells the scheduler what is left of the write quotas, as far as the journal knows.
pub(super) fn resume_quotas(scheduler: &mut Scheduler, plan: &Plan) {
    for quota in &plan.quotas {
        let left = quota.resets_at.duration_since(clock::now());
        if let (Ok(reset_after), Some(surface)) = (Duration::try_from(left), quota.surface()) {
            let known = WriteLimit {
                limit: quota.limit,
                remaining: quota.remaining,
                reset_after,
            };
            scheduler.resume_quota(account_on(surface), known);
        }
    }
}

/// Asks for confirmation on a terminal.
pub(super) async fn confirm(
    session: &Session,
    manifest: &Manifest,
    plan: &Plan,
    options: &BatchOptions,
) -> Result<(), Failure> {
    let printer = &session.printer;
    if plan.to_submit() == 0 || options.yes || session.is_sandbox() || !printer.can_prompt() {
        return Ok(());
    }
    let quote = Quote::new(session, manifest, plan).await?;
    quote.warn_about_missing_prices(session);
    let (items, price) = (counted(quote.items, "item"), quote.describe());
    let question = match (options.max_spend, plan.committed) {
        (Some(limit), Usd::ZERO) => {
            format!("Submit {items} for {price}, within a limit of {limit} USD?")
        }
        (Some(limit), committed) => format!(
            "Submit {items} for {price}, within a limit of {limit} USD, of which {committed} USD are \
            already spent or reserved?"
        ),
        (None, _) => format!("Submit {items} for {price}?"),
    };
    session.confirm(&question, NOTHING_CHARGED).await
}

/// Warns about a manifest without items, which is rarely meant.
pub(super) fn warn_if_empty(session: &Session, plan: &Plan, options: &BatchOptions) {
    if plan.items.is_empty() {
        let path = options.manifest.display();
        session.printer.warn(&format!("{path} has no items"));
    }
}

pub(super) fn note_start(session: &Session, plan: &Plan, options: &BatchOptions) {
    let printer = &session.printer;
    let finished = plan.count(|item| item.next_step == NextStep::Done);
    let is_completed = |item: &Item| item.record.status == Some(Status::Completed);
    let to_download = plan.count(|item| item.next_step == NextStep::Wait && is_completed(item));
    let in_flight = plan.count(|item| item.next_step == NextStep::Wait && !is_completed(item));
    let unknown = plan.count(|item| item.next_step == NextStep::Resolve);
    if finished + in_flight + to_download + unknown > 0 {
        let mut submitted = String::new();
        for (count, words) in [
            (in_flight, "in flight"),
            (to_download, "to download"),
            (unknown, "with an unknown outcome"),
        ] {
            if count > 0 {
                submitted.push_str(&format!(", {count} {words}"));
            }
        }
        printer.note(&format!(
            "Resuming {}: {finished} of {} finished{submitted}",
            options.manifest.display(),
            counted(plan.items.len(), "item")
        ));
    }
    let is_watched = |item: &&Item| item.next_step != NextStep::Done && !item.is_run;
    let watched: Vec<&Item> = plan.items.iter().filter(is_watched).collect();
    if printer.shows_progress() && !session.is_sandbox() && !watched.is_empty() {
        let surface = match watched.iter().any(|item| item.account == Account::Open) {
            true => "",
            false => " --surface developer",
        };
        printer.note(&format!(
            "Watch the jobs in another terminal with: svc job watch{surface}"
        ));
    }
    if plan.missing > 0 {
        printer.warn(&format!(
            "the journal has {} that the manifest no longer has: the cost counts towards \
            --max-spend, but the results are not fetched",
            counted(plan.missing, "item")
        ));
    }
}
