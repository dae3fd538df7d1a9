//! Waiting for several runs concurrently.

use svc_sdk::Developer;

use super::kind::{by_kind, resolve_kind};
use crate::args::{RunKindChoice, SurfaceChoice, WaitArgs};
use crate::download::DownloadPlan;
use crate::error::Failure;
use crate::join_all::join_all;
use crate::resource::run::summary::{self, RunSummary};
use crate::resource::run::{FinishedRun, RunKind, outcome_of, tables};
use crate::resource::{ReceiptMode, Resource, with_download_flags};
use crate::session::{Access, Session};
use crate::types::{Outcome, ResourceId};
use crate::wait::{self, Waiter};

/// The runs to wait for, and the options of the wait.
#[derive(Debug)]
pub(super) struct WaitRequest<'a> {
    pub(super) ids: Vec<String>,
    pub(super) kind: Option<RunKindChoice>,
    pub(super) args: &'a WaitArgs,
    pub(super) download: Option<&'a DownloadPlan>,
    pub(super) receipt_mode: ReceiptMode,
}

/// Waits for runs concurrently, and prints their results.
///
/// # Errors
///
/// Returns an error if a run did not complete. If several did not, the most important failure decides
/// the exit code.
pub(super) async fn wait_for_all(
    session: &Session,
    access: &Access<Developer>,
    mut wait_request: WaitRequest<'_>,
) -> Result<(), Failure> {
    wait::remove_duplicates(&mut wait_request.ids);
    if let Some(plan) = wait_request.download {
        plan.check_names_of(wait_request.ids.len())?;
    }
    let mut kinds = Vec::new();
    for id in &wait_request.ids {
        kinds.push(resolve_kind(session, access, wait_request.kind, id).await?);
    }
    let waiters = wait_request.ids.iter().zip(&kinds).map(|(id, kind)| {
        let (kind, args, download) = (*kind, wait_request.args, wait_request.download);
        Box::pin(async move {
            by_kind!(kind, K => {
                let resource = K::handle(&access.client, id);
                Box::pin(Waiter { session, resource, args, download }.wait()).await
            })
        })
    });
    let results = join_all(waiters.collect()).await;
    let outcomes: Vec<Option<Outcome>> = results.iter().map(outcome).collect();
    let printed = match (
        <[_; 1]>::try_from(results),
        kinds.as_slice(),
        &*wait_request.ids,
    ) {
        (Ok([Ok(finished)]), [kind], [id]) => {
            by_kind!(*kind, K => K::print_result(&K::handle(&access.client, id), session, finished, wait_request.receipt_mode))
        }
        (Ok([Err(failure)]), ..) => Err(failure),
        (Ok([Ok(_)]), ..) => Ok(()),
        (Err(results), kinds, _) => print_all(session, results, &wait_request, kinds),
    };
    for (id, outcome) in wait_request.ids.into_iter().zip(outcomes) {
        session.close_intent(&access.base_url, &ResourceId::Run(id), outcome);
    }
    printed
}

fn print_all(
    session: &Session,
    results: Vec<Result<FinishedRun, Failure>>,
    wait_request: &WaitRequest<'_>,
    kinds: &[RunKindChoice],
) -> Result<(), Failure> {
    let mut all_finished = Vec::new();
    let mut failures = Vec::new();
    for ((result, id), kind) in results.into_iter().zip(&wait_request.ids).zip(kinds) {
        let id = id.as_str();
        match result {
            Ok(mut finished) => {
                let mut download_failure = finished.failure.take();
                let stored = finished.files.is_some();
                match summary::summarize(session, id, &finished.result, kind.as_str(), stored) {
                    RunSummary::Completed(sentence) => session.printer.note(&sentence),
                    RunSummary::Degraded(sentence, _) => session.printer.warn(&sentence),
                    RunSummary::Failed(failure) => {
                        let failure = match download_failure.take() {
                            Some(download) => failure.with_part(download),
                            None => failure,
                        };
                        failures.push((id, failure));
                    }
                }
                failures.extend(download_failure.map(|failure| (id, failure)));
                all_finished.push(finished);
            }
            Err(failure) => failures.push((id, failure)),
        }
    }
    let options = ("runs", wait_request.args, wait_request.download);
    let failure = wait::merge_failures(failures, wait_request.ids.len(), options, |ids| {
        let mut words = [&["run", "wait"], ids].concat();
        if let Some(kind) = wait_request.kind {
            words.extend(["--kind", kind.as_str()]);
        }
        let words = with_download_flags(&words, "--download", wait_request.download);
        session.resume_command(SurfaceChoice::Developer, &words)
    });
    if !all_finished.is_empty() {
        session
            .printer
            .print_list(&all_finished, tables::finished_list)?;
    }
    failure.map_or(Ok(()), Err)
}

/// Returns the outcome to record in the journal.
fn outcome(result: &Result<FinishedRun, Failure>) -> Option<Outcome> {
    match result {
        // The intent stays open while files are missing.
        Ok(finished) if finished.failure.is_some() => None,
        Ok(finished) => outcome_of(&finished.result.status),
        Err(failure) => failure.outcome(),
    }
}
