//! The control API, which lets tests inspect and change the mock.
//!
//! The endpoints are defined in one table. `GET /`, the `404` message and the `Allow` header are
//! derived from it. No handler waits.

mod body;
mod changes;
mod clock;
mod error;
mod lists;
mod origin;
mod request;
mod verify;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

pub(crate) use self::body::ControlBody;
#[cfg(feature = "serve")]
pub(crate) use self::body::Document;
pub(crate) use self::changes::{created_workspace, revoked, updated_workspace};
#[cfg(feature = "dashboard")]
pub(crate) use self::clock::clock_view;
pub(crate) use self::clock::{advance, restore, snapshot};
use self::error::ControlApiError;
#[cfg(feature = "dashboard")]
pub(crate) use self::lists::request_view;
use self::lists::{DELIVERY_PARAMETERS, JOB_PARAMETERS, LEDGER_PARAMETERS, REQUEST_PARAMETERS};
use self::request::{ControlRequest, ControlResult, Query, created, list};
use crate::engine::State;
#[cfg(feature = "serve")]
use crate::engine::{RestoreError, snapshot::ReadState};
use crate::json_object::set_field;
use crate::mock_state::MockState;

/// The maximum size of a request body, except for `PUT /state`, which has none.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

struct Endpoint {
    method: Method,
    path: &'static str,
    description: &'static str,
    query: &'static [&'static str],
    /// A description of the body; empty if there is none.
    body: &'static str,
    handler: fn(&mut ControlRequest<'_>) -> ControlResult,
}

/// Declares the endpoints: method, path, the query parameters if there are any, a description of the
/// body if there is one, handler, and what the endpoint does.
macro_rules! endpoints {
    ($($method:ident $path:literal $([$query:expr])? $($body:literal)? => $handler:expr, $description:literal;)+) => {
        const ENDPOINTS: &[Endpoint] = &[$(Endpoint {
            method: Method::$method,
            path: $path,
            description: $description,
            query: {
                let query: &[&str] = &[];
                $(let query: &[&str] = { let _ = query; $query };)?
                query
            },
            body: concat!($($body)?),
            handler: $handler,
        }),+];
    };
}

