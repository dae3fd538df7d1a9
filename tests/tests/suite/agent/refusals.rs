//! "Format run create errors".

use serde_json::json;
use svc_mock_server::{InProcess, Setup};
use svc_sdk::contract::ErrorCode;
use svc_sdk::types::{BulkRunCreate, FormatRunCreate, RateLimitScope, Usd};
use svc_sdk::{Error, RetryPolicy};

use super::{client, demo, refused};

fn run() -> FormatRunCreate {
    FormatRunCreate::new("a teaser")
}

fn is(error: &Error, status: u16, code: ErrorCode) {
    assert_eq!((error.status(), error.code()), (Some(status), Some(&code)));
    assert!(!error.is_ambiguous(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_used_once_and_a_refused_create_gives_it_back() {
    let (_mock, client) = demo();
    let key: svc_sdk::types::IdempotencyKey = "order-4711".parse().unwrap();
    let post = async |format: &str, body: &FormatRunCreate| {
        let start = client.formats().run(format, body);
        start.idempotency_key(key.clone()).await
    };
    assert!(post("fmt_demo", &run().model("no-such-model")).await.is_err());
    let first = post("fmt_demo", &run()).await.unwrap();
    let again = post("demo/teaser", &run()).await.unwrap();
    assert!(!first.is_replay() && again.is_replay());
    assert_eq!(first.id(), again.id());
    let error = post("fmt_demo", &run().model("video-f")).await.unwrap_err();
    is(&error, 409, ErrorCode::IdempotencyConflict);

    let bulk = |text: &str| BulkRunCreate::new([FormatRunCreate::new(text)]);
    let start = client.formats().bulk_run("fmt_demo", bulk("a"));
    let queue = start.idempotency_key(key.clone()).await.unwrap();
    let start = client.formats().bulk_run("fmt_demo", bulk("b"));
    let error = start.idempotency_key(key).await.unwrap_err();
    is(&error, 409, ErrorCode::IdempotencyConflict);
    assert_eq!(error.queue_id().as_ref(), Some(queue.id()));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_a_prompt_asks_for_has_its_status() {
    let (_mock, client) = demo();
    let rows = [
        ("organization_wallet_not_provisioned", 402, false),
        ("studio_agent_upstream_unavailable", 503, true),
    ];
    for (code, status, retryable) in rows {
        let body = run().instruction(format!("[mock:refuse={code}]"));
        let error = refused(&client, "fmt_demo", &body).await;
        is(&error, status, ErrorCode::from(code));
        assert_eq!(error.is_retryable(), retryable, "{code}");
    }
    // An attempt with the same key is under way, whose outcome is unknown.
    let body = run().instruction("[mock:refuse=idempotency_key_in_use]");
    let error = refused(&client, "fmt_demo", &body).await;
    assert_eq!(error.code(), Some(&ErrorCode::IdempotencyKeyInUse));
    assert!(error.is_ambiguous());
    // A server error proves nothing, even with an envelope.
    let body = run().instruction("[mock:refuse=format_run_failed_to_start]");
    let error = refused(&client, "fmt_demo", &body).await;
    assert_eq!(error.code(), Some(&ErrorCode::FormatRunFailedToStart));
    assert!(error.is_ambiguous() && !error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn a_spent_write_budget_is_waited_for_and_then_told() {
    let mock = InProcess::new(Setup::default());
    let developer = client(&mock, "svc_dev_demo");
    for _ in 0..120 {
        developer.format_runs().handle("run_none").cancel().await.unwrap_err();
    }
    let patient = std::time::Duration::from_secs(2);
    let start = developer.formats().run("fmt_demo", run()).timeout(patient);
    let error = start.await.unwrap_err();
    assert!(error.is_rate_limited() && !error.may_have_been_sent());
    let start = developer.formats().run("fmt_demo", run());
    assert!(start.await.is_ok(), "in the next minute");

    // A client that does not know of the budget yet is told by the service.
    for _ in 0..119 {
        developer.format_runs().handle("run_none").cancel().await.unwrap_err();
    }
    let other = client(&mock, "svc_dev_demo");
    let error = refused(&other, "fmt_demo", &run()).await;
    is(&error, 429, ErrorCode::RateLimited);
    let scope = error.body().unwrap().details().scope.clone();
    assert_eq!(scope, Some(RateLimitScope::Write));
    assert!(error.retry_after().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_sat_out_with_the_same_key() {
    let (mock, _) = demo();
    let patient = crate::developer_client(&mock, "svc_dev_demo")
        .retry(RetryPolicy::default().max_retries(3))
        .build()
        .unwrap();
    let fault = json!({"kind": "drop_after", "operation": "formats_runs_create", "times": 2});
    mock.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
    let cap = Usd::from_micros(3_000_000);
    let body = run().generation_spend_cap_usd(cap);
    let run = patient.formats().run("fmt_demo", &body).await.unwrap();
    assert!(run.is_replay(), "the lost answer's run, not a second one");
    let runs = patient.formats().list_runs("fmt_demo").await.unwrap();
    assert_eq!(runs.items.len(), 1);
    let usage = run.get().await.unwrap().usage.unwrap();
    assert_eq!(usage.generation_spend_cap(), Some(cap));
}
