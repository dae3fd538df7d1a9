//! The request pipeline: routing, fault injection, checks, dispatch, and the entry in the request log.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, Method, Response};
use serde_json::Value;
use svc_sdk::contract::{ErrorCode, Operation};

use super::api_error::ApiError;
use super::dispatch::dispatch;
use super::pending_reply::predict;
use super::request::Request;
use super::response::{ApiResponse, JobWait, error_response, json_response};
use super::route::Route;
use super::{apply_fault, mcp, media_host, request_checks};
use crate::engine::credential::Credential;
use crate::engine::fault_rules::FaultScope;
use crate::engine::keys::ApiKey;
use crate::engine::request_log::LoggedHeaders;
use crate::engine::{
    Fault, FaultKind, Host, HostRequest, Hosts, PendingReply, Reply, State, request_log,
};

/// Handles a request and records it in the request log.
pub(crate) fn handle(state: &mut State, hosts: &Hosts, call: &HostRequest) -> Reply {
    let route = Route::resolve(call, hosts);
    let request_id = state.rng.id("req");
    let credential = Credential::from_headers(call.request.headers());
    let key = match credential {
        Credential::Key(secret) => state.keys.get(secret).cloned(),
        _ => None,
    };
    // Files and checkout pages, which need no key, are those of a workspace.
    let owner = || route.owner(state).map(Arc::from);
    let workspace = key.as_ref().map(|key| key.workspace.clone()).or_else(owner);
    let applied = {
        let scope = FaultScope {
            workspace: workspace.as_deref(),
            key: key.as_ref().map(|key| &*key.id),
            body: call.request.body(),
        };
        let rng = &mut state.fault_rng;
        state.fault_rules.next_fault(call.host, route.fault_target(), scope, rng)
    };
    let (fault_id, fault) = applied.unzip();
    let mut reply = match call.host {
        Host::Open | Host::Developer => {
            let caller = (credential, key.as_ref());
            handle_api_request(state, hosts, call, caller, &route, &request_id, fault.as_ref())
        }
        Host::Media | Host::Control if has_several_hosts(call) => {
            let error = several_hosts_error();
            Reply::immediate(error_response(call.host, &request_id, &HeaderMap::new(), &error))
        }
        Host::Media | Host::Control => {
            let fault_response = fault.as_ref().and_then(|fault| {
                apply_fault::fault_response(fault, call.host, None, &request_id, &HeaderMap::new())
            });
            let kind = fault.as_ref().map(|fault| fault.kind);
            let has_other_etag = kind == Some(FaultKind::ChangedEtag);
            Reply::immediate(fault_response.unwrap_or_else(|| {
                media_host::respond(state, hosts, call, &route, &request_id, has_other_etag)
            }))
        }
    };
    reply.delay = fault.as_ref().map_or(Duration::ZERO, apply_fault::delay);
    let kind = fault.map(|fault| fault.kind);
    apply_fault::apply_fault(&mut reply, kind);
    if let Some(pending) = &mut reply.pending {
        pending.fault = kind;
    }
    if call.request.method() == Method::HEAD {
        strip_body(&mut reply.response);
    }
    let predicted = reply.pending.as_ref().map(|pending| predict(state, hosts, pending));
    let entry = request_log::LoggedRequest {
        seq: 0,
        at: state.now,
        method: request_log::method_name(call.request.method()),
        path: request_log::truncated(
            call.request.uri().path_and_query().map_or("/", |path| path.as_str()),
        )
        .to_owned(),
        surface: call.host,
        operation: route.name().map(Cow::Borrowed),
        headers: LoggedHeaders::new(call.request.headers()),
        workspace,
        key: key.map(|key| key.id),
        request_id,
        status: apply_fault::status_of(predicted.as_ref().unwrap_or(&reply)),
        code: error_code(&reply.response),
        fault: kind,
        fault_id,
    };
    let seq = state.request_log.write(entry);
    if let Some(pending) = &mut reply.pending {
        pending.request_seq = seq;
    }
    reply
}

/// Handles a request to the open or the developer surface.
fn handle_api_request(
    state: &mut State,
    hosts: &Hosts,
    call: &HostRequest,
    caller: (Credential<'_>, Option<&ApiKey>),
    route: &Route,
    request_id: &str,
    fault: Option<&Fault>,
) -> Reply {
    let mut caller_check = request_checks::check_caller(state, hosts, call, caller, route);
    if caller_check.error.is_none() && has_several_hosts(call) {
        caller_check.error = Some(several_hosts_error());
    }
    let headers = caller_check.headers;
    if let Some(response) = fault.and_then(|fault| {
        apply_fault::fault_response(fault, call.host, route.operation(), request_id, &headers)
    }) {
        return Reply::immediate(response);
    }
    if let (None, Some(caller), Route::Operation(Operation::Mcp, _)) =
        (&caller_check.error, caller_check.caller, route)
    {
        let mut request = mcp::McpRequest { state, hosts, call, caller, request_id };
        return Reply::immediate(mcp::respond(&mut request, headers));
    }
    let outcome = match (caller_check.error, route) {
        (Some(error), _) => Err(error),
        (None, Route::Operation(operation, segments)) => {
            request_checks::check_request(call, *operation, caller_check.caller).and_then(|body| {
                dispatch(&mut Request {
                    state,
                    hosts,
                    host: call.host,
                    operation: *operation,
                    segments,
                    query: call.request.uri().query().unwrap_or_default(),
                    headers: call.request.headers(),
                    body,
                    caller: caller_check.caller,
                    request_id,
                    max_spend: None,
                })
            })
        }
        (None, Route::OtherMethod { allow, .. }) => {
            let message = format!("method not allowed: this path supports {allow}");
            Err(ApiError::new(ErrorCode::MethodNotAllowed, message).allow(allow))
        }
        (None, _) => Err(ApiError::unknown_path()),
    };
    match outcome {
        Ok(response) => success(call.host, request_id, headers, response),
        Err(error) => Reply::immediate(error_response(call.host, request_id, &headers, &error)),
    }
}

/// Returns the reply for the result of a handler, pending if the result waits for a job.
fn success(host: Host, request_id: &str, headers: HeaderMap, response: ApiResponse) -> Reply {
    let pending = response.wait.map(|JobWait { job_id, until, receipt }| PendingReply {
        job_id,
        until,
        host,
        request_id: request_id.to_owned(),
        receipt,
        headers: headers.clone(),
        fault: None,
        request_seq: 0,
    });
    let response = json_response(response.status, request_id, headers, response.body);
    Reply { pending, ..Reply::immediate(response) }
}

fn has_several_hosts(call: &HostRequest) -> bool {
    call.request.headers().get_all(HOST).iter().nth(1).is_some()
}

fn several_hosts_error() -> ApiError {
    ApiError::field("Host", "must be sent once")
}

fn error_code(response: &Response<Bytes>) -> Option<String> {
    if response.status().is_success() {
        return None;
    }
    let body: Value = serde_json::from_slice(response.body()).ok()?;
    let code = body.get("error")?.get("code")?.as_str()?;
    Some(code.to_owned())
}

/// Removes the body and keeps its length in `content-length`, as `HEAD` requires.
fn strip_body(response: &mut Response<Bytes>) {
    let length = response.body().len();
    if length > 0 {
        response.headers_mut().insert(http::header::CONTENT_LENGTH, length.into());
        *response.body_mut() = Bytes::new();
    }
}
