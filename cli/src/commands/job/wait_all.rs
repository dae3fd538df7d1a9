//! Waiting for several jobs concurrently.

use serde_json::json;
use svc_sdk::contract::Operation;

use crate::args::WaitArgs;
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure};
use crate::join_all::join_all;
use crate::pricing::EstimateSource;
use crate::resource::job::{FinishedJob, tables};
use crate::resource::with_download_flags;
use crate::session::{Access, Session, surface_choice};
use crate::types::{Outcome, ResourceId};
use crate::wait::{self, Waiter};

/// Checks that ids can be part of a path.
///
/// # Errors
///
/// Returns an error that names the first id that cannot.
pub(super) fn check_ids(ids: &[String]) -> Result<(), Failure> {
    for id in ids {
        let path = Operation::JobsStatus.expand(&[id]);
        path.map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(())
}

/// Waits for jobs concurrently, and prints their results.
///
/// # Errors
///
/// Returns an error if a job has no result. If several have none, the most important failure decides
/// the exit code.
pub(super) async fn wait_for_all<S: EstimateSource>(
    session: &Session,
    access: &Access<S>,
    mut ids: Vec<String>,
    args: &WaitArgs,
    download: Option<&DownloadPlan>,
) -> Result<(), Failure> {
    wait::remove_duplicates(&mut ids);
    check_ids(&ids)?;
    if let Some(plan) = download {
        plan.check_names_of(ids.len())?;
    }
    let waiters = ids.iter().map(|id| {
        let waiter = Waiter {
            session,
            resource: access.client.jobs().handle(id.as_str()),
            args,
            download,
        };
        Box::pin(async move { waiter.wait().await })
    });
    let results = join_all(waiters.collect()).await;
    let outcomes: Vec<Option<Outcome>> = results.iter().map(outcome_of).collect();
    let mut all_finished = Vec::new();
    let mut failures = Vec::new();
    for (result, id) in results.into_iter().zip(&ids) {
        match result {
            Ok(mut finished) => {
                let failure = finished.failure.take();
                failures.extend(failure.map(|failure| (id.as_str(), failure)));
                all_finished.push(finished);
            }
            Err(failure) => {
                if ids.len() > 1 {
                    all_finished.extend(ended(id, &failure));
                }
                failures.push((id.as_str(), failure));
            }
        }
    }
    let options = ("jobs", args, download);
    let failure = wait::merge_failures(failures, ids.len(), options, |ids| {
        let words = [&["job", "wait"], ids].concat();
        let words = with_download_flags(&words, "--download", download);
        session.resume_command_on(surface_choice::<S>(), &words)
    });
    match all_finished.as_slice() {
        [] => {}
        [finished] if ids.len() == 1 => session.printer.print_item(finished, tables::finished)?,
        finished => session
            .printer
            .print_list(finished, tables::finished_list)?,
    }
    for (id, outcome) in ids.into_iter().zip(outcomes) {
        session.close_intent(&access.base_url, &ResourceId::Job(id), outcome);
    }
    failure.map_or(Ok(()), Err)
}

/// Returns a job that ended without a result, to be printed beside the others.
fn ended(id: &str, failure: &Failure) -> Option<FinishedJob> {
    let status = match failure.exit() {
        Exit::JobFailed => "failed",
        Exit::JobCanceled => "canceled",
        _ => return None,
    };
    let json = failure.to_json();
    let member = |name: &str| json.pointer(&format!("/error/{name}"));
    let error = json!({"code": member("code"), "message": member("message")});
    let result = json!({"job_id": id, "status": status, "artifacts": [], "error": error});
    let result = serde_json::from_value(result).ok()?;
    Some(FinishedJob::new(result))
}

/// Returns the outcome to record in the journal. It stays open while files are missing.
fn outcome_of(result: &Result<FinishedJob, Failure>) -> Option<Outcome> {
    match result {
        Ok(finished) if finished.failure.is_some() => None,
        result => wait::outcome_of(result),
    }
}
