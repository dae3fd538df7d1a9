//! Idempotency keys of operations for which the service documents none.
//!
//! Only the journal of this machine knows what was submitted with such a key.

use svc_sdk::types::IdempotencyKey;

use crate::args::JournalArgs;
use crate::clock;
use crate::error::Failure;
use crate::resource::{Outcome, ResourceId};
use crate::session::Session;
use crate::submit::paid_request::PaidRequest;
use crate::text::sanitize;

/// Returns what was submitted from this machine with the key that the caller chose, if the service would
/// not recognize the key and the outcome was reported.
pub(super) async fn submitted_with_key(
    session: &Session,
    paid: &PaidRequest<'_>,
    args: JournalArgs,
) -> Result<Option<ResourceId>, Failure> {
    let Some(key) = paid.chosen_key else { return Ok(None) };
    if paid.is_idempotent || session.is_sandbox() {
        return Ok(None);
    }
    check_flags(args, key)?;
    session.printer.note(
        "note: the service does not document keys here; only this machine's journal protects",
    );
    let hash = paid.hash();
    let mut entries = session.submitted().await?;
    entries.retain(|entry| {
        let was_carried_out = !matches!(
            entry.outcome,
            Some(Outcome::Refused | Outcome::NotSent | Outcome::Abandoned)
        );
        entry.idempotency_key == *key
            && entry.base_url == paid.base_url
            && entry.key_fingerprint == paid.key_fingerprint
            && was_carried_out
    });
    if !entries.is_empty() && entries.iter().all(|entry| entry.request_hash != hash) {
        let why = format!("the idempotency key {key} was used for another request");
        return Err(Failure::usage(why).context("not submitted").hint("choose another key"));
    }
    // One whose outcome was not reported is resumed.
    let found = entries.into_iter().find(|entry| entry.outcome.is_some());
    let Some(entry) = found else { return Ok(None) };
    let Some(id) = entry.resource else { return Ok(None) };
    let age = clock::format_duration(clock::elapsed(clock::now(), entry.created_at));
    session.printer.note(&format!(
        "Found {} {} (submitted {age} ago with this idempotency key); nothing was sent",
        id.noun(),
        sanitize(id.id())
    ));
    Ok(Some(id))
}

fn check_flags(args: JournalArgs, key: &IdempotencyKey) -> Result<(), Failure> {
    let flag = match (args.new, args.no_journal) {
        (true, _) => "--new",
        (_, true) => "--no-journal",
        _ => return Ok(()),
    };
    let why = format!(
        "{flag} and --idempotency-key {key} cannot be used together: the service does not document \
         keys here, so that only the journal of this machine recognizes it"
    );
    Err(Failure::usage(why).context("not submitted"))
}
