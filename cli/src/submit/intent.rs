//! The intent of a submit: what the journal is told, and when it is closed.

use serde_json::Value;
use svc_sdk::types::IdempotencyKey;

use super::Submission;
use crate::clock;
use crate::error::Exit;
use crate::error::Failure;
use crate::journal::{Intent, Journal, OpenIntent, RequestHash};
use crate::pricing::Price;
use crate::resource::Resource;
use crate::session::surface_choice;
use crate::types::{Outcome, SubmitRequest};

impl<H: Resource> Submission<'_, H> {
    pub(super) fn hash(&self) -> RequestHash {
        RequestHash::of(
            &self.access.base_url,
            &self.access.key_fingerprint,
            self.request.operation,
            &self.request.segments,
            &Value::Object(self.request.body.clone()),
            self.options.spending.idempotency_key.as_ref(),
        )
    }

    pub(super) fn intent(&self, hash: RequestHash, key: IdempotencyKey, price: &Price) -> Intent {
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
            surface: surface_choice::<H::Surface>().as_str().to_owned(),
            base_url: self.access.base_url.clone(),
            key_fingerprint: self.access.key_fingerprint.clone(),
            operation: self.request.operation.name().to_owned(),
            idempotency_key: key,
            summary: summary(self.request),
            price_usd: price.estimate().map(|it| it.price_usd),
            max_price_usd: self.options.spending.max_price,
            created_at,
        }
    }

    pub(super) fn record_receipt(&self, intent: &mut OpenIntent, resource: &H) {
        let id = resource.resource_id();
        let noun = id.noun();
        if let Err(error) = intent.receipt(id, resource.request_id(), resource.charge()) {
            self.session.printer.warn(&format!(
                "the journal could not be written ({error}); note the {noun}'s id"
            ));
        }
    }

    /// Closes an intent that the service refused. What is ambiguous stays open.
    pub(super) fn close_refused(&self, intent: OpenIntent, failure: &Failure, is_retry: bool) {
        let outcome = match (failure.exit(), failure.status()) {
            (Exit::Ambiguous | Exit::Interrupted, _) => None,
            // Nobody promises that a 500 did nothing; with the same key it does no harm.
            (Exit::Failure, Some(500..)) => None,
            // What was turned away at the door says nothing about the first time.
            (Exit::Unreachable | Exit::NotAllowed | Exit::Overloaded, _) if is_retry => None,
            (Exit::Unreachable, _) => Some(Outcome::NotSent),
            _ => Some(Outcome::Refused),
        };
        if let Some(outcome) = outcome
            && let Err(error) = intent.close(outcome)
        {
            self.session
                .printer
                .warn(&format!("the journal could not be closed: {error}"));
        }
    }

    pub(super) fn abandon(&self, journal: &Journal, hash: &RequestHash) -> Result<(), Failure> {
        while let Some(intent) = journal.reopen(hash)? {
            intent.close(Outcome::Abandoned).map_err(|error| {
                Failure::other(format!(
                    "the journal cannot be written: {error}; nothing was sent"
                ))
            })?;
        }
        Ok(())
    }
}

/// What was ordered, without its texts.
fn summary(request: &SubmitRequest) -> String {
    let mut parts = vec![request.noun.to_owned()];
    let name = request.operation.name();
    if name.starts_with("formats_") || name.starts_with("actions_") {
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
    use svc_sdk::contract::Operation;

    use super::*;

    #[test]
    fn a_summary_has_no_text_of_the_person() {
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
