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
use self::request::{Ask, Done};
use crate::mock_state::MockState;

/// The body of any request but `PUT /state`.
const BODY_BYTES: usize = 1024 * 1024;
/// The body of `PUT /state`.
pub(crate) const STATE_BYTES: usize = 256 * 1024 * 1024;

struct Endpoint {
    method: Method,
    path: &'static str,
    does: &'static str,
    /// The body, as a person would write it; empty where there is none.
    body: &'static str,
    run: fn(&mut MockState, &Ask<'_>) -> Done,
}

const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: Method::GET,
        path: "/",
        does: "what there is",
        body: "",
        run: |_, _| Ok((StatusCode::OK, index())),
    },
    Endpoint {
        method: Method::POST,
        path: "/reset",
        does: "back to the start: added keys and faults gone, secrets as they were; the clock goes on",
        body: "",
        run: actions::reset,
    },
    Endpoint {
        method: Method::GET,
        path: "/clock",
        does: "service time",
        body: "",
        run: actions::clock,
    },
    Endpoint {
        method: Method::POST,
        path: "/clock/advance",
        does: "move the manual clock and run all that falls due, in order",
        body: r#"{"seconds": N}"#,
        run: actions::advance_clock,
    },
    Endpoint {
        method: Method::GET,
        path: "/faults",
        does: "the faults that are left",
        body: "",
        run: actions::faults,
    },
    Endpoint {
        method: Method::POST,
        path: "/faults",
        does: "the next matching requests fail",
        body: r#"{"surface"?, "operation"?, "kind", "times"?, "probability"?, "retry_after_seconds"?, "delay_ms"?}"#,
        run: actions::add_fault,
    },
    Endpoint {
        method: Method::DELETE,
        path: "/faults",
        does: "none left",
        body: "",
        run: actions::clear_faults,
    },
    Endpoint {
        method: Method::POST,
        path: "/keys",
        does: "a new key; an unknown workspace is created",
        body: r#"{"kind", "workspace"?, "plan"?, "scopes"?}"#,
        run: actions::add_key,
    },
    Endpoint {
        method: Method::POST,
        path: "/top-ups/{id}",
        does: "what the payer does: paid, failed or expired",
        body: r#"{"status"}"#,
        run: actions::settle_top_up,
    },
    Endpoint {
        method: Method::GET,
        path: "/jobs",
        does: "every job",
        body: "",
        run: actions::jobs,
    },
    Endpoint {
        method: Method::POST,
        path: "/jobs/{id}",
        does: "end a job now: completed, failed or canceled",
        body: r#"{"status", "code"?}"#,
        run: actions::end_job,
    },
    Endpoint {
        method: Method::GET,
        path: "/requests",
        does: "the journal, after sequence number ?since=N; the newest 10,000",
        body: "",
        run: actions::requests,
    },
    Endpoint {
        method: Method::GET,
        path: "/deliveries",
        does: "each attempt to deliver a webhook; the newest 10,000",
        body: "",
        run: actions::deliveries,
    },
    Endpoint {
        method: Method::GET,
        path: "/ledger",
        does: "every entry, and each workspace's balance",
        body: "",
        run: actions::whole_ledger,
    },
    Endpoint {
        method: Method::GET,
        path: "/state",
        does: "the whole state as one document",
        body: "",
        run: actions::state,
    },
    Endpoint {
        method: Method::PUT,
        path: "/state",
        does: "take up a state: the same requests then get the same answers, ids too",
        body: "the document that GET /state gave",
        run: actions::put_state,
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
pub(crate) fn asked_to_advance(request: &http::Request<Bytes>) -> Option<Duration> {
    let asked = request.method() == Method::POST && request.uri().path() == "/clock/advance";
    let fits = asked && request.body().len() <= BODY_BYTES;
    let ask = Ask {
        id: "",
        query: "",
        body: request.body(),
    };
    actions::span(&ask).ok().filter(|_| fits)
}

fn run(state: &mut MockState, request: &http::Request<Bytes>) -> Done {
    let path = request.uri().path();
    let at_path = || {
        ENDPOINTS
            .iter()
            .filter_map(|endpoint| Some((endpoint, endpoint.fits(path)?)))
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
                ControlApiError::no_such_path(path, &known)
            }
            false => ControlApiError::method(path, request.method(), &allowed),
        });
    };
    let limit = if endpoint.method == Method::PUT {
        STATE_BYTES
    } else {
        BODY_BYTES
    };
    if request.body().len() > limit {
        return Err(ControlApiError::too_large(limit));
    }
    let query = request.uri().query().unwrap_or_default();
    let ask = Ask {
        id,
        query,
        body: request.body(),
    };
    (endpoint.run)(state, &ask).map_err(|error| match endpoint.body {
        "" => error,
        body => error.with_usage(&format!(
            "{} {} takes {body}",
            endpoint.method, endpoint.path
        )),
    })
}

impl Endpoint {
    /// What stands in the place of `{id}`; nothing where there is no such place.
    fn fits<'p>(&self, path: &'p str) -> Option<&'p str> {
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
            "does": endpoint.does,
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
