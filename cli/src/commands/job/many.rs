//! Many jobs at once.

use std::collections::HashSet;
use std::path::Path;

use svc_sdk::contract::Operation;

use crate::args::WaitArgs;
use crate::error::Failure;
use crate::join_all::together;
use crate::pricing::Priced;
use crate::resource::job::tables;
use crate::session::{Access, Session};
use crate::types::Outcome;
use crate::types::SubjectId;
use crate::wait::{self, Waiting};

/// Waits for all of them at once. The exit code is that of the first, as they were typed, that has
/// no result.
pub(super) async fn wait_for_all<S: Priced>(
    session: &Session,
    access: &Access<S>,
    mut ids: Vec<String>,
    args: &WaitArgs,
    download: Option<&Path>,
) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    for id in &ids {
        let addressed = Operation::JobsStatus.expand(&[id]);
        addressed.map_err(|error| Failure::usage(error.to_string()))?;
    }
    if let Some(folder) = download {
        wait::can_store(folder)?;
    }
    let waits = ids.iter().map(|id| {
        let waiting = Waiting {
            session,
            subject: access.client.job(id.as_str()),
            args,
            download,
        };
        Box::pin(async move { waiting.finish().await })
    });
    let ends = together(waits.collect()).await;
    let outcomes: Vec<Option<Outcome>> = ends.iter().map(wait::outcome_of).collect();
    let single = ends.len() == 1;
    let mut finished = Vec::new();
    let mut first_failure = None;
    for end in ends {
        match end {
            Ok(end) => finished.push(end),
            Err(failure) if single => first_failure = Some(failure),
            Err(failure) => {
                session.printer.failure(&failure);
                first_failure.get_or_insert(Failure::said(failure.exit()));
            }
        }
    }
    match finished.as_slice() {
        [] => {}
        [finished] if single => session.printer.one(finished, tables::finished)?,
        finished => session.printer.many(finished, tables::finished_list)?,
    }
    if let Ok(Some(journal)) = session.journal() {
        for (id, outcome) in ids.iter().zip(outcomes) {
            if let Some(outcome) = outcome {
                let subject = SubjectId::Job(id.clone());
                journal.settle(&access.base_url, &subject, outcome);
            }
        }
    }
    first_failure.map_or(Ok(()), Err)
}
