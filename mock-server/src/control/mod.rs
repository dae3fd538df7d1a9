//! The control API, which lets tests inspect and change the mock.
//!
//! The endpoints are defined in one table. `GET /`, the `404` message and the `Allow` header are
//! derived from it. No endpoint waits.

mod actions;
mod error;
mod request;
mod workspaces;

#[cfg(any(feature = "serve", feature = "in-process"))]
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

pub(crate) use self::actions::{advance, ledger, restore, snapshot};
use self::error::ControlApiError;
use self::request::{ControlRequest, ControlResult};
use crate::mock_state::MockState;

/// The maximum size of a request body, except for `PUT /state`.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// The maximum size of the body of `PUT /state`.
pub(crate) const MAX_STATE_BYTES: usize = 256 * 1024 * 1024;

struct Endpoint {
    method: Method,
    path: &'static str,
    description: &'static str,
    /// A description of the body; empty if there is none.
    body: &'static str,
    handler: fn(&mut MockState, &ControlRequest<'_>) -> ControlResult,
}

const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: Method::GET,
        path: "/",
        description: "list the endpoints",
        body: "",
        handler: |_, _| Ok((StatusCode::OK, index())),
    },
    Endpoint {
        method: Method::POST,
        path: "/reset",
        description: "reset to the initial state, including keys, faults and secrets; the clock continues",
        body: "",
        handler: actions::reset,
    },
    Endpoint {
        method: Method::GET,
        path: "/clock",
        description: "get the service time",
        body: "",
        handler: actions::clock,
    },
    Endpoint {
        method: Method::POST,
        path: "/clock/advance",
        description: "advance the manual clock and handle everything that is due, in order",
        body: r#"{"seconds": N}"#,
        handler: actions::advance_clock,
    },
    Endpoint {
        method: Method::GET,
        path: "/faults",
        description: "list the active faults",
        body: "",
        handler: actions::faults,
    },
    Endpoint {
        method: Method::POST,
        path: "/faults",
        description: "make the next matching requests fail; kinds: error (with the code of an error \
            that the operation can respond with), status_503, status_429, status_502_html, \
            drop_before, drop_after, truncate, stall, garbage, delay, and for downloads status_403, \
            status_404, status_416, wrong_length, changed_etag; the operations of the media host \
            are artifact (downloads) and checkout; retry_after_seconds is sent as it is",
        body: r#"{"surface"?, "operation"?, "kind", "code"?, "times"?, "probability"?, "retry_after_seconds"?, "delay_ms"?}"#,
        handler: actions::add_fault,
    },
    Endpoint {
        method: Method::DELETE,
        path: "/faults",
        description: "remove all faults",
        body: "",
        handler: actions::clear_faults,
    },
    Endpoint {
        method: Method::POST,
        path: "/keys",
        description: "create a key, and its workspace if that does not exist",
        body: r#"{"kind", "workspace"?, "plan"?, "scopes"?}"#,
        handler: actions::add_key,
    },
    Endpoint {
        method: Method::DELETE,
        path: "/keys/{id}",
        description: "revoke a key by its id",
        body: "",
        handler: workspaces::revoke_key,
    },
    Endpoint {
        method: Method::POST,
        path: "/workspaces/{id}",
        description: "change a workspace, and create it if it does not exist; organization_wallet is \
            none, missing or provisioned",
        body: r#"{"plan"?, "balance_usd"?, "organization_wallet"?, "organization_balance_usd"?, "team"?}"#,
        handler: workspaces::update_workspace,
    },
    Endpoint {
        method: Method::GET,
        path: "/grants",
        description: "list the Formats that are granted to workspaces",
        body: "",
        handler: workspaces::grants,
    },
    Endpoint {
        method: Method::POST,
        path: "/grants",
        description: "grant a Format to a workspace",
        body: r#"{"format", "workspace"}"#,
        handler: workspaces::grant_format,
    },
    Endpoint {
        method: Method::POST,
        path: "/assets",
        description: "create an asset that only one workspace can attach to runs; bytes is its size",
        body: r#"{"workspace", "content_type", "bytes"}"#,
        handler: workspaces::add_asset,
    },
    Endpoint {
        method: Method::GET,
        path: "/dns",
        description: "list the host names whose addresses were set",
        body: "",
        handler: workspaces::host_addresses,
    },
    Endpoint {
        method: Method::POST,
        path: "/dns",
        description: "set the address that a host name resolves to; URLs must lead to public \
            addresses, webhooks also when they are delivered",
        body: r#"{"host", "address"}"#,
        handler: workspaces::set_host_address,
    },
    Endpoint {
        method: Method::DELETE,
        path: "/dns",
        description: "remove all addresses of host names",
        body: "",
        handler: workspaces::clear_host_addresses,
    },
    Endpoint {
        method: Method::POST,
        path: "/top-ups/{id}",
        description: "settle a top-up: paid, failed or expired",
        body: r#"{"status"}"#,
        handler: actions::settle_top_up,
    },
    Endpoint {
        method: Method::GET,
        path: "/jobs",
        description: "list all jobs",
        body: "",
        handler: actions::jobs,
    },
    Endpoint {
        method: Method::POST,
        path: "/jobs/{id}",
        description: "end a job immediately: completed, failed or canceled",
        body: r#"{"status", "code"?}"#,
        handler: actions::end_job,
    },
    Endpoint {
        method: Method::GET,
        path: "/requests",
        description: "list the newest 10,000 requests, after the sequence number ?since=N",
        body: "",
        handler: actions::requests,
    },
    Endpoint {
        method: Method::GET,
        path: "/deliveries",
        description: "list the newest 10,000 webhook attempts",
        body: "",
        handler: actions::deliveries,
    },
    Endpoint {
        method: Method::GET,
        path: "/ledger",
        description: "get all ledger entries and the balance of each workspace",
        body: "",
        handler: actions::get_ledger,
    },
    Endpoint {
        method: Method::GET,
        path: "/state",
        description: "get the complete state as one document",
        body: "",
        handler: actions::state,
    },
    Endpoint {
        method: Method::PUT,
        path: "/state",
        description: "restore a state; the same requests then get the same responses, including ids",
        body: "the document returned by GET /state",
        handler: actions::restore_state,
    },
];

