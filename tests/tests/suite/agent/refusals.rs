//! "Format run create errors".

use serde_json::json;
use svc_mock_server::{InProcess, Setup};
use svc_sdk::contract::{ErrorCode, NextAction, RunStatus};
use svc_sdk::types::{
    Attachment, BulkRunCreate, FormatRunCreate, OnActiveRun, OutputSchema, RateLimitScope, Usd,
};
use svc_sdk::{Error, RetryPolicy};

use super::{client, demo, refused, started};

fn run() -> FormatRunCreate {
    FormatRunCreate::new("a teaser")
}

fn is(error: &Error, status: u16, code: ErrorCode) {
    assert_eq!((error.status(), error.code()), (Some(status), Some(&code)));
    assert!(!error.is_ambiguous(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn fields_that_can_never_be_right_are_refused() {
    let (_mock, client) = demo();
    let rows = [
        run().model("no-such-model"),
        run().field("on_active_run", "queue"),
        run().webhook_url("https://10.0.0.1/hook"),
        run().webhook_url("https://a.example/").field(
            "communication",
            json!({"webhook_url": "https://b.example/"}),
        ),
        FormatRunCreate::default().field("instruction", 7),
        FormatRunCreate::default().field("generation_spend_cap_usd", 0),
    ];
    for body in rows {
        let error = refused(&client, "fmt_demo", &body).await;
        is(&error, 400, ErrorCode::InvalidRequest);
        assert_eq!(error.next_action(), Some(NextAction::FixInput));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_field_comes_with_the_likely_one() {
    let (_mock, client) = demo();
    let error = refused(&client, "fmt_demo", &run().field("thread_id", "t")).await;
    is(&error, 400, ErrorCode::UnknownParameter);
    let errors = &error.body().unwrap().details().errors;
    assert_eq!(errors[0].suggestion.as_deref(), Some("previous_run_id"));
}

#[tokio::test(start_paused = true)]
async fn a_schema_outside_the_subset_has_the_same_violations_here_and_there() {
    let (_mock, client) = demo();
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "x"}, "b": {"type": ["string", "null"]}}
    });
    let here = OutputSchema::new(schema.clone()).unwrap_err().violations;
    let body = run().output_schema(OutputSchema::new_unchecked(schema));
    let error = refused(&client, "fmt_demo", &body).await;
    is(&error, 400, ErrorCode::OutputSchemaInvalid);
    let place = |it: &svc_sdk::types::SchemaViolation| (it.path.clone(), it.rule.clone());
    let there: Vec<_> = error.violations().iter().map(place).collect();
    assert_eq!(here.iter().map(place).collect::<Vec<_>>(), there);
    assert_eq!(there.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn attachments_are_judged_one_by_one() {
    let (_mock, client) = demo();
    let with = |attachment| run().attachment(attachment);
    let rows = [
        (
            run().field(
                "attachments",
                json!([{"url": "https://a.example/", "asset_id": "b"}]),
            ),
            400,
            ErrorCode::InvalidAttachment,
        ),
        (
            with(Attachment::from_asset("asset_none")),
            400,
            ErrorCode::AttachmentNotFound,
        ),
        (
            with(Attachment::from_asset("asset_poster")),
            413,
            ErrorCode::AttachmentTooLarge,
        ),
        (
            run().instruction("[mock:refuse=attachment_fetch_failed]"),
            502,
            ErrorCode::AttachmentFetchFailed,
        ),
    ];
    for (body, status, code) in rows {
        let error = refused(&client, "fmt_demo", &body).await;
        is(&error, status, code);
        assert_eq!(error.next_action(), Some(NextAction::FixInput), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_run_that_has_something_to_continue_is_continued() {
    let (_mock, client) = demo();
    let done = started(&client, "fmt_demo", &run()).await;
    done.wait().await.unwrap();
    let continued = FormatRunCreate::continue_from(done.id());
    let next = started(&client, "fmt_demo", &continued).await;
    assert_eq!(
        next.receipt().unwrap().previous_run_id.as_ref(),
        Some(done.id())
    );
    next.wait().await.unwrap();

    let error = refused(&client, "fmt_media", &continued).await;
    is(&error, 400, ErrorCode::PreviousRunFormatMismatch);
    let error = refused(
        &client,
        "fmt_demo",
        &FormatRunCreate::continue_from("run_none"),
    )
    .await;
    is(&error, 404, ErrorCode::PreviousRunNotFound);

    let stuck = started(&client, "fmt_demo", &run().instruction("[mock:stuck]")).await;
    let error = refused(
        &client,
        "fmt_demo",
        &FormatRunCreate::continue_from(stuck.id()),
    )
    .await;
    is(&error, 409, ErrorCode::PreviousRunNotTerminal);

    let skipped = started(&client, "fmt_demo", &run().instruction("[mock:skip]")).await;
    assert!(skipped.wait().await.unwrap_err().is_run_skipped());
    let error = refused(
        &client,
        "fmt_demo",
        &FormatRunCreate::continue_from(skipped.id()),
    )
    .await;
    is(&error, 400, ErrorCode::PreviousRunNotResumable);
    let details = error.body().unwrap().details();
    assert_eq!(details.previous_run_status, Some(RunStatus::Skipped));
    assert_eq!(details.has_thread, Some(false));
    assert_eq!(details.artifact_count, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_wallet_that_cannot_fund_a_run_is_to_be_filled() {
    let mock = InProcess::new(Setup::default().balance_usd(0));
    let client = client(&mock, "svc_dev_demo");
    let error = refused(&client, "fmt_demo", &run()).await;
    is(&error, 402, ErrorCode::InsufficientCredits);
    assert!(error.is_insufficient_funds());
    assert_eq!(error.next_action(), Some(NextAction::AddFunds));
}

#[tokio::test(start_paused = true)]
async fn a_key_runs_only_what_it_may() {
    let (mock, _) = demo();
    let error = refused(&client(&mock, "svc_dev_noscope"), "fmt_none", &run()).await;
    is(&error, 403, ErrorCode::InsufficientScope);
    let error = refused(&client(&mock, "svc_sa_demo"), "fmt_demo", &run()).await;
    is(&error, 403, ErrorCode::InsufficientScope);
    let reason = error.body().unwrap().details().reason.as_deref();
    assert_eq!(reason, Some("service_account_format_runs_unsupported"));
    let error = refused(&client(&mock, "svc_dev_demo"), "fmt_team", &run()).await;
    is(&error, 403, ErrorCode::WorkspaceKeyRequired);
    let own = started(&client(&mock, "svc_team_demo"), "fmt_team", &run()).await;
    assert!(own.wait().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_format_that_cannot_be_run_says_why() {
    let (_mock, client) = demo();
    let rows = [
        ("fmt_none", 404, ErrorCode::FormatNotFound),
        ("nobody/nothing", 404, ErrorCode::FormatNotFound),
        ("fmt_archived", 404, ErrorCode::FormatNotFound),
        ("fmt_inactive", 409, ErrorCode::FormatInactive),
        ("fmt_no_trigger", 409, ErrorCode::FormatApiTriggerDisabled),
        ("fmt_builtin", 409, ErrorCode::FormatNotForkable),
    ];
    for (format, status, code) in rows {
        is(&refused(&client, format, &run()).await, status, code);
    }
    started(&client, "fmt_demo", &run().instruction("[mock:stuck]")).await;
    let alone = run().on_active_run(OnActiveRun::Reject);
    let error = refused(&client, "fmt_demo", &alone).await;
    is(&error, 409, ErrorCode::FormatRunInProgress);
    assert!(!error.is_retryable() && !error.is_ambiguous());
}

#[tokio::test(start_paused = true)]
async fn a_key_is_used_once_and_a_refused_create_gives_it_back() {
    let (_mock, client) = demo();
    let key: svc_sdk::types::IdempotencyKey = "order-4711".parse().unwrap();
    let post = async |format: &str, body: &FormatRunCreate| {
        let start = client.formats().run(format, body);
        start.idempotency_key(key.clone()).await
    };
    assert!(
        post("fmt_demo", &run().model("no-such-model"))
            .await
            .is_err()
    );
    let first = post("fmt_demo", &run()).await.unwrap();
    let again = post("demo/teaser", &run()).await.unwrap();
    assert!(!first.is_replay() && again.is_replay());
    assert_eq!(first.id(), again.id());
    let error = post("fmt_demo", &run().model("video-f")).await.unwrap_err();
    is(&error, 409, ErrorCode::IdempotencyConflict);
    assert!(error.is_idempotency_conflict());

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
        ("idempotency_key_in_use", 409, true),
        ("studio_agent_upstream_unavailable", 503, true),
    ];
    for (code, status, retryable) in rows {
        let body = run().instruction(format!("[mock:refuse={code}]"));
        let error = refused(&client, "fmt_demo", &body).await;
        is(&error, status, ErrorCode::from(code));
        assert_eq!(error.is_retryable(), retryable, "{code}");
    }
    // A server error proves nothing, even with an envelope.
    let body = run().instruction("[mock:refuse=format_run_failed_to_start]");
    let error = refused(&client, "fmt_demo", &body).await;
    assert_eq!(error.code(), Some(&ErrorCode::FormatRunFailedToStart));
    assert!(error.is_ambiguous() && !error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn a_body_over_four_mebibytes_is_too_large() {
    let (_mock, client) = demo();
    let error = refused(&client, "fmt_demo", &run().instruction("x".repeat(4 << 20))).await;
    is(&error, 413, ErrorCode::PayloadTooLarge);
    assert_eq!(error.body().unwrap().details().limit_bytes, Some(4 << 20));
}

/// `unsupported_media_type` is a refusal that the SDK cannot provoke: it always sends JSON.
#[tokio::test(start_paused = true)]
async fn a_body_always_goes_as_json() {
    let (_mock, client) = demo();
    let start = client.formats().run("fmt_demo", run());
    let request = start.request().unwrap();
    assert!(format!("{request:?}").contains("FormatsRunsCreate"));
    assert!(start.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_spent_write_budget_is_waited_for_and_then_told() {
    let mock = InProcess::new(Setup::default());
    let developer = client(&mock, "svc_dev_demo");
    for _ in 0..120 {
        developer
            .format_runs()
            .handle("run_none")
            .cancel()
            .await
            .unwrap_err();
    }
    let patient = std::time::Duration::from_secs(2);
    let start = developer.formats().run("fmt_demo", run()).timeout(patient);
    let error = start.await.unwrap_err();
    assert!(error.is_rate_limited() && !error.may_have_been_sent());
    let start = developer.formats().run("fmt_demo", run());
    assert!(start.await.is_ok(), "in the next minute");

    // A client that does not know of the budget yet is told by the service.
    for _ in 0..119 {
        developer
            .format_runs()
            .handle("run_none")
            .cancel()
            .await
            .unwrap_err();
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
    let patient = svc_sdk::developer::Client::builder()
        .base_url(mock.developer_base_url())
        .api_key(svc_sdk::ApiKey::new("svc_dev_demo").unwrap())
        .transport(std::sync::Arc::new(mock.clone()))
        .retry(RetryPolicy::default().max_retries(3))
        .build()
        .unwrap();
    let fault = json!({"kind": "drop_after", "operation": "formats_runs_create", "times": 2});
    mock.add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    let cap = Usd::from_micros(3_000_000);
    let body = run().generation_spend_cap(cap);
    let run = patient.formats().run("fmt_demo", &body).await.unwrap();
    assert!(run.is_replay(), "the lost answer's run, not a second one");
    let runs = patient.formats().list_runs("fmt_demo").await.unwrap();
    assert_eq!(runs.items.len(), 1);
    let usage = run.get().await.unwrap().usage.unwrap();
    assert_eq!(usage.generation_spend_cap(), Some(cap));
}
