//! What a run is a run of: as it was said, as the history knows it, or as the service answers.

use svc_sdk::Developer;

use crate::args::RunKindChoice;
use crate::error::{Exit, Failure};
use crate::resource::run::{RunKind, kind_of_operation};
use crate::session::{Access, Session};
use crate::types::ResourceId;

/// Does something with a run of whatever kind: `$kind` becomes the type `$K`.
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
pub(super) use by_kind;

/// What a run is a run of.
pub(super) async fn resolve_kind(
    session: &Session,
    access: &Access<Developer>,
    given: Option<RunKindChoice>,
    id: &str,
) -> Result<RunKindChoice, Failure> {
    if let Some(kind) = given.or_else(|| kind_from_history(session, access, id)) {
        return Ok(kind);
    }
    let mut refused = None;
    for kind in RunKindChoice::ALL {
        match probe(access, kind, id).await {
            Ok(()) => return Ok(kind),
            Err(error) if error.is_not_found() => {}
            // A key that may not read one kind may well read another.
            Err(error) if error.is_forbidden() => refused = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    let id = ResourceId::Run(id.to_owned());
    Err(match refused {
        Some(error) => Failure::from(error)
            .context("could not find out what it is a run of")
            .for_resource(id)
            .hint("say it with --kind action, format or agent"),
        None => Failure::new(
            Exit::NotFound,
            "no Format, Agent Completion or Action has a run of that id",
        )
        .for_resource(id),
    })
}

/// The kind of a run that this machine started.
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
