//! The mock server does what the specification and the project's decisions say, on each face.
//!
//! Only what is written there is asserted. Every answer of a surface is checked besides for what
//! holds for all answers: a request id, and the error envelope (see `Answer`).

mod account;
mod auth;
mod avatar_resources;
mod avatars;
mod cancel;
mod catalog;
mod checkout;
mod concurrency;
mod control;
mod destinations;
mod developer;
mod envelopes;
mod error_details;
mod events;
mod faults;
mod generation;
mod hostile;
mod idempotency;
mod invalid_fields;
mod job_progress;
mod lifecycle;
mod lists;
mod mcp;
mod mcp_tools;
mod media;
mod modes;
mod order;
mod pagination;
mod previews;
mod pricing;
mod rate_limits;
mod response_bodies;
mod run_receipts;
mod run_rejections;
mod run_webhooks;
mod runs;
mod schema;
mod scopes;
mod state;
mod top_ups;
mod validation;
mod webhooks;

use serde_json::{Value, json};
use svc_tests::{Caller, Mock};

const VIDEO: &str = "/v1/video-router/generate";
const IMAGE: &str = "/v1/image-router/generate";
const TOP_UPS: &str = "/v1/open/top-ups";
const ESTIMATE: &str = "/v1/open/estimate";

/// No entry of the ledger.
const NO_AMOUNTS: [u64; 0] = [];

/// The cheapest video that says everything that it has to: 0.1250 USD, 8 service seconds.
fn video() -> Value {
    json!({"model": "video-l", "prompt": "a red fox", "duration": 2})
}

/// The cheapest image: 0.0050 USD, 2 service seconds.
fn image() -> Value {
    json!({"model": "image-i", "prompt": "a red fox"})
}

/// A video with other words in its prompt.
fn video_of(prompt: &str) -> Value {
    with(video(), json!({"prompt": prompt}))
}

/// A body with these fields added or replaced.
fn with(mut body: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else {
        panic!("no fields: {fields}")
    };
    for (name, value) in fields {
        body[name] = value;
    }
    body
}

/// A body without that field.
fn without(mut body: Value, field: &str) -> Value {
    body.as_object_mut().unwrap().remove(field);
    body
}

/// Submits, and gives the job's id.
async fn submit(caller: &Caller, path: &str, body: Value) -> String {
    text(&caller.post(path, body).await.expect(202).data()["job"]["id"])
}

/// The job's status.
async fn status_of(caller: &Caller, id: &str) -> String {
    text(
        &caller
            .get(&format!("/v1/jobs/{id}/status"))
            .await
            .expect(200)
            .data()["status"],
    )
}

/// A value that has to be text.
#[track_caller]
fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

/// Ten-thousandths of a dollar of a decimal string with four places, whatever its sign.
#[track_caller]
fn units(value: &Value) -> u64 {
    let text = value
        .as_str()
        .unwrap_or_else(|| panic!("money is a string, not {value}"));
    let (dollars, rest) = text
        .trim_start_matches('-')
        .split_once('.')
        .unwrap_or_else(|| panic!("{text:?}"));
    assert_eq!(rest.len(), 4, "four places in {text:?}");
    dollars.parse::<u64>().unwrap() * 10_000 + rest.parse::<u64>().unwrap()
}

/// Ten-thousandths of a dollar as the wire writes them.
fn dollars(units: u64) -> String {
    format!("{}.{:04}", units / 10_000, units % 10_000)
}

/// The amounts of the ledger's entries of that kind for that job or top-up.
async fn amounts(mock: &Mock, kind: &str, owner: &str) -> Vec<u64> {
    let entries = mock.ledger().await;
    let of_owner = |entry: &&Value| {
        entry["kind"] == kind && (entry["job_id"] == owner || entry["top_up_id"] == owner)
    };
    entries
        .iter()
        .filter(of_owner)
        .map(|entry| units(&entry["amount_usd"]))
        .collect()
}

/// What the caller's workspace can spend, as a refusal for want of funds says it.
///
/// The request costs 7.5000, so the balance has to be below that.
async fn available(caller: &Caller) -> String {
    let dear = json!({"model": "video-l", "prompt": "p", "duration": 30, "resolution": "1080p"});
    let error = caller
        .post(VIDEO, dear)
        .await
        .refused(402, "insufficient_funds");
    assert_eq!(error["details"]["required_usd"], "7.5000");
    text(&error["details"]["available_usd"])
}
