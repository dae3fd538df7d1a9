//! A request that was let in, as its operation sees it.

use http::HeaderMap;
use serde_json::{Value, json};
use svc_sdk::contract::limits::IDEMPOTENCY_KEY_LENGTH;
use svc_sdk::contract::{ErrorCode, Operation};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::strict_json;
use crate::engine::idempotency::{IdempotencyKey, KeyLookup};
use crate::engine::keys::ApiKey;
use crate::engine::url_placeholders::{insert_placeholders, resolve_placeholders};
use crate::engine::{Host, Hosts, State, Time};

/// A request that was let in.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) hosts: &'a Hosts,
    pub(crate) host: Host,
    pub(crate) operation: Operation,
    /// The values of the path's placeholders.
    pub(crate) segments: Vec<String>,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Option<Value>,
    /// None on public routes only.
    pub(crate) caller: Option<ApiKey>,
    pub(crate) request_id: &'a str,
    /// What a create may cost at most; only MCP says.
    pub(crate) max_spend: Option<Usd>,
}

/// The idempotency key of a create that has not been done before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdempotencySlot {
    entry: Option<(IdempotencyKey, String)>,
}

impl Request<'_> {
    pub(crate) fn now(&self) -> Time {
        self.state.now
    }

    /// The workspace of the key.
    pub(crate) fn workspace(&self) -> &str {
        self.caller
            .as_ref()
            .map_or("", |key| key.workspace.as_str())
    }

    /// The value of the path's first placeholder.
    pub(crate) fn id(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }

    /// The body, which has to be there.
    pub(crate) fn body(&self) -> Result<&Value, ApiError> {
        self.body
            .as_ref()
            .ok_or_else(|| ApiError::field("body", "is required: a JSON object"))
    }

    /// Refuses any field, where no body is needed.
    pub(crate) fn deny_body_fields(&self) -> Result<(), ApiError> {
        match &self.body {
            None => Ok(()),
            Some(body) => {
                super::fields::Fields::of_body(body)?.deny_unknown(|_| false, "this operation")
            }
        }
    }

    /// A query parameter, which may come once.
    pub(crate) fn parameter(&self, name: &str) -> Result<Option<String>, ApiError> {
        let mut values = url::form_urlencoded::parse(self.query.as_bytes())
            .filter_map(|(key, value)| (key == name).then(|| value.into_owned()));
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ApiError::field(name, "must be given once")),
            (value, None) => Ok(value),
        }
    }

    /// What the idempotency key says: the receipt of the same create done before, or leave to do
    /// it once. Operations whose idempotency is not documented ignore the header.
    pub(crate) fn replay(&self) -> Result<Result<Value, IdempotencySlot>, ApiError> {
        // What the path names is part of what is asked for.
        let body = self.body.as_ref().unwrap_or(&Value::Null);
        let digest = match self.segments.as_slice() {
            [] => strict_json::digest(body),
            segments => strict_json::digest(&json!([segments, body])),
        };
        self.replay_for(self.operation.name(), digest)
    }

    /// The same for a key that is kept for `what`, where the path is not all that tells one create
    /// from another. `digest` is the digest of what is asked for.
    pub(crate) fn replay_for(
        &self,
        what: &str,
        digest: String,
    ) -> Result<Result<Value, IdempotencySlot>, ApiError> {
        if !self.operation.retry().sends_key() {
            return Ok(Err(IdempotencySlot { entry: None }));
        }
        let Some(key) = idempotency_key(self.headers)? else {
            return Ok(Err(IdempotencySlot { entry: None }));
        };
        let key = IdempotencyKey {
            workspace: self.workspace().to_owned(),
            operation: what.to_owned(),
            key,
        };
        match self.state.idempotency.look_up(&key, &digest) {
            KeyLookup::Unused => Ok(Err(IdempotencySlot {
                entry: Some((key, digest)),
            })),
            KeyLookup::Replay(receipt) => Ok(Ok(resolve_placeholders(receipt, self.hosts))),
            KeyLookup::Conflict(original) => {
                let message = "The Idempotency-Key was used for a different request.";
                let error = ApiError::new(ErrorCode::IdempotencyConflict, message);
                Err(match original.get("queue_id") {
                    // A bulk create says which queue it made.
                    Some(id) if original.get("items").is_some() => {
                        error.detail("queue_id", id.clone())
                    }
                    _ => error,
                })
            }
        }
    }

    /// Refuses what would or might cost more than the caller lets it.
    pub(crate) fn check_max_spend(&self, cost: Usd) -> Result<(), ApiError> {
        let Some(max_spend) = self.max_spend.filter(|max_spend| cost > *max_spend) else {
            return Ok(());
        };
        let code = ErrorCode::Other("max_spend_exceeded".to_owned());
        let message = format!("This may cost {cost} USD, which is over max_spend_usd {max_spend}.");
        Err(ApiError::new(code, message)
            .detail("estimate_usd", json!(cost))
            .detail("max_spend_usd", json!(max_spend)))
    }

    /// Keeps the receipt of a create for those who send it again.
    pub(crate) fn store_receipt(&mut self, slot: IdempotencySlot, receipt: &Value) {
        if let Some((key, body)) = slot.entry {
            let now = self.now();
            let receipt = insert_placeholders(receipt.clone(), self.hosts);
            self.state.idempotency.store(key, body, receipt, now);
        }
    }
}

/// The `Idempotency-Key` header: 1 to 255 printable ASCII characters.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all("idempotency-key").iter();
    let (Some(value), another) = (values.next(), values.next()) else {
        return Ok(None);
    };
    // Blanks around a value are not part of it.
    let key = value.as_bytes().trim_ascii();
    let printable = key.iter().all(|byte| (b' '..=b'~').contains(byte));
    match std::str::from_utf8(key) {
        Ok(key)
            if printable && another.is_none() && IDEMPOTENCY_KEY_LENGTH.contains(&key.len()) =>
        {
            Ok(Some(key.to_owned()))
        }
        _ => {
            let message =
                "`Idempotency-Key` must be 1 to 255 printable ASCII characters, given once";
            let error = ApiError::new(ErrorCode::InvalidRequest, message);
            Err(error.detail("field", json!("Idempotency-Key")))
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn key(values: &[&[u8]]) -> Result<Option<String>, ApiError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("idempotency-key", HeaderValue::from_bytes(value).unwrap());
        }
        idempotency_key(&headers)
    }

    #[test]
    fn only_printable_ascii_of_1_to_255_is_an_idempotency_key() {
        assert_eq!(key(&[]), Ok(None));
        for good in ["a", "~ !", &"k".repeat(255)] {
            assert_eq!(key(&[good.as_bytes()]), Ok(Some(good.to_owned())));
        }
        let long = "k".repeat(256);
        let bad: [&[u8]; 6] = [b"", b"  ", b"a\tb", b"\xc3\xa4", b"\xff", long.as_bytes()];
        for value in bad {
            assert_eq!(
                key(&[value]).unwrap_err().field_name(),
                Some("Idempotency-Key"),
                "{value:?}"
            );
        }
        assert!(key(&[b"a", b"a"]).is_err());
    }
}
