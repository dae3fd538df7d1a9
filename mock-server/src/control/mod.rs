//! The control API, which lets tests inspect and change the mock.
//!
//! The endpoints are defined in one table. `GET /`, the `404` message and the `Allow` header are
//! derived from it. No endpoint waits.

mod actions;
mod body;
mod error;
mod inspection;
mod origin;
mod request;
mod workspaces;

#[cfg(any(feature = "serve", feature = "in-process"))]
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

#[cfg(feature = "dashboard")]
pub(crate) use self::actions::clock_view;
pub(crate) use self::actions::{advance, ledger, restore, snapshot};
pub(crate) use self::body::ControlBody;
#[cfg(feature = "serve")]
pub(crate) use self::body::Document;
use self::error::ControlApiError;
#[cfg(feature = "dashboard")]
pub(crate) use self::inspection::request_view;
use self::request::{ControlRequest, ControlResult};
#[cfg(feature = "serve")]
use crate::engine::{RestoreError, State};
use crate::mock_state::MockState;

/// The maximum size of a request body, except for `PUT /state`, which has none.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

struct Endpoint {
    method: Method,
    path: &'static str,
    description: &'static str,
    /// A description of the body; empty if there is none.
    body: &'static str,
    handler: fn(&mut MockState, &ControlRequest<'_>) -> ControlResult,
}

/// Declares the endpoints: method, path, a description of the body if there is one, handler, and
/// what the endpoint does.
macro_rules! endpoints {
    ($($method:ident $path:literal $($body:literal)? => $handler:expr, $description:literal;)+) => {
        const ENDPOINTS: &[Endpoint] = &[$(Endpoint {
            method: Method::$method,
            path: $path,
            description: $description,
            body: concat!($($body)?),
            handler: $handler,
        }),+];
    };
}

endpoints! {
    GET "/" => |_, _| Ok((StatusCode::OK, index().into())), "list the endpoints";
    POST "/reset" => actions::reset,
        "reset to the initial state, including keys, faults and secrets; the clock continues";
    GET "/clock" => actions::clock, "get the service time";
    PUT "/clock" r#"{"mode": "manual" | "real", "speed"?}"# => inspection::set_clock,
        "pause the clock (manual), or let it run (real) at a speed";
    POST "/clock/advance" r#"{"seconds": N}"# => actions::advance_clock,
        "advance the manual clock and handle everything that is due, in order";
    GET "/faults" => actions::faults, "list the active faults";
    POST "/faults" r#"{"surface"?, "operation"?, "kind", "code"?, "times"?, "probability"?, "retry_after_seconds"?, "delay_ms"?}"#
        => actions::add_fault,
        "make the next matching requests fail; kinds: error (with the code of an error that the \
         operation can respond with), status_503, status_429, status_502_html, drop_before, \
         drop_after, truncate, stall, garbage, delay, and for downloads status_403, status_404, \
         status_416, wrong_length, changed_etag; the operations of the media host are artifact \
         (downloads) and checkout; retry_after_seconds is sent as it is";
    DELETE "/faults" => actions::clear_faults, "remove all faults";
    GET "/keys" => inspection::keys, "list all keys";
    POST "/keys" r#"{"kind", "workspace"?, "plan"?, "scopes"?}"# => actions::add_key,
        "create a key, and its workspace if that does not exist";
    DELETE "/keys/{id}" => workspaces::revoke_key, "revoke a key by its id";
    POST "/workspaces/{id}" r#"{"plan"?, "balance_usd"?, "organization_wallet"?, "organization_balance_usd"?, "team"?}"#
        => workspaces::update_workspace,
        "change a workspace, and create it if it does not exist; organization_wallet is none, \
         missing or provisioned";
    GET "/grants" => workspaces::grants, "list the Formats that are granted to workspaces";
    POST "/grants" r#"{"format", "workspace"}"# => workspaces::grant_format,
        "grant a Format to a workspace";
    POST "/assets" r#"{"workspace", "content_type", "bytes"}"# => workspaces::add_asset,
        "create an asset that only one workspace can attach to runs; bytes is its size";
    GET "/dns" => workspaces::host_addresses, "list the host names whose addresses were set";
    POST "/dns" r#"{"host", "address"}"# => workspaces::set_host_address,
        "set the address that a host name resolves to; URLs must lead to public addresses, \
         webhooks also when they are delivered";
    DELETE "/dns" => workspaces::clear_host_addresses, "remove all addresses of host names";
    GET "/workspaces" => inspection::workspaces,
        "list all workspaces with their balances and jobs in flight";
    GET "/limits" => inspection::limits,
        "list what is left of the rate limits of each key and address";
    GET "/top-ups" => inspection::top_ups, "list all top-ups";
    POST "/top-ups" r#"{"workspace"?, "amount_usd": "20.00"}"# => inspection::pay_in,
        "top up the balance of a workspace (default: ws_demo)";
    POST "/top-ups/{id}" r#"{"status"}"# => actions::settle_top_up,
        "settle a top-up: paid, failed or expired";
    GET "/jobs" => actions::jobs,
        "list all jobs, or a page of ?limit=N from ?cursor=CURSOR (a page's next_cursor)";
    POST "/jobs/{id}" r#"{"status", "code"?}"# => actions::end_job,
        "end a job immediately: completed, failed or canceled";
    GET "/runs" => inspection::runs, "list all runs";
    GET "/requests" => actions::requests,
        "list the newest 10,000 requests, after the sequence number ?since=N";
    GET "/requests/{id}" => inspection::request,
        "get a request by its sequence number, with both bodies while they are stored";
    GET "/events" => |_, _| Err(ControlApiError::no_stream()),
        "stream the requests after ?since=N (default: from now on) as server-sent events: request, \
         and change when anything else may have changed; ?only=change omits the requests";
    GET "/deliveries" => actions::deliveries, "list the newest 10,000 webhook attempts";
    POST "/deliveries/{id}" => inspection::redeliver,
        "send the webhook of a job or run again, immediately";
    GET "/ledger" => actions::get_ledger,
        "get all ledger entries, or a page of ?limit=N from ?cursor=CURSOR (a page's next_cursor), \
         and the balance of each workspace";
    GET "/state" => actions::state, "get the complete state as one document";
    PUT "/state" "the document returned by GET /state" => actions::restore_state,
        "restore a state; the same requests then get the same responses, including ids";
}

/// Handles a request to the control API.
pub(crate) fn answer(
    state: &mut MockState,
    request: &http::Request<Bytes>,
) -> Response<ControlBody> {
    respond(run(state, request))
}

/// Returns whether a request imports a state. A frontend that can read the body while it arrives
/// does so, and responds with [`import`].
#[cfg(feature = "serve")]
pub(crate) fn is_import(method: &Method, path: &str) -> bool {
    *method == Method::PUT && path == "/state"
}

/// Continues from a state that was read from the body of `PUT /state`. Returns the response, and
/// the state before, whose removal takes some time.
#[cfg(feature = "serve")]
pub(crate) fn import(
    state: &mut MockState,
    restored: Result<State, RestoreError>,
) -> (Response<ControlBody>, Option<State>) {
    match restored {
        Ok(restored) => {
            let before = actions::replace(state, restored);
            (clock(state), Some(before))
        }
        Err(error) => {
            let mut endpoints = ENDPOINTS.iter();
            let usage = endpoints
                .find(|endpoint| is_import(&endpoint.method, endpoint.path))
                .and_then(Endpoint::usage);
            let error = ControlApiError::from(error).with_usage(&usage.unwrap_or_default());
            (respond(Err(error)), None)
        }
    }
}

fn respond(result: ControlResult) -> Response<ControlBody> {
    match result {
        Ok((status, body)) => json_response(status, body),
        Err(error) => error_response(error),
    }
}

/// Returns the error response for a request that does not name this mock as its host, or that
/// another origin has sent. `names` are the accepted hosts besides those of the loopback interface.
pub(crate) fn refuse_foreign<B>(
    request: &http::Request<B>,
    names: &[String],
) -> Option<Response<ControlBody>> {
    origin::check(request, names).err().map(error_response)
}

fn error_response(error: ControlApiError) -> Response<ControlBody> {
    let body = json!({"error": {"code": error.code, "message": error.message}});
    let mut response = json_response(error.status, body.into());
    if let Some(allow) = error.allow.and_then(|allow| HeaderValue::try_from(allow).ok()) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

#[cfg(any(feature = "serve", feature = "in-process"))]
pub(crate) fn clock(state: &mut MockState) -> Response<ControlBody> {
    json_response(StatusCode::OK, actions::clock_view(state).into())
}

/// Returns the span of a valid request to advance the clock; `None` for any other request.
///
/// A frontend that can wait for webhooks advances the clock itself and responds with [`clock`].
#[cfg(any(feature = "serve", feature = "in-process"))]
pub(crate) fn requested_advance(request: &http::Request<Bytes>) -> Option<Duration> {
    let is_advance = request.method() == Method::POST && request.uri().path() == "/clock/advance";
    if !is_advance || request.body().len() > MAX_BODY_BYTES {
        return None;
    }
    let request = ControlRequest { id: "", query: "", body: request.body() };
    actions::advance_span(&request).ok()
}

fn run(state: &mut MockState, request: &http::Request<Bytes>) -> ControlResult {
    let path = request.uri().path();
    let at_path =
        || ENDPOINTS.iter().filter_map(|endpoint| Some((endpoint, endpoint.matches_path(path)?)));
    let Some((endpoint, id)) = at_path().find(|(endpoint, _)| endpoint.method == request.method())
    else {
        let allowed: Vec<_> = at_path().map(|(endpoint, _)| endpoint.method.as_str()).collect();
        return Err(match allowed.is_empty() {
            true => {
                let mut known: Vec<_> = ENDPOINTS.iter().map(|endpoint| endpoint.path).collect();
                known.dedup();
                ControlApiError::unknown_path(path, &known)
            }
            false => ControlApiError::method_not_allowed(path, request.method(), &allowed),
        });
    };
    if request.body().len() > MAX_BODY_BYTES && endpoint.path != "/state" {
        return Err(ControlApiError::too_large(MAX_BODY_BYTES));
    }
    let query = request.uri().query().unwrap_or_default();
    let request = ControlRequest { id, query, body: request.body() };
    (endpoint.handler)(state, &request).map_err(|error| match endpoint.usage() {
        None => error,
        Some(usage) => error.with_usage(&usage),
    })
}

impl Endpoint {
    /// Describes the body; `None` if there is none.
    fn usage(&self) -> Option<String> {
        let Self { method, path, body, .. } = self;
        (!body.is_empty()).then(|| format!("expected body of {method} {path}: {body}"))
    }

    /// Returns the value of `{id}` if the path matches; empty for endpoints without `{id}`.
    fn matches_path<'p>(&self, path: &'p str) -> Option<&'p str> {
        match self.path.strip_suffix("{id}") {
            None => (path == self.path).then_some(""),
            Some(stem) => path.strip_prefix(stem).filter(|id| !id.is_empty() && !id.contains('/')),
        }
    }
}

fn index() -> Value {
    let list = ENDPOINTS.iter().map(|endpoint| {
        let mut entry = json!({
            "method": endpoint.method.as_str(),
            "path": endpoint.path,
            "does": endpoint.description,
        });
        if let (false, Some(entry)) = (endpoint.body.is_empty(), entry.as_object_mut()) {
            entry.insert("body".to_owned(), endpoint.body.into());
        }
        entry
    });
    json!({"data": list.collect::<Vec<_>>()})
}

fn json_response(status: StatusCode, body: ControlBody) -> Response<ControlBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    let no_sniffing = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, no_sniffing);
    response
}
