//! The kind of a run: given by a flag, found in the journal, or found by asking the service.

use svc_sdk::Developer;

use crate::args::RunKindChoice;
use crate::error::{Exit, Failure};
use crate::resource::run::{RunKind, kind_of_operation};
use crate::session::{Access, Session};
use crate::types::ResourceId;

/// Evaluates `$body` with `$K` as the type of the run.
macro_rules! by_kind {
    ($kind:expr, $K:ident => $body:expr) => {
        match $kind {
            $crate::args::RunKindChoice::Action => {
                type $K = svc_sdk::handle::ActionRun;
                $body
            }
            $crate::args::RunKindChoice::Format => {
                type $K = svc_sdk::handle::FormatRun;
                $body
            }
            $crate::args::RunKindChoice::Agent => {
                type $K = svc_sdk::handle::AgentRun;
                $body
            }
        }
    };
}
pub(in crate::commands) use by_kind;

/// Returns the kind of a run.
///
/// # Errors
///
/// Returns an error if the kind is not given and the service does not find the run.
pub(super) async fn resolve_kind(
    session: &Session,
    access: &Access<Developer>,
    given: Option<RunKindChoice>,
    id: &str,
) -> Result<RunKindChoice, Failure> {
    if let Some(kind) = given.or_else(|| kind_from_history(session, access, id)) {
        return Ok(kind);
    }
    let mut forbidden = None;
    for kind in RunKindChoice::ALL {
        match probe(access, kind, id).await {
            Ok(()) => return Ok(kind),
            Err(error) if error.is_not_found() => {}
            // A key without access to one kind may have access to another.
            Err(error) if error.is_forbidden() => forbidden = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    let id = ResourceId::Run(id.to_owned());
    Err(match forbidden {
        Some(error) => Failure::from(error)
            .context("could not determine the kind of the run")
            .for_resource(id)
            .hint("pass --kind action, --kind format or --kind agent"),
        None => Failure::new(Exit::NotFound, "no run with this id was found").for_resource(id),
    })
}

/// Returns the kind of a run that was started from this machine.
pub(super) fn kind_from_history(
    session: &Session,
    access: &Access<Developer>,
    id: &str,
) -> Option<RunKindChoice> {
    let entries = session.journal().ok()??.entries().ok()?;
    let entry = entries.into_iter().find(|entry| {
        let is_it = matches!(&entry.resource, Some(ResourceId::Run(known)) if known == id);
        is_it && entry.intent.base_url == access.base_url
    })?;
    kind_of_operation(&entry.intent.operation)
}

async fn probe(
    access: &Access<Developer>,
    kind: RunKindChoice,
    id: &str,
) -> Result<(), svc_sdk::Error> {
    by_kind!(kind, K => K::handle(&access.client, id).status().await.map(|_| ()))
}
