//! Conformance of the mock server to the specification, on each of its frontends.
//!
//! The tests assert what the specification says and, where it is silent, what the mock defines. The harness also checks each response of a surface
//! for what applies to all of them, such as the request id and the error envelope.

mod document;
mod error_faults;
mod queues;
mod schemas;
mod speed;
mod state;

use serde_json::{Value, json};
use svc_tests::{
    Client, FrontendKind, Host, Mock, Receiver, Response, on_every_frontend, request, run_script,
    try_request,
};

mod scripts {
    svc_tests::script_files! {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/conformance/scripts");
        account, auth, avatars, cancel, check_order, concurrency, control, destinations,
        developer, envelopes, error_details, error_faults, faults, idempotency, lifecycle,
        lists, malformed, mcp, media, media_faults, modes, openapi, pricing, rate_limits, real_clock,
        references, response_bodies, retention, rows, runs_api_keys, runs_cancel, runs_check_order,
        runs_continuation, runs_create_errors, runs_fields, runs_idempotency,
        runs_lifecycle, runs_lists, runs_malformed, runs_queue_runs, runs_read_errors,
        runs_receipts, runs_spend, schedules, scopes, speed, teams, top_ups, validation,
        webhooks_attempts, webhooks_job_events, webhooks_redelivery, webhooks_run_events,
        webhooks_secrets, workspaces,
    }
}

/// The runs of a Format without media output.
const RUNS: &str = "/v1/formats/fmt_demo/runs";

/// Returns a body with fields added or replaced.
fn with(mut body: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("not an object: {fields}") };
    for (name, value) in fields {
        body[name] = value;
    }
    body
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}