endpoints! {
    GET "/" => |_| Ok((StatusCode::OK, index().into())), "list the endpoints";
    GET "/healthz" => |_| request::ok(json!({"status": "ok"})),
        "get whether the mock runs; every port of the program answers this without a key";
    POST "/reset" => clock::reset,
        "reset to the initial state, including keys, faults and secrets; the clock continues";
    GET "/clock" => clock::get, "get the service time";
    PUT "/clock" r#"{"mode": "manual" | "real", "speed"?}"# => clock::set,
        "pause the clock (manual), or let it run (real) at a speed";
    POST "/clock/advance" r#"{"seconds": N}"# => clock::advance_clock,
        "advance the manual clock and handle everything that is due, in order";
    GET "/faults" [&["workspace"]] => changes::faults,
        "list the active faults, or those of a workspace";
    POST "/faults" r#"{"workspace"?, "key"?, "match"?, "surface"?, "operation"?, "kind", "code"?, "times"?, "probability"?, "retry_after_seconds"?, "delay_ms"?}"#
        => changes::add_fault,
        "make the next matching requests fail; kinds: error (with the code of an error that the \
         operation can respond with), status_503, status_429, status_502_html, drop_before, \
         drop_after, truncate, stall, garbage, delay, and for downloads status_403, status_404, \
         status_416, wrong_length, changed_etag; the operations of the media host are artifact \
         (downloads) and checkout; match is a text in the body; retry_after_seconds is sent as it is";
    DELETE "/faults" [&["workspace"]] => changes::clear_faults,
        "remove all faults, or those of a workspace";
    DELETE "/faults/{id}" => changes::remove_fault, "remove a fault";
    GET "/keys" [&["workspace", "key"]] => lists::keys, "list all keys";
    POST "/keys" r#"{"kind", "workspace"?, "plan"?, "scopes"?}"# => |request| created(request.change(State::add_key)?),
        "create a key, and its workspace if that does not exist";
    DELETE "/keys/{id}" => changes::revoke_key, "revoke a key by its id";
    GET "/workspaces" => |request| list(request.mock.simulator.workspaces()),
        "list all workspaces with their balances and jobs in flight";
    POST "/workspaces" r#"{"id"?, "plan"?, "balance_usd"?, "team"?}"# => changes::create_workspace,
        "create a workspace with a key of each surface, and get what a test needs to use it";
    POST "/workspaces/{id}" r#"{"plan"?, "balance_usd"?, "organization_wallet"?, "organization_balance_usd"?, "team"?}"#
        => changes::update_workspace,
        "change a workspace, and create it if it does not exist; organization_wallet is none, \
         missing or provisioned";
    GET "/grants" => |request| list(request.state().grants.all()),
        "list the Formats and Actions that are granted to workspaces";
    POST "/grants" r#"{"format" | "action", "workspace"}"#
        => |request| created(request.change(State::grant)?),
        "grant a Format or an Action to a workspace";
    POST "/assets" r#"{"workspace", "content_type", "bytes"}"# => changes::add_asset,
        "create an asset that only one workspace can attach to runs; bytes is its size";
    GET "/dns" => changes::host_addresses, "list the host names whose addresses were set";
    POST "/dns" r#"{"host", "address"}"# => changes::set_host_address,
        "set the address that a host name resolves to; URLs must lead to public addresses, \
         webhooks also when they are delivered";
    DELETE "/dns" => changes::clear_host_addresses, "remove all addresses of host names";
    GET "/webhook-routes" => changes::webhook_routes, "list the routes of webhooks";
    POST "/webhook-routes" r#"{"origin": "https://…", "to": "http://127.0.0.1:PORT", "workspace"?}"#
        => changes::add_webhook_route,
        "deliver the webhooks of an origin to a local address, for all workspaces or one; the same \
         origin and workspace replaces a route";
    DELETE "/webhook-routes/{id}" => changes::remove_webhook_route, "remove a route";
    GET "/actions" => changes::actions, "list the Actions, and whether their schedules are active";
    POST "/actions/{id}" r#"{"schedule_active": true | false}"# => changes::set_schedule,
        "start or pause the schedule of an Action";
    GET "/limits" [&["workspace", "key"]] => lists::limits,
        "list what is left of the rate limits of each key and address";
    GET "/top-ups" [&["workspace"]] => lists::top_ups, "list all top-ups, oldest first";
    POST "/top-ups" r#"{"workspace"?, "amount_usd": 20}"# => changes::pay_in,
        "top up the balance of a workspace (default: ws_demo)";
    POST "/top-ups/{id}" r#"{"status"}"# => changes::settle_top_up,
        "settle a top-up: paid, failed or expired";
    GET "/jobs" [JOB_PARAMETERS] => lists::jobs,
        "list the jobs that match, or a page of ?limit=N from ?cursor=CURSOR (a page's next_cursor)";
    GET "/jobs/{id}" => lists::job, "get a job";
    POST "/jobs/{id}" r#"{"status", "code"?}"# => changes::end_job,
        "end a job immediately: completed, failed or canceled";
    GET "/runs" [&["workspace"]] => lists::runs, "list all runs";
    GET "/runs/{id}" => lists::run, "get a run";
    GET "/requests" [REQUEST_PARAMETERS] => lists::requests,
        "list those of the newest 10,000 requests that match, after the sequence number ?since=N; \
         with ?wait=SECONDS, when ?count=N match or the time is up";
    GET "/requests/{id}" => lists::request,
        "get a request by its sequence number, with both bodies while they are stored";
    POST "/verify" r#"{"operation"?, "method"?, "path"?, "workspace"?, "key"?, "status"?, "since"?, "body"?, "count"?}"#
        => verify::verify,
        "respond with 200 if count requests match (1, a number, or at_least and at_most), else with \
         422 and the nearest; body is what the JSON of the request has at least";
    GET "/events" [&["since", "only"]] => |_| Err(ControlApiError::no_stream()),
        "stream the requests after ?since=N (default: from now on) as server-sent events: request, \
         and change when anything else may have changed; ?only=change omits the requests";
    GET "/deliveries" [DELIVERY_PARAMETERS] => lists::deliveries,
        "list those of the newest 10,000 webhook attempts that match; ?wait as for requests";
    POST "/deliveries/{id}" => changes::redeliver,
        "send the webhook of a job or run again, immediately";
    GET "/ledger" [LEDGER_PARAMETERS] => lists::ledger,
        "get the ledger entries that match, or a page of ?limit=N from ?cursor=CURSOR (a page's \
         next_cursor), and the balance of each workspace; ?wallet is workspace or organization";
    GET "/state" => clock::export, "get the complete state as one document";
    PUT "/state" [&["clock"]] "the document returned by GET /state" => clock::import,
        "restore a state; the same requests then get the same responses, including ids; \
         ?clock=keep leaves the mode and the speed of the clock as they are";
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
    query: &str,
    restored: Result<ReadState, RestoreError>,
) -> (Response<ControlBody>, Option<State>) {
    let mut endpoints = ENDPOINTS.iter();
    let endpoint = endpoints.find(|endpoint| is_import(&endpoint.method, endpoint.path));
    let parameters = endpoint.map_or(&[][..], |endpoint| endpoint.query);
    let keeps_clock = Query::parse(query, parameters).and_then(|query| clock::keeps_clock(&query));
    let replaced = keeps_clock.and_then(|keeps_clock| {
        clock::replace(state, restored.map_err(ControlApiError::from)?, keeps_clock)
    });
    match replaced {
        Ok(before) => (clock(state), Some(before)),
        Err(error) => {
            let usage = endpoint.and_then(Endpoint::usage);
            (respond(Err(error.with_usage(&usage.unwrap_or_default()))), None)
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

pub(crate) fn clock(state: &mut MockState) -> Response<ControlBody> {
    json_response(StatusCode::OK, clock::clock_view(state).into())
}

/// Returns the span of a valid request to advance the clock; `None` for any other request.
///
/// A frontend that can wait for webhooks advances the clock itself and responds with [`clock`].
pub(crate) fn requested_advance(request: &http::Request<Bytes>) -> Option<Duration> {
    let is_advance = request.method() == Method::POST && request.uri().path() == "/clock/advance";
    if !is_advance || request.body().len() > MAX_BODY_BYTES {
        return None;
    }
    clock::advance_span(request.body()).ok()
}

/// Returns how long the response to a valid request for a list waits, at most.
pub(crate) fn requested_wait(request: &http::Request<Bytes>) -> Option<Duration> {
    let (endpoint, _) = find(request).ok()?;
    let query = Query::parse(request.uri().query()?, endpoint.query).ok()?;
    let wait = lists::wait_of(&query).ok()?;
    (!wait.is_zero()).then_some(wait)
}

/// Returns whether a list that waits has what it waits for. One that is invalid waits for nothing.
pub(crate) fn is_satisfied(response: &Bytes) -> bool {
    let body: Value = serde_json::from_slice(response).unwrap_or_default();
    body.get("satisfied") != Some(&Value::Bool(false))
}

/// Returns the endpoint of a request, and the value of `{id}` in its path.
fn find(request: &http::Request<Bytes>) -> Result<(&'static Endpoint, &str), ControlApiError> {
    let path = request.uri().path();
    let at_path =
        || ENDPOINTS.iter().filter_map(|endpoint| Some((endpoint, endpoint.matches_path(path)?)));
    let found = at_path().find(|(endpoint, _)| endpoint.method == request.method());
    found.ok_or_else(|| {
        let allowed: Vec<_> = at_path().map(|(endpoint, _)| endpoint.method.as_str()).collect();
        match allowed.is_empty() {
            true => {
                let mut known: Vec<_> = ENDPOINTS.iter().map(|endpoint| endpoint.path).collect();
                known.dedup();
                ControlApiError::unknown_path(path, &known)
            }
            false => ControlApiError::method_not_allowed(path, request.method(), &allowed),
        }
    })
}

fn run(mock: &mut MockState, request: &http::Request<Bytes>) -> ControlResult {
    let (endpoint, id) = find(request)?;
    if request.body().len() > MAX_BODY_BYTES && endpoint.path != "/state" {
        return Err(ControlApiError::too_large(MAX_BODY_BYTES));
    }
    let query = Query::parse(request.uri().query().unwrap_or_default(), endpoint.query)?;
    let mut request = ControlRequest { mock, id, query, body: request.body() };
    (endpoint.handler)(&mut request).map_err(|error| match endpoint.usage() {
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
        let body = (!endpoint.body.is_empty()).then(|| json!(endpoint.body));
        set_field(&mut entry, "body", body);
        let query = (!endpoint.query.is_empty()).then(|| json!(endpoint.query));
        set_field(&mut entry, "query", query);
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
