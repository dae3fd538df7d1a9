//! Waiting for several jobs concurrently.

use svc_sdk::contract::Operation;

use crate::args::WaitArgs;
use crate::download::DownloadPlan;
use crate::error::Failure;
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
/// Returns the failure of the first job, in the given order, that has no result.
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
    let mut results = join_all(waiters.collect()).await;
    let unfinished = wait::merge_unfinished(&mut results, &ids, ("jobs", args, download), |ids| {
        let words = [&["job", "wait"], ids].concat();
        let words = with_download_flags(&words, "--download", download);
        session.resume_command_on(surface_choice::<S>(), &words)
    });
    let outcomes: Vec<Option<Outcome>> = results.iter().map(outcome_of).collect();
    let single = results.len() == 1;
    let mut all_finished = Vec::new();
    let mut failures = Vec::new();
    for result in results {
        match result {
            Ok(mut finished) => {
                failures.extend(finished.failure.take());
                all_finished.push(finished);
            }
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(failure) = &unfinished {
        session.printer.print_failure(failure);
    }
    match all_finished.as_slice() {
        [] => {}
        [finished] if single => session.printer.print_item(finished, tables::finished)?,
        finished => session
            .printer
            .print_list(finished, tables::finished_list)?,
    }
    for (id, outcome) in ids.into_iter().zip(outcomes) {
        session.close_intent(&access.base_url, &ResourceId::Job(id), outcome);
    }
    let first = failures.first().map(Failure::exit);
    match (first, failures.pop()) {
        (Some(_), Some(failure)) if single => Err(failure),
        (Some(exit), Some(last)) => {
            failures.push(last);
            for failure in &failures {
                session.printer.print_failure(failure);
            }
            Err(Failure::already_reported(exit))
        }
        _ => Ok(()),
    }
}

/// Returns the outcome to record in the journal. It stays open while files are missing.
fn outcome_of(result: &Result<FinishedJob, Failure>) -> Option<Outcome> {
    match result {
        Ok(finished) if finished.failure.is_some() => None,
        result => wait::outcome_of(result),
    }
}
