//! The way of every request from its arrival to its reply: fault injection, checks, dispatch, and an
//! entry in the journal.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use svc_sdk::contract::{ErrorCode, Operation};

use super::api_error::Failure;
use super::dispatch::dispatch;
use super::pending_reply::foresee;
use super::request::Request;
use super::response::{Answer, Headers, Wait, json_response, refusal};
use super::route::Route;
use super::{apply_fault, mcp, media_host, request_checks};
use crate::engine::{Call, Fault, Hold, Host, Hosts, Reply, State, journal};

/// Answers a request and writes it into the journal.
pub(crate) fn handle(state: &mut State, hosts: &Hosts, call: &Call) -> Reply {
    let route = Route::of(call, hosts);
    let request_id = state.chance.id("req");
    let fault = state
        .faults
        .strike(call.host, route.name(), &mut state.dice);
    let mut reply = match call.host {
        Host::Open | Host::Developer => {
            on_a_surface(state, hosts, call, &route, &request_id, fault.as_ref())
        }
        Host::Media | Host::Control => {
            let instead = fault.as_ref().and_then(|fault| {
                let budget = route.budget(call.request.method());
                apply_fault::instead(fault, call.host, budget, &request_id, &Headers::new())
            });
            Reply::now(
                instead
                    .unwrap_or_else(|| media_host::answer(state, hosts, call, &route, &request_id)),
            )
        }
    };
    reply.delay = fault.as_ref().map_or(Duration::ZERO, apply_fault::delay);
    let kind = fault.map(|fault| fault.kind);
    apply_fault::befall(&mut reply, kind);
    if let Some(hold) = &mut reply.hold {
        hold.fault = kind;
    }
    if call.request.method() == Method::HEAD {
        without_body(&mut reply.response);
    }
    let shown = reply.hold.as_ref().map(|hold| foresee(state, hosts, hold));
    let entry = journal::Entry {
        seq: 0,
        at: state.now,
        method: call.request.method().as_str().to_owned(),
        path: journal::shortened(
            call.request
                .uri()
                .path_and_query()
                .map_or("/", |path| path.as_str()),
        ),
        surface: call.host,
        operation: route.name().map(str::to_owned),
        headers: journal::redacted(call.request.headers()),
        request_id,
        status: apply_fault::status_of(shown.as_ref().unwrap_or(&reply)),
        fault: kind,
    };
    let seq = state.journal.write(entry);
    if let Some(hold) = &mut reply.hold {
        hold.journal_seq = seq;
    }
    reply
}

/// A request of the open or the developer surface.
fn on_a_surface(
    state: &mut State,
    hosts: &Hosts,
    call: &Call,
    route: &Route,
    request_id: &str,
    fault: Option<&Fault>,
) -> Reply {
    let admission = request_checks::admit(state, call, route);
    let headers = admission.headers;
    let budget = route.budget(call.request.method());
    if let Some(response) =
        fault.and_then(|fault| apply_fault::instead(fault, call.host, budget, request_id, &headers))
    {
        return Reply::now(response);
    }
    if let (None, Some(caller), Route::Operation(Operation::Mcp, _)) =
        (&admission.refused, &admission.caller, route)
    {
        let mut exchange = mcp::Exchange {
            state,
            hosts,
            call,
            caller,
            request_id,
        };
        return Reply::now(mcp::answer(&mut exchange, &headers));
    }
    let outcome = match (admission.refused, route) {
        (Some(failure), _) => Err(failure),
        (None, Route::Operation(operation, segments)) => {
            request_checks::check(call, *operation, admission.caller.as_ref()).and_then(|body| {
                dispatch(&mut Request {
                    state,
                    hosts,
                    host: call.host,
                    operation: *operation,
                    segments: segments.clone(),
                    query: call.request.uri().query().unwrap_or_default(),
                    headers: call.request.headers(),
                    body,
                    caller: admission.caller.clone(),
                    request_id,
                    ceiling: None,
                })
            })
        }
        (None, Route::OtherMethod { allow, .. }) => {
            let message = format!("This path takes {allow}.");
            Err(Failure::new(ErrorCode::MethodNotAllowed, message).allow(allow))
        }
        (None, _) => Err(Failure::new(
            ErrorCode::NotFound,
            "There is nothing at this path.",
        )),
    };
    match outcome {
        Ok(answer) => accepted(call.host, request_id, headers, answer),
        Err(failure) => Reply::now(refusal(call.host, request_id, &headers, &failure)),
    }
}

fn accepted(host: Host, request_id: &str, headers: Headers, answer: Answer) -> Reply {
    let mut reply = Reply::now(json_response(
        answer.status,
        request_id,
        &headers,
        &answer.body,
    ));
    reply.hold = answer.wait.map(
        |Wait {
             job_id,
             until,
             receipt,
         }| Hold {
            job_id,
            until,
            host,
            request_id: request_id.to_owned(),
            receipt,
            headers,
            fault: None,
            journal_seq: 0,
        },
    );
    reply
}

/// Leaves the body out and says how long it would have been.
fn without_body(response: &mut Response<Bytes>) {
    let length = response.body().len();
    if length > 0 {
        response
            .headers_mut()
            .insert(http::header::CONTENT_LENGTH, length.into());
        *response.body_mut() = Bytes::new();
    }
}
