//! One request of the service for a tool, answered with JSON or with a refusal that a model can
//! read.

use serde_json::{Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::types::IdempotencyKey;
use svc_sdk::{Client, Error, Surface};

/// Why a tool did nothing, or may have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    /// As the service writes its errors.
    pub(super) envelope: Value,
    /// Whether it may have been done all the same.
    pub(super) is_ambiguous: bool,
    /// Whether it says what became of every earlier attempt under the same key too: only the service
    /// can, and only once it has looked for the key.
    pub(super) is_settled: bool,
}

impl Refusal {
    /// Our own: nothing was sent.
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            envelope: json!({"error": {"code": code, "message": message.into()}}),
            is_ambiguous: false,
            is_settled: false,
        }
    }

    /// The service's own.
    fn answered(status: u16, envelope: Value) -> Self {
        let at_the_door = matches!(status, 401 | 403 | 429 | 500..);
        let later = envelope.pointer("/error/retryable") == Some(&Value::Bool(true));
        Self {
            envelope,
            is_ambiguous: false,
            is_settled: !at_the_door && !later,
        }
    }

    /// With one more of the error's fields.
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        if let Some(error) = self
            .envelope
            .get_mut("error")
            .and_then(Value::as_object_mut)
        {
            error.insert(name.to_owned(), value);
        }
        self
    }

    /// The error's code.
    pub(super) fn code(&self) -> &str {
        let code = self.envelope.pointer("/error/code");
        code.and_then(Value::as_str).unwrap_or_default()
    }

    fn of(error: &Error) -> Self {
        let code = error.code().map_or("no_answer", |code| code.as_str());
        Self {
            is_ambiguous: error.is_ambiguous(),
            ..Self::new(code, error.to_string())
        }
    }
}

/// A request: an operation, and what it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    pub(super) operation: Operation,
    pub(super) segments: &'a [&'a str],
    pub(super) body: Option<&'a Value>,
    pub(super) key: Option<&'a IdempotencyKey>,
}

impl<'a> Ask<'a> {
    /// A read.
    pub(super) fn read(operation: Operation, segments: &'a [&'a str]) -> Self {
        Self {
            operation,
            segments,
            body: None,
            key: None,
        }
    }

    /// Asks, and gives what stands in `data`.
    pub(super) async fn of<S: Surface>(self, client: &Client<S>) -> Result<Value, Refusal> {
        let path = self.operation.expand(self.segments);
        let path = path.map_err(|error| Refusal::new("invalid_request", error.to_string()))?;
        let mut raw = client.raw(self.operation.method(), &path);
        if let Some(body) = self.body {
            raw = raw.body(body);
        }
        if let Some(key) = self.key {
            raw = raw.with_idempotency_key(key.clone());
        }
        let response = raw.send().await.map_err(|error| Refusal::of(&error))?;
        let body: Option<Value> = serde_json::from_slice(&response.body).ok();
        let is_success = (200..300).contains(&response.status);
        match body {
            Some(mut body) if is_success => Ok(body
                .get_mut("data")
                .map_or_else(|| Value::Null, Value::take)),
            Some(envelope) if envelope.pointer("/error/code").is_some() => {
                Err(Refusal::answered(response.status, envelope))
            }
            _ => {
                let message = format!("the answer ({}) cannot be read", response.status);
                Err(Refusal {
                    is_ambiguous: is_success || response.status >= 500,
                    ..Refusal::new("no_answer", message)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_knew_of_the_key_settles_what_was_sent_before() {
        let settled = |status, retryable| {
            let envelope = json!({"error": {"code": "x", "retryable": retryable}});
            Refusal::answered(status, envelope).is_settled
        };
        for status in [400, 402, 404, 409, 413] {
            assert!(settled(status, false), "{status}");
        }
        for status in [401, 403, 429, 500, 503] {
            assert!(!settled(status, false), "{status}");
        }
        assert!(!settled(409, true), "the key is in use: it goes on");
    }
}
