//! The intent of a submit: what the journal is told, and when it is closed.

use serde_json::Value;
use svc_sdk::types::IdempotencyKey;

use super::Submission;
use crate::clock;
use crate::error::Exit;
use crate::error::Failure;
use crate::journal::{Intent, Journal, OpenIntent, RequestHash};
use crate::pricing::Price;
use crate::resource::Subject;
use crate::session::choice;
use crate::types::{Order, Outcome};

impl<H: Subject> Submission<'_, H> {
    pub(super) fn hash(&self) -> RequestHash {
        RequestHash::of(
            &self.access.base_url,
            &self.access.key_fingerprint,
            self.order.operation,
            &self.order.segments,
            &Value::Object(self.order.body.clone()),
            self.terms.money.idempotency_key.as_ref(),
        )
    }

    pub(super) fn intent(&self, hash: RequestHash, key: IdempotencyKey, price: &Price) -> Intent {
        let made: String = key
            .as_str()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(24)
            .collect();
        let created_at = clock::now();
        Intent {
            id: format!("{:x}-{made}", created_at.as_nanosecond()),
            request_hash: hash,
            surface: choice::<H::Surface>().as_str().to_owned(),
            base_url: self.access.base_url.clone(),
            key_fingerprint: self.access.key_fingerprint.clone(),
            operation: self.order.operation.name().to_owned(),
            idempotency_key: key,
            summary: summary(self.order),
            price_usd: price.estimate().map(|it| it.price_usd),
            max_price_usd: self.terms.money.max_price,
            created_at,
        }
    }

    pub(super) fn note_receipt(&self, intent: &mut OpenIntent, subject: &H) {
        let id = subject.subject_id();
        let noun = id.noun();
        if let Err(error) = intent.receipt(id, subject.started_by(), subject.charge()) {
            self.session.printer.warn(&format!(
                "the journal could not be written ({error}); note the {noun}'s id"
            ));
        }
    }

    /// Closes an intent that the service refused. What is ambiguous stays open.
    pub(super) fn close_refused(&self, intent: OpenIntent, failure: &Failure, repeated: bool) {
        let outcome = match (failure.exit(), failure.status()) {
            (Exit::Ambiguous | Exit::Interrupted, _) => None,
            // Nobody promises that a 500 did nothing; with the same key it does no harm.
            (Exit::Failure, Some(500..)) => None,
            // What was turned away at the door says nothing about the first time.
            (Exit::Unreachable | Exit::NotAllowed | Exit::Overloaded, _) if repeated => None,
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
        while let Some(intent) = journal.take_up(hash)? {
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
fn summary(order: &Order) -> String {
    let mut parts = vec![order.noun.to_owned()];
    let name = order.operation.name();
    if name.starts_with("formats_") || name.starts_with("actions_") {
        parts.push(order.segments.join("/"));
    }
    for name in [
        "model",
        "duration",
        "resolution",
        "aspect_ratio",
        "num_images",
    ] {
        match order.body.get(name) {
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
        let order = Order {
            noun: "video",
            operation: Operation::VideoGenerate,
            segments: Vec::new(),
            body: body.as_object().cloned().unwrap_or_default(),
        };
        assert_eq!(summary(&order), "video, model video-f, duration 5");
    }
}
