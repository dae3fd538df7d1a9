//! Waiting for several jobs concurrently.

use std::path::Path;

use svc_sdk::contract::Operation;

use crate::args::WaitArgs;
use crate::error::Failure;
use crate::join_all::join_all;
use crate::pricing::EstimateSource;
use crate::resource::job::tables;
use crate::resource::with_download_flag;
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
    download: Option<&Path>,
) -> Result<(), Failure> {
    wait::remove_duplicates(&mut ids);
    check_ids(&ids)?;
    if let Some(folder) = download {
        wait::check_writable(folder)?;
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
    let interrupted =
        wait::merge_interrupted(&mut results, &ids, ("jobs", args, download), |ids| {
            let words = with_download_flag(&[&["job", "wait"], ids].concat(), download);
            session.resume_command_on(surface_choice::<S>(), &words)
        });
    let outcomes: Vec<Option<Outcome>> = results.iter().map(wait::outcome_of).collect();
    let single = results.len() == 1;
    let mut all_finished = Vec::new();
    let mut first_failure = None;
    for result in results {
        match result {
            Ok(finished) => all_finished.push(finished),
            Err(failure) if single => first_failure = Some(failure),
            Err(failure) => {
                session.printer.print_failure(&failure);
                first_failure.get_or_insert(Failure::already_reported(failure.exit()));
            }
        }
    }
    if let Some(failure) = &interrupted {
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
    first_failure.map_or(Ok(()), Err)
}
