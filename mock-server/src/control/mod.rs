//! The control API: what a test or a person may do to the mock from outside of the service.
//!
//! One table says what there is; `GET /`, the answer to an unknown path and `Allow` come from it.
//! All of it is a function of the simulator and the clock, and never waits.

mod actions;
mod error;
mod request;

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

/// The body of any request but `PUT /state`.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// The body of `PUT /state`.
pub(crate) const MAX_STATE_BYTES: usize = 256 * 1024 * 1024;

struct Endpoint {
    method: Method,
    path: &'static str,
    description: &'static str,
    /// The body, as a person would write it; empty where there is none.
    body: &'static str,
    handler: fn(&mut MockState, &ControlRequest<'_>) -> ControlResult,
}

const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: Method::GET,
        path: "/",
        description: "what there is",
        body: "",
        handler: |_, _| Ok((StatusCode::OK, index())),
    },
    Endpoint {
        method: Method::POST,
        path: "/reset",
        description: "back to the start: added keys and faults gone, secrets as they were; the clock goes on",
        body: "",
        handler: actions::reset,
    },
    Endpoint {
        method: Method::GET,
        path: "/clock",
        description: "service time",
        body: "",
        handler: actions::clock,
    },
    Endpoint {
        method: Method::POST,
        path: "/clock/advance",
        description: "move the manual clock and run all that falls due, in order",
        body: r#"{"seconds": N}"#,
        handler: actions::advance_clock,
    },
    Endpoint {
        method: Method::GET,
        path: "/faults",
        description: "the faults that are left",
        body: "",
        handler: actions::faults,
    },
    Endpoint {
        method: Method::POST,
        path: "/faults",
        description: "the next matching requests fail",
        body: r#"{"surface"?, "operation"?, "kind", "times"?, "probability"?, "retry_after_seconds"?, "delay_ms"?}"#,
        handler: actions::add_fault,
    },
    Endpoint {
        method: Method::DELETE,
        path: "/faults",
        description: "none left",
        body: "",
        handler: actions::clear_faults,
    },
    Endpoint {
        method: Method::POST,
        path: "/keys",
        description: "a new key; an unknown workspace is created",
        body: r#"{"kind", "workspace"?, "plan"?, "scopes"?}"#,
        handler: actions::add_key,
    },
    Endpoint {
        method: Method::POST,
        path: "/top-ups/{id}",
        description: "what the payer does: paid, failed or expired",
        body: r#"{"status"}"#,
        handler: actions::settle_top_up,
    },
    Endpoint {
        method: Method::GET,
        path: "/jobs",
        description: "every job",
        body: "",
        handler: actions::jobs,
    },
    Endpoint {
        method: Method::POST,
        path: "/jobs/{id}",
        description: "end a job now: completed, failed or canceled",
        body: r#"{"status", "code"?}"#,
        handler: actions::end_job,
    },
    Endpoint {
        method: Method::GET,
        path: "/requests",
        description: "the journal, after sequence number ?since=N; the newest 10,000",
        body: "",
        handler: actions::requests,
    },
    Endpoint {
        method: Method::GET,
        path: "/deliveries",
        description: "each attempt to deliver a webhook; the newest 10,000",
        body: "",
        handler: actions::deliveries,
    },
    Endpoint {
        method: Method::GET,
        path: "/ledger",
        description: "every entry, and each workspace's balance",
        body: "",
        handler: actions::get_ledger,
    },
    Endpoint {
        method: Method::GET,
        path: "/state",
        description: "the whole state as one document",
        body: "",
        handler: actions::state,
    },
    Endpoint {
        method: Method::PUT,
        path: "/state",
        description: "take up a state: the same requests then get the same answers, ids too",
        body: "the document that GET /state gave",
        handler: actions::restore_state,
    },
];

/// Answers a request of the control API.
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

/// The answer of `GET /clock`.
#[cfg(any(feature = "serve", feature = "in-process"))]
pub(crate) fn clock(state: &mut MockState) -> Response<Bytes> {
    let request = http::Request::new(Bytes::new());
    let (mut parts, body) = request.into_parts();
    parts.uri = http::Uri::from_static("/clock");
    answer(state, &http::Request::from_parts(parts, body))
}

/// How far a request moves the clock, if that is what it soundly asks for. Whoever can wait for
/// webhooks does that first; the request is then answered as that of the clock.
#[cfg(any(feature = "serve", feature = "in-process"))]
pub(crate) fn requested_advance(request: &http::Request<Bytes>) -> Option<Duration> {
    let is_advance = request.method() == Method::POST && request.uri().path() == "/clock/advance";
    let matches_path = is_advance && request.body().len() <= MAX_BODY_BYTES;
    let request = ControlRequest {
        id: "",
        query: "",
        body: request.body(),
    };
    actions::advance_span(&request)
        .ok()
        .filter(|_| matches_path)
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
            "{} {} takes {body}",
            endpoint.method, endpoint.path
        )),
    })
}

impl Endpoint {
    /// What stands in the place of `{id}`; nothing where there is no such place.
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
