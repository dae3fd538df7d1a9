//! What a run is a run of: as it was said, as the history knows it, or as the service answers.

use svc_sdk::Developer;

use crate::args::KindChoice;
use crate::error::Exit;
use crate::error::Failure;
use crate::resource::run::{RunOf, kind_started_by};
use crate::session::{Access, Session};
use crate::types::SubjectId;

/// Does something with a run of whatever kind: `$kind` becomes the type `$K`.
macro_rules! by_kind {
    ($kind:expr, $K:ident => $body:expr) => {
        match $kind {
            $crate::args::KindChoice::Action => {
                type $K = svc_sdk::runs::ActionRun;
                $body
            }
            $crate::args::KindChoice::Format => {
                type $K = svc_sdk::runs::FormatRun;
                $body
            }
            $crate::args::KindChoice::Agent => {
                type $K = svc_sdk::runs::AgentRun;
                $body
            }
        }
    };
}
pub(super) use by_kind;

/// What a run is a run of.
pub(super) async fn kind_of(
    session: &Session,
    access: &Access<Developer>,
    given: Option<KindChoice>,
    id: &str,
) -> Result<KindChoice, Failure> {
    if let Some(kind) = given.or_else(|| remembered(session, access, id)) {
        return Ok(kind);
    }
    let mut refused = None;
    for kind in KindChoice::ALL {
        match is_one(access, kind, id).await {
            Ok(()) => return Ok(kind),
            Err(error) if error.is_not_found() => {}
            // A key that may not read one kind may well read another.
            Err(error) if error.is_forbidden() => refused = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    let id = SubjectId::Run(id.to_owned());
    Err(match refused {
        Some(error) => Failure::from(error)
            .during("could not find out what it is a run of")
            .about(id)
            .next("say it with --kind action, format or agent"),
        None => Failure::new(
            Exit::NotFound,
            "no Format, Agent Completion or Action has a run of that id",
        )
        .about(id),
    })
}

/// The kind of a run that this machine started.
pub(super) fn remembered(
    session: &Session,
    access: &Access<Developer>,
    id: &str,
) -> Option<KindChoice> {
    let entries = session.journal().ok()??.entries().ok()?;
    let entry = entries.into_iter().find(|entry| {
        let is_it = matches!(&entry.subject, Some(SubjectId::Run(known)) if known == id);
        is_it && entry.intent.base_url == access.base_url
    })?;
    kind_started_by(&entry.intent.operation)
}

async fn is_one(
    access: &Access<Developer>,
    kind: KindChoice,
    id: &str,
) -> Result<(), svc_sdk::Error> {
    by_kind!(kind, K => K::take_up(&access.client, id).status().await.map(|_| ()))
}