/// Handles a request to the control API.
pub(crate) fn answer(state: &mut MockState, request: &http::Request<Bytes>) -> Response<Bytes> {
    match run(state, request) {
        Ok((status, body)) => json_response(status, &body),
        Err(error) => {
            let body = json!({"error": {"code": error.code, "message": error.message}});
            let mut response = json_response(error.status, &body);
            if let Some(allow) = error
                .allow
                .and_then(|allow| HeaderValue::try_from(allow).ok())
            {
                response.headers_mut().insert(ALLOW, allow);
            }
            response
        }
    }
}

/// Returns the response of `GET /clock`.
#[cfg(any(feature = "serve", feature = "in-process"))]
pub(crate) fn clock(state: &mut MockState) -> Response<Bytes> {
    json_response(StatusCode::OK, &actions::clock_view(state))
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
    let request = ControlRequest {
        id: "",
        query: "",
        body: request.body(),
    };
    actions::advance_span(&request).ok()
}

fn run(state: &mut MockState, request: &http::Request<Bytes>) -> ControlResult {
    let path = request.uri().path();
    let at_path = || {
        ENDPOINTS
            .iter()
            .filter_map(|endpoint| Some((endpoint, endpoint.matches_path(path)?)))
    };
    let Some((endpoint, id)) = at_path().find(|(endpoint, _)| endpoint.method == request.method())
    else {
        let allowed: Vec<_> = at_path()
            .map(|(endpoint, _)| endpoint.method.as_str())
            .collect();
        return Err(match allowed.is_empty() {
            true => {
                let mut known: Vec<_> = ENDPOINTS.iter().map(|endpoint| endpoint.path).collect();
                known.dedup();
                ControlApiError::unknown_path(path, &known)
            }
            false => ControlApiError::method_not_allowed(path, request.method(), &allowed),
        });
    };
    let limit = if endpoint.method == Method::PUT {
        MAX_STATE_BYTES
    } else {
        MAX_BODY_BYTES
    };
    if request.body().len() > limit {
        return Err(ControlApiError::too_large(limit));
    }
    let query = request.uri().query().unwrap_or_default();
    let request = ControlRequest {
        id,
        query,
        body: request.body(),
    };
    (endpoint.handler)(state, &request).map_err(|error| match endpoint.body {
        "" => error,
        body => error.with_usage(&format!(
            "expected body of {} {}: {body}",
            endpoint.method, endpoint.path
        )),
    })
}

impl Endpoint {
    /// Returns the value of `{id}` if the path matches; empty for endpoints without `{id}`.
    fn matches_path<'p>(&self, path: &'p str) -> Option<&'p str> {
        match self.path.strip_suffix("{id}") {
            None => (path == self.path).then_some(""),
            Some(stem) => path
                .strip_prefix(stem)
                .filter(|id| !id.is_empty() && !id.contains('/')),
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

fn json_response(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(format!("{body}\n")));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

#[cfg(test)]
mod tests;
