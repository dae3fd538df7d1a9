//! Paid requests, as recorded by the journal.
//!
//! The submit commands, `svc top-up create` and the tools of `svc mcp` share this module.

use std::time::Duration;

use serde_json::Value;
use svc_sdk::contract::{ErrorCode, Operation, RetryClass};
use svc_sdk::handle::{self, Handle};
use svc_sdk::journal::UndecidedReason;
use svc_sdk::types::{IdempotencyKey, Usd};
use svc_sdk::{Call, Client, ClientSurface, Error};

use crate::args::SurfaceChoice;
use crate::clock;
use crate::error::{Exit, Failure};
use crate::journal::{Intent, Orphan, RequestHash, Submissions};
use crate::output::Printer;
use crate::resource::{ResourceId, SubmitRequest};
use crate::session::{Access, surface_choice};
use crate::text::sanitize;

/// A request with the account that pays for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaidRequest<'a> {
    pub(crate) surface: SurfaceChoice,
    pub(crate) base_url: &'a str,
    pub(crate) key_fingerprint: &'a str,
    pub(crate) request: &'a SubmitRequest,
    /// The idempotency key that the caller chose.
    pub(crate) chosen_key: Option<&'a IdempotencyKey>,
    /// The maximum price that the caller accepts.
    pub(crate) max_price: Option<Usd>,
    /// Whether the service guarantees that requests with the same key are charged once.
    pub(crate) is_idempotent: bool,
}

impl<'a> PaidRequest<'a> {
    /// Creates a request to a surface.
    pub(crate) fn new<S: ClientSurface>(access: &'a Access<S>, request: &'a SubmitRequest) -> Self {
        Self {
            surface: surface_choice::<S>(),
            base_url: &access.base_url,
            key_fingerprint: &access.key_fingerprint,
            request,
            chosen_key: None,
            max_price: None,
            is_idempotent: request.operation.retry() == RetryClass::Key,
        }
    }

    /// Returns the hash that identifies equal requests.
    fn hash(&self) -> RequestHash {
        RequestHash::new(
            self.base_url,
            self.key_fingerprint,
            self.request.operation,
            &self.request.segments,
            &Value::Object(self.request.body.clone()),
            self.chosen_key,
        )
    }

    /// Returns the intent to be written to the journal before the request is sent.
    pub(crate) fn intent(&self, key: IdempotencyKey, price_usd: Option<Usd>) -> Intent {
        let key_part: String = key
            .as_str()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(24)
            .collect();
        let created_at = clock::now();
        Intent {
            id: format!("{:x}-{key_part}", created_at.as_nanosecond()),
            request_hash: self.hash(),
            surface: self.surface.as_str().to_owned(),
            base_url: self.base_url.to_owned(),
            key_fingerprint: self.key_fingerprint.to_owned(),
            operation: self.request.operation.name().to_owned(),
            idempotency_key: key,
            summary: summary(self.request),
            price_usd,
            max_price_usd: self.max_price,
            created_at,
        }
    }

    /// Returns what a process that is gone has left open of the request. With `is_new`, that is
    /// abandoned, so that the request is a new one.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be read or written.
    pub(crate) async fn orphan(
        &self,
        journal: &Submissions,
        is_new: bool,
    ) -> Result<Option<Orphan>, Failure> {
        let (hash, account) = (self.hash(), self.key_fingerprint);
        if is_new {
            journal.abandon(&hash, account).await?;
        }
        journal.orphan(&hash, account, self.is_idempotent).await
    }

    /// Returns whether the same request would be sent again with the same key, or is still under way.
    pub(crate) async fn can_repeat(&self, journal: Option<&Submissions>) -> bool {
        match journal {
            Some(journal) if self.is_idempotent => {
                let orphan = journal
                    .orphan(&self.hash(), self.key_fingerprint, true)
                    .await;
                !orphan.is_ok_and(|it| it.is_some_and(|orphan| orphan.undecided.is_some()))
            }
            _ => self.is_idempotent,
        }
    }

    /// Returns the failure of a request that an earlier run left open, and that cannot be sent again.
    pub(crate) fn undecided(&self, orphan: &Orphan, reason: UndecidedReason) -> Failure {
        let key = &orphan.entry.intent.idempotency_key;
        let why = match reason {
            UndecidedReason::AcceptedWithoutId => {
                "the service accepted it with a response that has no readable id"
            }
            UndecidedReason::NewerVersion => "a newer version of svc has written its journal",
            _ => return self.unresolved(orphan.age(), key),
        };
        let since = clock::format_duration(orphan.age());
        Failure::new(
            Exit::Ambiguous,
            format!(
                "the same command was run {since} ago and its outcome is unknown: {why}, so \
                resending it could charge twice"
            ),
        )
        .context("not submitted")
        .with_idempotency_key(key.as_str())
    }

