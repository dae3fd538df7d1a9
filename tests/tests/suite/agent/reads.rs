//! "Read errors (runs, queues, Formats)".

use svc_mock_server::{InProcess, Setup};
use svc_sdk::contract::{ErrorCode, NextAction};
use svc_sdk::types::{BulkRunCreate, FormatRunCreate, RateLimitScope};
use svc_sdk::{Error, Result};

use super::{client, demo, started};

fn is<T: std::fmt::Debug>(outcome: Result<T>, status: u16, code: ErrorCode) -> Error {
    let error = outcome.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(status), Some(&code)));
    error
}

#[tokio::test(start_paused = true)]
async fn reads_need_a_key_with_the_scope_to_read() {
    let (mock, _) = demo();
    let revoked = client(&mock, "svc_revoked");
    is(revoked.formats().list().await, 401, ErrorCode::Unauthorized);
    let bare = client(&mock, "svc_dev_noscope");
    let scope_of = |error: Error| error.body().unwrap().details().required_scope.clone();
    let rows = [
        (
            is(
                bare.formats().list().await,
                403,
                ErrorCode::InsufficientScope,
            ),
            "formats:read",
        ),
        (
            is(
                bare.format_runs().handle("run_none").get().await,
                403,
                ErrorCode::InsufficientScope,
            ),
            "formats:read",
        ),
        (
            is(
                bare.format_runs().handle("run_none").cancel().await,
                403,
                ErrorCode::InsufficientScope,
            ),
            "formats:write",
        ),
        (
            is(
                bare.format_runs()
                    .handle("run_none")
                    .redeliver_webhook()
                    .await,
                403,
                ErrorCode::InsufficientScope,
            ),
            "formats:write",
        ),
        (
            is(
                bare.queues().handle("frq_none").get().await,
                403,
                ErrorCode::InsufficientScope,
            ),
            "formats:read",
        ),
        (
            is(
                bare.action_runs().handle("run_none").get().await,
                403,
                ErrorCode::InsufficientScope,
            ),
            "actions:read",
        ),
        (
            is(
                bare.agent_runs().handle("run_none").cancel().await,
                403,
                ErrorCode::InsufficientScope,
            ),
            "agent_completions:write",
        ),
    ];
    for (error, scope) in rows {
        assert_eq!(scope_of(error), Some(scope.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_another_owners_reads_as_what_is_not_there() {
    let (mock, demo) = demo();
    let run = started(&demo, "fmt_demo", &FormatRunCreate::new("x")).await;
    let bulk = BulkRunCreate::new([FormatRunCreate::new("x")]);
    let queue = demo.formats().bulk_run("fmt_demo", &bulk).await.unwrap();
    let other = client(&mock, "svc_dev_other");
    for id in [run.id().as_str(), "run_none"] {
        is(
            other.format_runs().handle(id).get().await,
            404,
            ErrorCode::FormatRunNotFound,
        );
        is(
            other.format_runs().handle(id).result().await,
            404,
            ErrorCode::FormatRunNotFound,
        );
        is(
            other.format_runs().handle(id).events().await,
            404,
            ErrorCode::FormatRunNotFound,
        );
        is(
            other.format_runs().handle(id).cancel().await,
            404,
            ErrorCode::FormatRunNotFound,
        );
    }
    for id in [queue.id().as_str(), "frq_none"] {
        is(
            other.queues().handle(id).get().await,
            404,
            ErrorCode::FormatRunQueueNotFound,
        );
    }
    is(
        other.formats().get("fmt_team").await,
        404,
        ErrorCode::FormatNotFound,
    );
    is(
        other.actions().get("act_none").await,
        404,
        ErrorCode::ActionNotFound,
    );
    is(
        other.action_runs().handle("run_none").get().await,
        404,
        ErrorCode::ActionRunNotFound,
    );
    is(
        other.agent_runs().handle("run_none").get().await,
        404,
        ErrorCode::AgentRunNotFound,
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_is_not_there_before_the_run_has_ended() {
    let (_mock, client) = demo();
    let run = started(&client, "fmt_demo", &FormatRunCreate::new("x")).await;
    let error = is(run.result().await, 409, ErrorCode::RunNotCompleted);
    assert_eq!(error.next_action(), Some(NextAction::PollStatus));
    let status = error.body().unwrap().details().status.clone().unwrap();
    assert_eq!(status, "queued");
    assert!(error.retry_after().is_some());
    assert_eq!(error.run_id(), Some(run.id()));
}

#[tokio::test(start_paused = true)]
async fn only_what_has_a_webhook_and_has_ended_is_delivered_again() {
    let (_mock, client) = demo();
    let plain = started(&client, "fmt_demo", &FormatRunCreate::new("x")).await;
    is(
        plain.redeliver_webhook().await,
        409,
        ErrorCode::WebhookNotConfigured,
    );
    let hooked = FormatRunCreate::new("x").webhook_url("https://hooks.example/runs");
    let hooked = started(&client, "fmt_demo", &hooked).await;
    is(
        hooked.redeliver_webhook().await,
        409,
        ErrorCode::RunNotTerminal,
    );
    hooked.wait().await.unwrap();
    let redelivery = hooked.redeliver_webhook().await.unwrap();
    assert_eq!(redelivery.event.as_deref(), Some("format.run.terminal"));
}

#[tokio::test(start_paused = true)]
async fn a_spent_read_budget_says_which_one_it_is() {
    let mock = InProcess::new(Setup::default().read_multiple(1));
    let first = client(&mock, "svc_dev_demo");
    for _ in 0..120 {
        first.formats().list().await.unwrap();
    }
    let second = client(&mock, "svc_dev_demo");
    let error = is(second.formats().list().await, 429, ErrorCode::RateLimited);
    let scope = error.body().unwrap().details().scope.clone().unwrap();
    assert_eq!(scope, RateLimitScope::Read);
}

#[tokio::test(start_paused = true)]
async fn an_outage_while_reading_does_not_end_the_wait() {
    let (mock, client) = demo();
    let run = started(&client, "fmt_demo", &FormatRunCreate::new("x")).await;
    let fault =
        serde_json::json!({"kind": "status_503", "operation": "format_runs_status", "times": 3});
    mock.add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    assert!(run.wait().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_agent_is_told_and_the_run_goes_on() {
    let (_mock, client) = demo();
    let run = started(
        &client,
        "fmt_demo",
        &FormatRunCreate::new("[mock:outage=2]"),
    )
    .await;
    let code = || ErrorCode::StudioAgentUpstreamUnavailable;
    let error = is(run.get().await, 503, code());
    assert!(error.is_retryable() && error.run_id() == Some(run.id()));
    is(run.status().await, 503, code());
    assert!(run.wait().await.is_ok());
}
