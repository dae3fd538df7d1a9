//! Conformance of the mock server to the specification, on each of its frontends.
//!
//! The tests assert only documented behavior. The harness also checks each response of a surface
//! for what applies to all of them, such as the request id and the error envelope.

mod concurrent;
mod document;
mod error_faults;
mod faults;
mod malformed_http;
mod media;
mod modes;
mod real_clock;
mod runs;
mod speed;
mod state;
mod teams;

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{
    Client, FrontendKind, Host, Mock, Receiver, Reply, Response, Setup, mp4, on_every_frontend,
    on_every_socket_frontend, png_size, run_script,
};

mod scripts {
    svc_tests::script_files! {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/conformance/scripts");
        account, auth, avatars, cancel, check_order, concurrency, control, destinations,
        developer, envelopes, error_details, error_faults, faults, idempotency, lifecycle,
        lists, malformed, mcp, media, media_faults, modes, openapi, pricing, rate_limits,
        references, response_bodies, rows, runs_api_keys, runs_cancel, runs_check_order,
        runs_continuation, runs_create_errors, runs_fields, runs_idempotency,
        runs_lifecycle, runs_lists, runs_malformed, runs_queue_runs, runs_read_errors,
        runs_receipts, runs_spend, schedules, scopes, speed, teams, top_ups, validation,
        webhooks_attempts, webhooks_job_events, webhooks_redelivery, webhooks_run_events,
        webhooks_secrets, workspaces,
    }
}

const VIDEO: &str = "/v1/video-router/generate";
const IMAGE: &str = "/v1/image-router/generate";
const TOP_UPS: &str = "/v1/open/top-ups";
const ESTIMATE: &str = "/v1/open/estimate";

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

/// Returns a job's status.
async fn status_of(client: &Client, id: &str) -> String {
    text(&client.get_data(&format!("/v1/jobs/{id}/status")).await["status"])
}

async fn job(client: &Client, id: &str) -> Value {
    client.get_data(&format!("/v1/jobs/{id}")).await
}

async fn job_result(client: &Client, id: &str) -> Value {
    client.get_data(&format!("/v1/jobs/{id}/result")).await
}

/// Cancels a job.
async fn cancel(client: &Client, id: &str) -> Response {
    client.post_empty(&format!("/v1/jobs/{id}/cancel")).await
}

/// Asserts that one of several concurrent submits created something, and that the others got its
/// receipt or were told that the key is in use.
#[track_caller]
fn assert_created_once(responses: &[Response]) {
    let (created, others): (Vec<_>, Vec<_>) = responses.iter().partition(|it| it.status() == 202);
    assert_eq!(created.len(), 1, "{responses:?}");
    for response in others {
        let is_in_use = response.status() == 409 && response.code() == "idempotency_key_in_use";
        assert!(response.status() == 200 || is_in_use, "{response:?}");
    }
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}

/// Parses the absolute value of a dollar amount with four decimal places, in units of 0.0001 USD.
#[track_caller]
fn parse_usd(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("not a string: {value}"));
    let (format_usd, rest) =
        text.trim_start_matches('-').split_once('.').unwrap_or_else(|| panic!("{text:?}"));
    assert_eq!(rest.len(), 4, "decimal places of {text:?}");
    format_usd.parse::<u64>().unwrap() * 10_000 + rest.parse::<u64>().unwrap()
}

/// Returns the amounts of a job's or top-up's ledger entries of a kind, in units of 0.0001 USD.
async fn ledger_amounts(mock: &Mock, kind: &str, owner: &str) -> Vec<u64> {
    let entries = mock.ledger().await;
    let of_owner = |entry: &&Value| {
        entry["kind"] == kind && (entry["job_id"] == owner || entry["top_up_id"] == owner)
    };
    entries.iter().filter(of_owner).map(|entry| parse_usd(&entry["amount_usd"])).collect()
}

/// Returns the available balance, as the error of a job that costs 7.5000 USD reports it.
///
/// The balance has to be lower than that.
async fn available(client: &Client) -> String {
    let expensive =
        json!({"model": "video-l", "prompt": "p", "duration": 30, "resolution": "1080p"});
    let error = client.post_error(VIDEO, expensive, 402, "insufficient_funds").await;
    assert_eq!(error["details"]["required_usd"], "7.5000");
    text(&error["details"]["available_usd"])
}
