//! Summaries of finished queues, and their exit codes.

use std::path::Path;

use svc_sdk::contract::RunStatus;
use svc_sdk::types::{RunReceipt, Usd};

use super::finished::{FinishedItem, FinishedQueue};
use crate::error::{ClientCode, Exit, Failure};
use crate::resource::run::summary::download_command;
use crate::session::Session;
use crate::text::shell_quote;
use crate::types::ResourceId;

/// Prints the summary of a finished queue.
///
/// # Errors
///
/// Returns an error unless all runs completed. A failed run outweighs a canceled one.
pub(super) fn summarize(
    session: &Session,
    queue: &str,
    finished: &FinishedQueue,
) -> Result<(), Failure> {
    let counts = &finished.counts;
    // The service may return counts without items.
    let count = |status: &RunStatus, reported: u64| match finished.items.is_empty() {
        true => usize::try_from(reported).unwrap_or(usize::MAX),
        false => finished
            .items
            .iter()
            .filter(|it| it.status() == status)
            .count(),
    };
    let receipts = || {
        finished
            .items
            .iter()
            .filter_map(|item| item.receipt.as_ref())
    };
    let [completed, failed, canceled, skipped] = [
        (RunStatus::Completed, counts.completed),
        (RunStatus::Failed, counts.failed),
        (RunStatus::Canceled, counts.canceled),
        (RunStatus::Skipped, counts.skipped),
    ]
    .map(|(status, reported)| count(&status, reported));
    let degraded = receipts().filter(|it| it.is_degraded()).count();
    let total = usize::try_from(counts.total).unwrap_or(usize::MAX);
    let total = total.max(finished.items.len());
    if total == 0 {
        let why = "the queue ended, but the answer has neither its runs nor their number";
        return Err(Failure::other(why)
            .with_client_code(ClientCode::UnreadableResponse)
            .for_resource(ResourceId::Queue(queue.to_owned()))
            .hint(format!(
                "show the answer: svc queue get {} -o json",
                shell_quote(queue)
            )));
    }
    let spent: Usd = receipts().filter_map(RunReceipt::billable_amount).sum();
    let is_unread = |item: &&FinishedItem| {
        let spent = item.receipt.as_ref().and_then(RunReceipt::billable_amount);
        item.item.run_id.is_some() && spent.is_none()
    };
    let unread = finished.items.iter().filter(is_unread).count();
    let mut sentence = format!("{completed} of {total} runs completed");
    for (count, what) in [
        (failed, "failed"),
        (canceled, "canceled"),
        (skipped, "skipped"),
        (degraded, "without an output that fits the schema"),
    ] {
        if count > 0 {
            sentence.push_str(&format!(", {count} {what}"));
        }
    }
    sentence.push_str(&format!("; spent {spent} USD"));
    if unread > 0 {
        sentence.push_str(&format!(", and the spend of {unread} is unknown"));
    }
    let item_failure = finished.items.iter().find_map(|item| item.failure.as_ref());
    let exit = match item_failure {
        _ if failed > 0 => Exit::JobFailed,
        _ if canceled > 0 => Exit::JobCanceled,
        _ if skipped > 0 => Exit::Skipped,
        Some(failure) => failure.exit(),
        None if completed < total => Exit::Failure,
        None => {
            session.printer.note(&sentence);
            return Ok(());
        }
    };
    let mut failure =
        Failure::new(exit, sentence).for_resource(ResourceId::Queue(queue.to_owned()));
    if exit == Exit::Failure && item_failure.is_none() {
        // The statuses are none that this build knows.
        failure = failure.with_client_code(ClientCode::UnreadableResponse);
    }
    for item in &finished.items {
        let index = item.index;
        if let Some(item_failure) = &item.failure {
            failure = failure.issue(format!("item {index}: {}", item_failure.headline()));
        } else if *item.status() != RunStatus::Completed {
            let status = match item.status().as_str() {
                "" => "has no status",
                status => status,
            };
            let run = item.item.run_id.as_ref();
            let run = run.map(|id| format!(", {id}")).unwrap_or_default();
            let error = item
                .error()
                .map(|error| format!(": {error}"))
                .unwrap_or_default();
            failure = failure.issue(format!("item {index}{run} {status}{error}"));
        }
    }
    let not_downloaded = finished.items.iter().find(|item| {
        let has_files = item
            .receipt
            .as_ref()
            .is_some_and(|it| !it.artifacts.is_empty());
        has_files && item.failure.is_some()
    });
    if let Some(item) = not_downloaded
        && let Some(id) = &item.item.run_id
        && !session.is_sandbox()
    {
        let folder = item.folder(Path::new("DIR"));
        let command = download_command(session, id.as_str(), "format", &folder);
        failure = failure.hint(format!(
            "download the files of item {}: {command}",
            item.index
        ));
    }
    Err(failure)
}