    /// Returns the failure of a request whose outcome is unknown, and that cannot be sent again.
    fn unresolved(&self, age: Duration, key: &IdempotencyKey) -> Failure {
        let since = clock::format_duration(age);
        let why = match self.is_idempotent {
            true => "its idempotency key has expired",
            false => "the operation does not support idempotency keys",
        };
        let why = format!(
            "the same command was interrupted {since} ago and its outcome is unknown; {why}, so \
            resending it could charge twice"
        );
        Failure::new(Exit::Ambiguous, why)
            .context("not submitted")
            .with_idempotency_key(key.as_str())
    }
}

/// Returns the call that submits a request, and its idempotency key: the one that is given, or a
/// new one.
pub(crate) fn prepare<R: handle::Resource>(
    client: &Client<R::Surface>,
    request: &SubmitRequest,
    key: Option<IdempotencyKey>,
) -> Result<(Call<Handle<R>>, IdempotencyKey), Failure> {
    let body = Value::Object(request.body.clone());
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    let mut submit = client.submit_json::<R>(request.operation, &segments, &body);
    if let Some(key) = key {
        submit = submit.idempotency_key(key);
    }
    let request = submit.request();
    let request = request.map_err(|error| Failure::usage(error.to_string()))?;
    match request.idempotency_key.clone() {
        Some(key) => Ok((submit, key)),
        None => Err(Failure::usage("the request has no idempotency key")),
    }
}

/// Marks a failure as ambiguous if its key is in use: another request with that key is in flight.
pub(crate) fn ambiguous_if_key_in_use(failure: Failure) -> Failure {
    match failure.code() {
        Some(code) if code == ErrorCode::IdempotencyKeyInUse.as_str() => {
            failure.with_exit(Exit::Ambiguous)
        }
        _ => failure,
    }
}

/// Returns the hint on how to repeat an ambiguous submit without paying twice.
pub(crate) fn same_key_hint(key: &IdempotencyKey, is_journaled: bool) -> String {
    match is_journaled {
        true => "run the same command again on this machine: it uses the same idempotency key"
            .to_owned(),
        false => format!(
            "run the same command with --idempotency-key {key}: the same key is charged once"
        ),
    }
}

/// Prints that the resource of an open intent is resumed, without a request.
pub(crate) fn note_resumed(printer: &Printer, age: Duration, id: &ResourceId) {
    printer.note(&format!(
        "Resuming {} (submitted {} ago by the same command; pass --new to submit a new {})",
        sanitize(id.id()),
        clock::format_duration(age),
        id.noun(),
    ));
}

/// Prints that the request of an open intent is sent again.
pub(crate) fn note_resent(printer: &Printer, age: Duration) {
    printer.note(&format!(
        "Resending with the same idempotency key (the same command was interrupted {} ago)…",
        clock::format_duration(age),
    ));
}

/// Returns the failure of a submit. One that says nothing of an earlier attempt says so.
pub(crate) fn sent_failure(error: Error, journal: Option<&Submissions>) -> Failure {
    let is_unsettled = error.has_unsettled_attempt();
    let is_conflict = error.code() == Some(&ErrorCode::IdempotencyConflict);
    let failure = match journal {
        Some(journal) => journal.failure(error),
        None => Failure::from(error),
    };
    let failure = ambiguous_if_key_in_use(failure);
    match failure.exit() {
        Exit::Ambiguous => failure,
        // The key belongs to another request, which says nothing of the earlier attempt.
        _ if is_unsettled && is_conflict => {
            failure.with_unsettled_attempt().with_exit(Exit::Ambiguous)
        }
        _ if is_unsettled => failure.with_unsettled_attempt(),
        _ => failure,
    }
}

/// Describes a request without its texts.
fn summary(request: &SubmitRequest) -> String {
    let mut parts = vec![request.noun.to_owned()];
    let name = request.operation.name();
    if request.operation == Operation::Mcp
        || name.starts_with("formats_")
        || name.starts_with("actions_")
    {
        parts.push(request.segments.join("/"));
    }
    for name in [
        "model",
        "duration",
        "resolution",
        "aspect_ratio",
        "num_images",
    ] {
        match request.body.get(name) {
            Some(Value::String(text)) => parts.push(format!("{name} {text}")),
            Some(Value::Number(number)) => parts.push(format!("{name} {number}")),
            _ => {}
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_summary_contains_no_user_text() {
        let body = json!({"model": "video-f", "duration": 5, "prompt": "secret plans", "metadata": {"a": "secret"}});
        let request = SubmitRequest {
            noun: "video",
            operation: Operation::VideoGenerate,
            segments: Vec::new(),
            body: body.as_object().cloned().unwrap_or_default(),
        };
        assert_eq!(summary(&request), "video, model video-f, duration 5");
    }
}
