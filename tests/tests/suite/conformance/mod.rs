//! Conformance of the mock server to the specification, on each of its frontends.
//!
//! The tests assert only documented behavior. The harness also checks each response of a surface
//! for what applies to all of them, such as the request id and the error envelope.

mod concurrent;
mod document;
mod error_faults;
mod queues;
mod real_clock;
mod schemas;
mod speed;
mod state;

use serde_json::{Value, json};
use svc_tests::{
    Client, FrontendKind, Host, Mock, Receiver, Reply, Response, Setup, on_every_frontend,
    on_every_socket_frontend, run_script,
};

mod scripts {
    svc_tests::script_files! {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/conformance/scripts");
        account, auth, avatars, cancel, check_order, concurrency, control, destinations,
        developer, envelopes, error_details, error_faults, faults, idempotency, lifecycle,
        lists, malformed, mcp, media, media_faults, modes, openapi, pricing, rate_limits,
        references, response_bodies, retention, rows, runs_api_keys, runs_cancel, runs_check_order,
        runs_continuation, runs_create_errors, runs_fields, runs_idempotency,
        runs_lifecycle, runs_lists, runs_malformed, runs_queue_runs, runs_read_errors,
        runs_receipts, runs_spend, schedules, scopes, speed, teams, top_ups, validation,
        webhooks_attempts, webhooks_job_events, webhooks_redelivery, webhooks_run_events,
        webhooks_secrets, workspaces,
    }
}

const VIDEO: &str = "/v1/video-router/generate";
const IMAGE: &str = "/v1/image-router/generate";
/// The runs of a Format without media output.
const RUNS: &str = "/v1/formats/fmt_demo/runs";

/// Returns the cheapest valid video request: 0.1250 USD, 8 seconds of processing.
fn video() -> Value {
    json!({"model": "video-l", "prompt": "a red fox", "duration": 2})
}

/// Returns the cheapest valid image request: 0.0050 USD, 2 seconds of processing.
fn image() -> Value {
    json!({"model": "image-i", "prompt": "a red fox"})
}

/// Returns the video request with another prompt.
fn video_with_prompt(prompt: &str) -> Value {
    with(video(), json!({"prompt": prompt}))
}

/// Returns a body with fields added or replaced.
fn with(mut body: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("not an object: {fields}") };
    for (name, value) in fields {
        body[name] = value;
    }
    body
}

/// Submits a job and returns its id.
async fn submit(client: &Client, path: &str, body: Value) -> String {
    text(&client.post_data(path, body, 202).await["job"]["id"])
}

async fn job(client: &Client, id: &str) -> Value {
    client.get_data(&format!("/v1/jobs/{id}")).await
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}
