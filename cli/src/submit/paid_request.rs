//! Paid requests, as recorded by the journal.
//!
//! The submit commands, `svc top-up create` and the tools of `svc mcp` share this module.

use std::time::Duration;

use serde_json::Value;
use svc_sdk::contract::limits::IDEMPOTENCY_RETENTION;
use svc_sdk::contract::{ErrorCode, Operation, RetryClass};
use svc_sdk::handle::{self, Handle};
use svc_sdk::types::{IdempotencyKey, Usd};
use svc_sdk::{Call, Client, Surface};

use crate::args::SurfaceChoice;
use crate::clock;
use crate::error::{Exit, Failure};
use crate::journal::{Intent, Journal, OpenIntent, RequestHash};
use crate::output::Printer;
use crate::session::{Access, surface_choice};
use crate::text::sanitize;
use crate::types::{Outcome, ResourceId, SubmitRequest};

/// How long the service is guaranteed to keep an idempotency key. The margin covers clock skew and
/// the time of retries.
pub(crate) const KEY_RETENTION: Duration =
    IDEMPOTENCY_RETENTION.saturating_sub(Duration::from_secs(600));

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
    pub(crate) fn new<S: Surface>(access: &'a Access<S>, request: &'a SubmitRequest) -> Self {
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
    pub(crate) fn hash(&self) -> RequestHash {
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
    pub(crate) fn intent(
        &self,
        hash: RequestHash,
        key: IdempotencyKey,
        price_usd: Option<Usd>,
    ) -> Intent {
        let key_part: String = key
            .as_str()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(24)
            .collect();
        let created_at = clock::now();
        Intent {
            id: format!("{:x}-{key_part}", created_at.as_nanosecond()),
            request_hash: hash,
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

    /// Returns whether the request of an open intent can be sent again without paying twice.
    pub(crate) fn can_resend(&self, intent: &OpenIntent) -> bool {
        self.is_idempotent && age(intent) < KEY_RETENTION
    }

    /// Returns the failure of a request whose outcome is unknown, and that cannot be sent again.
    pub(crate) fn unresolved(&self, intent: &OpenIntent) -> Failure {
        let since = clock::format_duration(age(intent));
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
            .with_idempotency_key(intent.entry().intent.idempotency_key.as_str())
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

/// Returns the outcome of a failed submit, or `None` if it is unknown.
///
/// `is_retry` is whether an earlier attempt with the same key may have been carried out.
pub(crate) fn failed_outcome(failure: &Failure, is_retry: bool) -> Option<Outcome> {
    match failure.exit() {
        Exit::Ambiguous | Exit::Interrupted => None,
        _ if is_retry && !settles_earlier_attempt(failure) => None,
        Exit::Unreachable => Some(Outcome::NotSent),
        _ => Some(Outcome::Refused),
    }
}

/// Returns whether a failure also tells the outcome of an earlier attempt with the same key.
///
/// The service checks credentials, permissions, funds, limits, the existence of resources and their
/// state before it looks up the key, so such a rejection reveals nothing about the earlier attempt.
fn settles_earlier_attempt(failure: &Failure) -> bool {
    let code = failure.code().map(ErrorCode::from);
    // The error of an MCP tool has a code, but no status.
    let default_status = || code.as_ref()?.defaults()?.status;
    match failure.status().or_else(default_status) {
        Some(409) => code == Some(ErrorCode::IdempotencyConflict),
        Some(401..=404 | 429) => false,
        Some(400..=499) => failure.exit() != Exit::Overloaded,
        _ => false,
    }
}

/// Closes the intent of a failed submit, unless the outcome is unknown.
///
/// Returns the failure. If only the outcome of an earlier attempt is unknown, it says so.
pub(crate) fn close_failed(
    printer: &Printer,
    intent: OpenIntent,
    failure: Failure,
    is_retry: bool,
) -> Failure {
    match failed_outcome(&failure, is_retry) {
        Some(outcome) => {
            close(printer, intent, outcome);
            failure
        }
        None if failure.exit() == Exit::Ambiguous => failure,
        None => failure.with_unsettled_attempt(),
    }
}

/// Closes an intent. If it cannot be written, the same command merely resumes it.
pub(crate) fn close(printer: &Printer, intent: OpenIntent, outcome: Outcome) {
    if let Err(error) = intent.close(outcome) {
        printer.warn(&format!("cannot write to the journal: {error}"));
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
pub(crate) fn note_resumed(printer: &Printer, intent: &OpenIntent, id: &ResourceId) {
    printer.note(&format!(
        "Resuming {} (submitted {} ago by the same command; pass --new to submit a new {})",
        sanitize(id.id()),
        clock::format_duration(age(intent)),
        id.noun(),
    ));
}

/// Prints that the request of an open intent is sent again.
pub(crate) fn note_resent(printer: &Printer, intent: &OpenIntent) {
    printer.note(&format!(
        "Resending with the same idempotency key (the same command was interrupted {} ago)…",
        clock::format_duration(age(intent)),
    ));
}

/// Closes every open intent of a request as abandoned, so that the next call is a new one.
///
/// # Errors
///
/// Returns an error if the journal cannot be read or written.
pub(crate) fn abandon(journal: &Journal, hash: &RequestHash) -> Result<(), Failure> {
    while let Some(intent) = journal.reopen(hash)? {
        intent.close(Outcome::Abandoned).map_err(|error| {
            Failure::other(format!(
                "cannot write to the journal: {error}; nothing was sent"
            ))
        })?;
    }
    Ok(())
}

/// Returns the time since an intent was written.
pub(crate) fn age(intent: &OpenIntent) -> Duration {
    clock::elapsed(clock::now(), intent.entry().intent.created_at)
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
    use serde_json::json;

    use super::*;

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

    #[test]
    fn only_a_processed_request_reveals_the_outcome_of_an_earlier_attempt() {
        let outcome = |status: Option<u16>, code: &str| {
            let exit = status.map_or(Exit::Failure, Exit::from_status);
            let failure = Failure::new(exit, "refused").with_response(
                Some(code.to_owned()),
                status,
                None,
                None,
            );
            failed_outcome(&ambiguous_if_key_in_use(failure), true)
        };
        for status in [400, 413, 415, 422] {
            assert_eq!(
                outcome(Some(status), "x"),
                Some(Outcome::Refused),
                "{status}"
            );
        }
        for status in [401, 402, 403, 404, 409, 429, 500, 502, 503, 504] {
            assert_eq!(outcome(Some(status), "x"), None, "{status}");
        }
        assert_eq!(outcome(Some(409), "idempotency_key_in_use"), None);
        let conflict = outcome(Some(409), "idempotency_conflict");
        assert_eq!(conflict, Some(Outcome::Refused));
        assert_eq!(outcome(None, "invalid_request"), Some(Outcome::Refused));
        assert_eq!(outcome(None, "insufficient_funds"), None);
        assert_eq!(outcome(None, "x"), None);
    }
}
