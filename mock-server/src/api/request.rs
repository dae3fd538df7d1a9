//! Requests that passed the checks, as handlers receive them.

use http::HeaderMap;
use serde_json::{Value, json};
use svc_sdk::contract::limits::IDEMPOTENCY_KEY_LENGTH_RANGE;
use svc_sdk::contract::{ErrorCode, Operation, RetryClass};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::fields::Fields;
use super::job_view::JobReceipt;
use super::references::References;
use super::response::{ApiResponse, ApiResult};
use super::strict_json;
use crate::engine::directives::Directives;
use crate::engine::idempotency::{BodyDigest, IdempotencyKey, KeyLookup, StoredReceipt};
use crate::engine::jobs::Job;
use crate::engine::json_text::JsonText;
use crate::engine::keys::{ApiKey, OperationName, Source};
use crate::engine::url_placeholders::{insert_placeholders, resolve_placeholders};
use crate::engine::{Host, Hosts, State, Time, UndocumentedKeys};

#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) state: &'a mut State,
    pub(super) hosts: &'a Hosts,
    pub(super) host: Host,
    pub(super) operation: Operation,
    /// The values of the parameters in the path.
    pub(super) segments: &'a [String],
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: Option<Value>,
    /// The key of the caller. `None` on public routes only.
    pub(super) caller: Option<&'a ApiKey>,
    pub(super) request_id: &'a str,
    /// The maximum cost of a create. Only MCP tools have such a limit.
    pub(super) max_spend: Option<Usd>,
}

/// The response to a create, and the receipt that repeated requests get.
pub(super) type Created = Result<(ApiResponse, StoredReceipt), ApiError>;

