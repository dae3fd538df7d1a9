//! How a queue went: in a sentence, and as an exit code.

use std::path::Path;

use svc_sdk::contract::RunStatus;
use svc_sdk::types::{RunReceipt, Usd};

use super::finished::{ItemEnd, QueueEnd};
use crate::error::Exit;
use crate::error::Failure;
use crate::resource::run::summary::download_command;
use crate::session::Session;
use crate::types::SubjectId;

/// The exit code and the sentence: a failed run outweighs a canceled one.
pub(super) fn of(session: &Session, queue: &str, end: &QueueEnd) -> Result<(), Failure> {
    let counts = &end.counts;
    // A service that tells no items still counts them.
    let count = |status: &RunStatus, told: u64| match end.items.is_empty() {
        true => usize::try_from(told).unwrap_or(usize::MAX),
        false => end.items.iter().filter(|it| it.status() == status).count(),
    };
    let receipts = || end.items.iter().filter_map(|item| item.receipt.as_ref());
    let [completed, failed, canceled, skipped] = [
        (RunStatus::Completed, counts.completed),
        (RunStatus::Failed, counts.failed),
        (RunStatus::Canceled, counts.canceled),
        (RunStatus::Skipped, counts.skipped),
    ]
    .map(|(status, told)| count(&status, told));
    let short = receipts().filter(|it| it.is_degraded()).count();
    let total = usize::try_from(counts.total).unwrap_or(usize::MAX);
    let total = total.max(end.items.len());
    let spent: Usd = receipts().filter_map(RunReceipt::billable_amount).sum();
    let is_unread = |item: &&ItemEnd| {
        let spent = item.receipt.as_ref().and_then(RunReceipt::billable_amount);
        item.item.run_id.is_some() && spent.is_none()
    };
    let unread = end.items.iter().filter(is_unread).count();
    let mut sentence = format!("{completed} of {total} runs completed");
    for (count, what) in [
        (failed, "failed"),
        (canceled, "canceled"),
        (skipped, "skipped"),
        (short, "could not fill their schema"),
    ] {
        if count > 0 {
            sentence.push_str(&format!(", {count} {what}"));
        }
    }
    sentence.push_str(&format!("; spent {spent} USD"));
    if unread > 0 {
        sentence.push_str(&format!(", and the spend of {unread} is unknown"));
    }
    let trouble = end.items.iter().find_map(|item| item.trouble.as_ref());
    let exit = match trouble {
        _ if failed > 0 => Exit::JobFailed,
        _ if canceled > 0 => Exit::JobCanceled,
        _ if skipped > 0 => Exit::Skipped,
        Some(trouble) => trouble.exit(),
        None if completed < total => Exit::Failure,
        None => {
            session.printer.note(&sentence);
            return Ok(());
        }
    };
    let mut failure = Failure::new(exit, sentence).about(SubjectId::Queue(queue.to_owned()));
    for item in &end.items {
        let index = item.index;
        if let Some(trouble) = &item.trouble {
            failure = failure.point(format!("item {index}: {}", trouble.headline()));
        } else if *item.status() != RunStatus::Completed {
            let status = item.status();
            let run = item.item.run_id.as_ref();
            let run = run.map(|id| format!(", {id}")).unwrap_or_default();
            let why = item.why().map(|why| format!(": {why}")).unwrap_or_default();
            failure = failure.point(format!("item {index}{run} {status}{why}"));
        }
    }
    let left = end.items.iter().find(|item| {
        let made = item
            .receipt
            .as_ref()
            .is_some_and(|it| !it.artifacts.is_empty());
        made && item.files.is_none() && item.trouble.is_some()
    });
    if let Some(item) = left
        && let Some(id) = &item.item.run_id
        && !session.is_sandbox()
    {
        let folder = item.folder(Path::new("DIR"));
        let command = download_command(session, id.as_str(), "format", &folder);
        failure = failure.next(format!("fetch the files of item {}: {command}", item.index));
    }
    Err(failure)
}
