//! Many runs at once.

use std::collections::HashSet;
use std::path::Path;

use svc_sdk::Developer;

use super::kind::{by_kind, kind_of};
use crate::args::{KindChoice, WaitArgs};
use crate::error::Failure;
use crate::join_all::together;
use crate::resource::run::summary::{self, Verdict};
use crate::resource::run::{RunEnd, RunOf, outcome_of, tables};
use crate::resource::{Subject, Told};
use crate::session::{Access, Session};
use crate::types::Outcome;
use crate::types::SubjectId;
use crate::wait::{self, Waiting};

/// Which runs are waited for, and how.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) ids: Vec<String>,
    pub(super) kind: Option<KindChoice>,
    pub(super) args: &'a WaitArgs,
    pub(super) download: Option<&'a Path>,
    pub(super) told: Told,
}

/// Waits for all of them at once. The exit code is that of the first, as they were typed, that did
/// not complete.
pub(super) async fn wait_for_all(
    session: &Session,
    access: &Access<Developer>,
    mut wanted: Wanted<'_>,
) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    wanted.ids.retain(|id| seen.insert(id.clone()));
    if let Some(folder) = wanted.download {
        wait::can_store(folder)?;
    }
    let mut kinds = Vec::new();
    for id in &wanted.ids {
        kinds.push(kind_of(session, access, wanted.kind, id).await?);
    }
    let waits = wanted.ids.iter().zip(&kinds).map(|(id, kind)| {
        let (kind, args, download) = (*kind, wanted.args, wanted.download);
        Box::pin(async move {
            by_kind!(kind, K => {
                let subject = K::take_up(&access.client, id);
                Box::pin(Waiting { session, subject, args, download }.finish()).await
            })
        })
    });
    let ends = together(waits.collect()).await;
    let outcomes: Vec<Option<Outcome>> = ends.iter().map(outcome).collect();
    let told = match (<[_; 1]>::try_from(ends), kinds.as_slice(), &*wanted.ids) {
        (Ok([Ok(end)]), [kind], [id]) => {
            by_kind!(*kind, K => K::take_up(&access.client, id).tell(session, &end, wanted.told))
        }
        (Ok([Err(failure)]), ..) => Err(failure),
        (Ok([Ok(_)]), ..) => Ok(()),
        (Err(ends), kinds, _) => tell_all(session, ends, &wanted.ids, kinds),
    };
    if let Ok(Some(journal)) = session.journal() {
        for (id, outcome) in wanted.ids.iter().zip(outcomes) {
            if let Some(outcome) = outcome {
                let subject = SubjectId::Run(id.clone());
                journal.settle(&access.base_url, &subject, outcome);
            }
        }
    }
    told
}

fn tell_all(
    session: &Session,
    ends: Vec<Result<RunEnd, Failure>>,
    ids: &[String],
    kinds: &[KindChoice],
) -> Result<(), Failure> {
    let mut ended = Vec::new();
    let mut failures = Vec::new();
    for ((end, id), kind) in ends.into_iter().zip(ids).zip(kinds) {
        match end {
            Ok(end) => {
                let stored = end.files.is_some();
                match summary::of(session, id, &end.receipt, kind.as_str(), stored) {
                    Verdict::Good(sentence) => session.printer.note(&sentence),
                    Verdict::Short(sentence, _) => session.printer.warn(&sentence),
                    Verdict::Bad(failure) => failures.push(failure),
                }
                ended.push(end);
            }
            Err(failure) => failures.push(failure),
        }
    }
    if !ended.is_empty() {
        session.printer.many(&ended, tables::finished_list)?;
    }
    for failure in &failures {
        session.printer.failure(failure);
    }
    let first = failures.first();
    first.map_or(Ok(()), |failure| Err(Failure::said(failure.exit())))
}

/// What a person was told of a run's end.
fn outcome(end: &Result<RunEnd, Failure>) -> Option<Outcome> {
    match end {
        Ok(end) => outcome_of(&end.receipt.status),
        Err(failure) => failure.outcome(),
    }
}