impl Request<'_> {
    pub(super) fn now(&self) -> Time {
        self.state.now
    }

    pub(super) fn workspace(&self) -> &str {
        self.caller.map_or("", |key| &*key.workspace)
    }

    /// Returns what submitted the request; `None` on public routes.
    pub(super) fn source(&self) -> Option<Source> {
        let key = self.caller?.id.clone();
        Some(Source { key, operation: OperationName(self.operation) })
    }

    /// Returns the directives that apply to this request, and counts it for those with `times`.
    pub(super) fn apply_directives(&mut self, directives: &Directives) -> Directives {
        let (workspace, operation) = (self.workspace().to_owned(), self.operation.name());
        let applicable = self.state.applicable(&workspace, operation, directives);
        self.state.count_directives(&workspace, operation, directives);
        applicable
    }

    pub(super) fn id(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }

    pub(super) fn body(&self) -> Result<&Value, ApiError> {
        self.body.as_ref().ok_or_else(|| ApiError::field("body", "is required: a JSON object"))
    }

    pub(super) fn fields(&self) -> Result<Fields<'_>, ApiError> {
        self.fields_of(self.body()?)
    }

    /// Returns the fields of a body that may be absent.
    pub(super) fn optional_fields(&self) -> Result<Fields<'_>, ApiError> {
        Fields::of_optional_body(self.body.as_ref(), self.references())
    }

    pub(super) fn fields_of<'s>(&'s self, part: &'s Value) -> Result<Fields<'s>, ApiError> {
        Fields::of_body(part, self.references())
    }

    fn references(&self) -> References<'_> {
        References { state: self.state, hosts: self.hosts, workspace: self.workspace() }
    }

    pub(super) fn deny_body_fields(&self) -> Result<(), ApiError> {
        self.optional_fields()?.deny_unknown(|_| false, "this operation")
    }

    /// Returns a query parameter, which must not be repeated.
    pub(super) fn parameter(&self, name: &str) -> Result<Option<String>, ApiError> {
        let mut values = url::form_urlencoded::parse(self.query.as_bytes())
            .filter_map(|(key, value)| (key == name).then(|| value.into_owned()));
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ApiError::field(name, "must not be repeated")),
            (value, None) => Ok(value),
        }
    }

    pub(super) fn parameter_one_of(
        &self,
        name: &str,
        known: &[&str],
    ) -> Result<Option<String>, ApiError> {
        match self.parameter(name)? {
            Some(value) if !known.contains(&value.as_str()) => {
                let problem = format!("must be one of {}", known.join(", "));
                Err(ApiError::field(name, problem))
            }
            value => Ok(value),
        }
    }

    pub(super) fn body_digest(&self) -> BodyDigest {
        strict_json::digest(self.body.as_ref().unwrap_or(&Value::Null))
    }

    /// Creates something, or responds with the receipt of an earlier request with the same idempotency
    /// key, path and body.
    pub(super) fn create_once(&mut self, create: impl FnOnce(&mut Self) -> Created) -> ApiResult {
        let digest = |request: &Self| match request.segments {
            [] => request.body_digest(),
            segments => strict_json::digest(&json!([segments, request.body])),
        };
        self.create_once_in(self.operation.name(), digest, create)
    }

    /// Creates something, or responds with the receipt of an earlier request that used the idempotency
    /// key in this scope and has the same digest. Operations whose idempotency is not documented
    /// ignore the key unless undocumented keys are honored.
    pub(super) fn create_once_in(
        &mut self,
        scope: &str,
        digest: impl FnOnce(&Self) -> BodyDigest,
        create: impl FnOnce(&mut Self) -> Created,
    ) -> ApiResult {
        let is_used = match self.operation.retry() {
            RetryClass::Key => true,
            RetryClass::Unsent => self.state.undocumented_keys == UndocumentedKeys::Honor,
            _ => false,
        };
        let key = if is_used { idempotency_key(self.headers)? } else { None };
        let entry =
            key.map(|key| (IdempotencyKey::new(self.workspace(), scope, &key), digest(self)));
        let earlier =
            entry.as_ref().map(|(key, digest)| self.state.idempotency.look_up(key, digest));
        match earlier {
            None | Some(KeyLookup::Unused) => {}
            Some(KeyLookup::Replay(receipt)) => {
                return Ok(ApiResponse::data(200, self.stored_receipt(receipt)));
            }
            Some(KeyLookup::Conflict(receipt)) => {
                let message = "this Idempotency-Key was already used for a different request";
                let error = ApiError::new(ErrorCode::IdempotencyConflict, message);
                let original = self.stored_receipt(receipt);
                return Err(match original.get("queue_id") {
                    // The conflict with a bulk create names the queue.
                    Some(id) if original.get("items").is_some() => {
                        error.detail("queue_id", id.clone())
                    }
                    _ => error,
                });
            }
        }
        let (response, receipt) = create(self)?;
        if let Some((key, digest)) = entry {
            let now = self.now();
            self.state.idempotency.store(key, digest, receipt, now);
        }
        Ok(response)
    }

    /// Returns a stored receipt as it was at the time of its request.
    fn stored_receipt(&self, receipt: &StoredReceipt) -> Value {
        match receipt {
            StoredReceipt::Text(text) => resolve_placeholders(text.to_value(), self.hosts),
            StoredReceipt::TopUp(id) => {
                let top_up = self.state.top_ups.get(id);
                top_up.map_or(Value::Null, |top_up| top_up.view(self.hosts))
            }
            StoredReceipt::Job(id) => match self.state.jobs.by_id(id).map(Job::as_submitted) {
                Some(job) => {
                    let now = job.timeline.created_at();
                    json!(JobReceipt::new(&job, self.hosts, now))
                }
                None => Value::Null,
            },
        }
    }

    /// Returns an error if the maximum cost of the request exceeds the caller's spend limit.
    pub(super) fn check_max_spend(&self, cost: Usd) -> Result<(), ApiError> {
        let Some(max_spend) = self.max_spend.filter(|max_spend| cost > *max_spend) else {
            return Ok(());
        };
        let code = ErrorCode::Other("max_spend_exceeded".to_owned());
        let message =
            format!("cost of up to {cost} USD exceeds the `max_spend_usd` of {max_spend} USD");
        Err(ApiError::new(code, message)
            .detail("estimate_usd", json!(cost))
            .detail("max_spend_usd", json!(max_spend)))
    }

    pub(super) fn receipt_to_store(&self, receipt: &Value) -> StoredReceipt {
        let receipt = insert_placeholders(receipt.clone(), self.hosts);
        StoredReceipt::Text(JsonText::from(&receipt))
    }
}

/// Reads the `Idempotency-Key` header: 1 to 255 printable ASCII characters.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all("idempotency-key").iter();
    let (Some(value), another) = (values.next(), values.next()) else { return Ok(None) };
    // Whitespace around a header value is not part of it.
    let key = value.as_bytes().trim_ascii();
    let printable = key.iter().all(|byte| (b' '..=b'~').contains(byte));
    match std::str::from_utf8(key) {
        Ok(key)
            if printable
                && another.is_none()
                && IDEMPOTENCY_KEY_LENGTH_RANGE.contains(&key.len()) =>
        {
            Ok(Some(key.to_owned()))
        }
        _ => {
            let message = "`Idempotency-Key` must be 1 to 255 printable ASCII characters and must not be repeated";
            let error = ApiError::new(ErrorCode::InvalidRequest, message);
            Err(error.detail("field", json!("Idempotency-Key")))
        }
    }
}
