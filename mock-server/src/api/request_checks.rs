//! Checks before a request is dispatched, in this order: credential, rate limit, scope, content
//! type, body size, JSON syntax, and idempotency key.

use http::{HeaderMap, Method, header};
use serde_json::{Value, json};
use svc_sdk::contract::limits::MAX_REQUEST_BODY_BYTES;
use svc_sdk::contract::{ErrorCode, Operation, RateLimitBucket};

use super::api_error::ApiError;
use super::request::idempotency_key;
use super::response::rate_limit_headers;
use super::route::Route;
use super::strict_json;
use crate::engine::credential::Credential;
use crate::engine::keys::ApiKey;
use crate::engine::rate_limit::{RateLimitKey, RateLimitStatus, address_limit, key_limit};
use crate::engine::{Host, HostRequest, Hosts, KeyKind, State};

/// The result of checking the credential and the rate limit.
#[derive(Clone, Debug)]
pub(super) struct CallerCheck<'k> {
    /// The key, if it is valid for this host.
    pub(super) caller: Option<&'k ApiKey>,
    /// The `ratelimit-*` headers.
    pub(super) headers: HeaderMap,
    pub(super) error: Option<ApiError>,
}

/// Checks the credential, which may be that of a known key, and counts the request in its rate limit
/// bucket.
pub(super) fn check_caller<'k>(
    state: &mut State,
    hosts: &Hosts,
    call: &HostRequest,
    (presented, key): (Credential<'_>, Option<&'k ApiKey>),
    route: &Route,
) -> CallerCheck<'k> {
    let caller = key
        .filter(|key| !key.revoked)
        .filter(|key| key.kind.is_for(call.host) || is_top_up_route(route));
    let unauthorized = match (presented, caller) {
        (Credential::Several, _) => {
            Some("send only one credential: either `Authorization: Bearer` or `x-api-key`")
        }
        (_, Some(_)) => None,
        _ if route.is_public() => None,
        (Credential::None, None) => {
            Some("missing API key: send `Authorization: Bearer <API_KEY>` or `x-api-key`")
        }
        (Credential::Malformed, None) => Some("malformed credential"),
        (Credential::Key(_), None) => {
            Some("API key is unknown, revoked, or not valid for this host")
        }
    };
    let bucket = route.rate_limit_bucket(call.request.method());
    let status = match caller {
        Some(key) => acquire_for_key(state, key, bucket),
        None => {
            let limit_key = RateLimitKey::Address(call.peer);
            let limit = address_limit(&state.plan_limits, bucket);
            state.limits.acquire(limit_key, bucket, limit, state.now)
        }
    };
    if let (Credential::Key(secret), Some(_)) = (presented, caller) {
        state.keys.used(secret, state.now);
    }
    let error = if status.allowed {
        unauthorized.map(|message| ApiError::new(ErrorCode::Unauthorized, message))
    } else {
        Some(rate_limited(bucket, status, hosts))
    };
    CallerCheck { caller, headers: rate_limit_headers(status, hosts), error }
}

/// Counts an operation that a request runs in addition to itself, such as an MCP tool.
pub(super) fn acquire(
    state: &mut State,
    hosts: &Hosts,
    key: &ApiKey,
    bucket: RateLimitBucket,
) -> Result<(), ApiError> {
    let status = acquire_for_key(state, key, bucket);
    if status.allowed { Ok(()) } else { Err(rate_limited(bucket, status, hosts)) }
}

fn acquire_for_key(state: &mut State, key: &ApiKey, bucket: RateLimitBucket) -> RateLimitStatus {
    let plan = state.workspaces.plan(&key.workspace);
    let limit = key_limit(&state.plan_limits, &plan, bucket, state.read_multiple);
    let limit_key = RateLimitKey::Key(key.id.clone());
    state.limits.acquire(limit_key, bucket, limit, state.now)
}

fn rate_limited(bucket: RateLimitBucket, status: RateLimitStatus, hosts: &Hosts) -> ApiError {
    ApiError::rate_limited(bucket, hosts.client_time(status.reset))
}

/// Returns whether the route is a top-up operation. Only these respond to a key of the other surface
/// with `403`; all others respond with `401`.
fn is_top_up_route(route: &Route) -> bool {
    matches!(route, Route::Operation(Operation::TopUpsCreate | Operation::TopUpsGet, _))
}

/// Checks the scope and the body, and returns the parsed body. Only `POST` requests have one.
pub(super) fn check_request(
    call: &HostRequest,
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
    let parsed = match body.is_empty() {
        true => None,
        false => {
            let parsed = strict_json::parse(body)
                .map_err(|error| ApiError::field("body", format!("is not valid JSON: {error}")))?;
            Some(parsed)
        }
    };
    // A malformed key is an error even for operations that do not use keys.
    idempotency_key(call.request.headers())?;
    Ok(parsed)
}

pub(super) fn check_body(call: &HostRequest) -> Result<(), ApiError> {
    let body = call.request.body();
    check_encoding(call.request.headers())?;
    check_content_type(call.request.headers(), body.is_empty())?;
    if body.len() <= MAX_REQUEST_BODY_BYTES {
        return Ok(());
    }
    let message = format!("body exceeds {MAX_REQUEST_BODY_BYTES} bytes");
    let error = ApiError::new(ErrorCode::PayloadTooLarge, message);
    Err(error.detail("limit_bytes", json!(MAX_REQUEST_BODY_BYTES)))
}

pub(super) fn check_scope(host: Host, operation: Operation, key: &ApiKey) -> Result<(), ApiError> {
    if !key.kind.is_for(host) {
        let message = "top-ups require an API key of the open surface";
        return Err(ApiError::new(ErrorCode::OpenKeyRequired, message));
    }
    match operation.scope() {
        Some(scope) if !key.scopes.contains(&scope) => {
            let error = ApiError::new(
                ErrorCode::InsufficientScope,
                format!("API key does not have the scope {scope}"),
            );
            Err(error.detail("required_scope", json!(scope)))
        }
        _ if key.kind == KeyKind::ServiceAccount && is_agent_start(operation) => {
            let message = "service accounts cannot start Format runs or Agent Completions";
            let error = ApiError::new(ErrorCode::InsufficientScope, message);
            let reason = json!("service_account_format_runs_unsupported");
            Err(error.detail("reason", reason))
        }
        _ => Ok(()),
    }
}

/// Returns whether the operation starts the agent, which requires the key of a user or a team.
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

fn check_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    let encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    let received = encodings.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let mut unsupported = received.filter(|name| !name.eq_ignore_ascii_case("identity"));
    let Some(encoding) = unsupported.next() else { return Ok(()) };
    let message = "`Content-Encoding` is not supported: send the body without compression";
    let error = ApiError::new(ErrorCode::UnsupportedMediaType, message);
    Err(error.detail("received_content_encoding", json!(encoding)))
}

/// Checks that the content type is `application/json`, with any parameters. It may be absent if
/// there is no body.
fn check_content_type(headers: &HeaderMap, has_no_body: bool) -> Result<(), ApiError> {
    let is_json = |value: &http::HeaderValue| {
        let essence = value.to_str().ok().and_then(|value| value.split(';').next());
        essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
    };
    let mut types = headers.get_all(header::CONTENT_TYPE).iter().peekable();
    let received = types.peek().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    if (received.is_some() || has_no_body) && types.all(is_json) {
        return Ok(());
    }
    let message = "`Content-Type` must be application/json";
    let error = ApiError::new(ErrorCode::UnsupportedMediaType, message);
    Err(error.detail("received_content_type", json!(received)))
}
