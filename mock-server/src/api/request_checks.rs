//! What every request of the two surfaces passes before its operation sees it, in this order:
//! credential, rate limit, scope, content type, size of the body, well-formed JSON.

use http::{HeaderMap, Method, header};
use serde_json::{Value, json};
use svc_sdk::contract::limits::MAX_REQUEST_BODY_BYTES;
use svc_sdk::contract::{ErrorCode, Operation, RateLimitBucket};

use super::api_error::ApiError;
use super::response::{Headers, rate_limit_headers};
use super::route::Route;
use super::strict_json;
use crate::engine::credential::Credential;
use crate::engine::keys::ApiKey;
use crate::engine::rate_limit::{RateLimitKey, RateLimitStatus, address_limit, key_limit};
use crate::engine::{Call, Host, KeyKind, State};

/// Who makes a request, and how they stand with their budget.
#[derive(Clone, Debug)]
pub(crate) struct CallerCheck {
    /// The key, where there is a valid one for this host.
    pub(crate) caller: Option<ApiKey>,
    /// The `ratelimit-*` headers of the budget that the request spent from.
    pub(crate) headers: Headers,
    /// Why it goes no further.
    pub(crate) error: Option<ApiError>,
}

/// Asks for the credential and spends from the budget.
pub(crate) fn check_caller(state: &mut State, call: &Call, route: &Route) -> CallerCheck {
    let presented = Credential::from_headers(call.request.headers());
    let key = match presented {
        Credential::Key(secret) => state.keys.valid(secret).cloned(),
        _ => None,
    };
    let caller = key.filter(|key| key.kind.is_for(call.host) || is_top_up_route(route));
    let unauthorized = match (presented, &caller) {
        (Credential::Several, _) => {
            Some("Send only one credential: either `Authorization: Bearer` or `x-api-key`.")
        }
        (_, Some(_)) => None,
        _ if route.is_public() => None,
        (Credential::None, None) => {
            Some("An API key is required: send `Authorization: Bearer <API_KEY>` or `x-api-key`.")
        }
        (Credential::Malformed, None) => Some("The credential is malformed."),
        (Credential::Key(_), None) => Some("The API key is unknown, revoked or of the other host."),
    };
    let budget = route.budget(call.request.method());
    let status = match &caller {
        Some(key) => acquire_for_key(state, key, budget),
        None => {
            let limit_key = RateLimitKey::Address(call.peer);
            let limit = address_limit(budget);
            state.limits.acquire(limit_key, budget, limit, state.now)
        }
    };
    if let (Credential::Key(secret), Some(_)) = (presented, &caller) {
        state.keys.used(secret, state.now);
    }
    let error = if status.allowed {
        unauthorized.map(|message| ApiError::new(ErrorCode::Unauthorized, message))
    } else {
        Some(rate_limited(budget, status))
    };
    CallerCheck {
        caller,
        headers: rate_limit_headers(status),
        error,
    }
}

/// Spends one of a key's budget for what is done beside the request itself.
pub(super) fn acquire(
    state: &mut State,
    key: &ApiKey,
    budget: RateLimitBucket,
) -> Result<(), ApiError> {
    let status = acquire_for_key(state, key, budget);
    match status.allowed {
        true => Ok(()),
        false => Err(rate_limited(budget, status)),
    }
}

fn acquire_for_key(state: &mut State, key: &ApiKey, budget: RateLimitBucket) -> RateLimitStatus {
    let plan = state.workspaces.plan(&key.workspace);
    let limit = key_limit(&plan, budget, state.read_multiple);
    let limit_key = RateLimitKey::Key(key.id.clone());
    state.limits.acquire(limit_key, budget, limit, state.now)
}

fn rate_limited(budget: RateLimitBucket, status: RateLimitStatus) -> ApiError {
    let wait = std::time::Duration::from_secs(status.reset.max(1));
    let message = format!("The budget of {}s is spent.", budget.as_str());
    ApiError::new(ErrorCode::RateLimited, message)
        .detail("scope", json!(budget.as_str()))
        .retry_after(wait)
}

/// The one place where a key of the other host is told so with `403`.
fn is_top_up_route(route: &Route) -> bool {
    matches!(
        route,
        Route::Operation(Operation::TopUpsCreate | Operation::TopUpsGet, _)
    )
}

/// Judges what can be judged without knowing the operation: the scope, and whether the body is
/// JSON. Gives the body; reads have none.
pub(crate) fn check_request(
    call: &Call,
    operation: Operation,
    caller: Option<&ApiKey>,
) -> Result<Option<Value>, ApiError> {
    if let Some(key) = caller {
        check_scope(call.host, operation, key)?;
    }
    if *call.request.method() != Method::POST {
        return Ok(None);
    }
    check_body(call)?;
    let body = call.request.body();
    if body.is_empty() {
        return Ok(None);
    }
    let parsed = strict_json::parse(body);
    parsed
        .map(Some)
        .map_err(|error| ApiError::field("body", format!("is no sound JSON: {error}")))
}

/// Judges the body from outside: its type and its size.
pub(super) fn check_body(call: &Call) -> Result<(), ApiError> {
    let body = call.request.body();
    check_content_type(call.request.headers(), body.is_empty())?;
    if body.len() <= MAX_REQUEST_BODY_BYTES {
        return Ok(());
    }
    let message = format!("The body is over {MAX_REQUEST_BODY_BYTES} bytes.");
    let error = ApiError::new(ErrorCode::PayloadTooLarge, message);
    Err(error.detail("limit_bytes", json!(MAX_REQUEST_BODY_BYTES)))
}

pub(super) fn check_scope(host: Host, operation: Operation, key: &ApiKey) -> Result<(), ApiError> {
    if !key.kind.is_for(host) {
        let message = "Top-ups take a key of the open surface.";
        return Err(ApiError::new(ErrorCode::OpenKeyRequired, message));
    }
    match operation.scope() {
        Some(scope) if !key.scopes.contains(&scope) => {
            let error = ApiError::new(
                ErrorCode::InsufficientScope,
                format!("The key lacks {scope}."),
            );
            Err(error.detail("required_scope", json!(scope)))
        }
        _ if key.kind == KeyKind::ServiceAccount && is_agent_start(operation) => {
            let message = "Service accounts start no Format runs and no Agent Completions.";
            let error = ApiError::new(ErrorCode::InsufficientScope, message);
            let reason = json!("service_account_format_runs_unsupported");
            Err(error.detail("reason", reason))
        }
        _ => Ok(()),
    }
}

/// What only a person's or a team's key may do.
fn is_agent_start(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::FormatsRunsCreate
            | Operation::FormatsBulkCreate
            | Operation::FormatsBySlugRunsCreate
            | Operation::FormatsBySlugBulkCreate
            | Operation::AgentCompletionsCreate
    )
}

/// A body is `application/json`, whatever its parameters; where there is none, nothing need be
/// said.
fn check_content_type(headers: &HeaderMap, nothing_sent: bool) -> Result<(), ApiError> {
    let is_json = |value: &http::HeaderValue| {
        let essence = value
            .to_str()
            .ok()
            .and_then(|value| value.split(';').next());
        essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
    };
    let mut types = headers.get_all(header::CONTENT_TYPE).iter().peekable();
    let received = types
        .peek()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    if (received.is_some() || nothing_sent) && types.all(is_json) {
        return Ok(());
    }
    let message = "The body must be application/json.";
    let error = ApiError::new(ErrorCode::UnsupportedMediaType, message);
    Err(error.detail("received_content_type", json!(received)))
}
