//! "Read errors (runs, queues, Formats)".

use svc_sdk::contract::{ErrorCode, NextAction};
use svc_sdk::types::FormatRunCreate;
use svc_sdk::{Error, Result};

use super::{demo, started};

fn is<T: std::fmt::Debug>(outcome: Result<T>, status: u16, code: ErrorCode) -> Error {
    let error = outcome.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(status), Some(&code)));
    error
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
async fn an_outage_while_reading_does_not_end_the_wait() {
    let (mock, client) = demo();
    let run = started(&client, "fmt_demo", &FormatRunCreate::new("x")).await;
    let fault =
        serde_json::json!({"kind": "status_503", "operation": "format_runs_status", "times": 3});
    mock.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
    assert!(run.wait().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_agent_is_told_and_the_run_goes_on() {
    let (_mock, client) = demo();
    let run = started(&client, "fmt_demo", &FormatRunCreate::new("[mock:outage=2]")).await;
    let code = || ErrorCode::StudioAgentUpstreamUnavailable;
    let error = is(run.get().await, 503, code());
    assert!(error.is_retryable() && error.run_id() == Some(run.id()));
    is(run.status().await, 503, code());
    assert!(run.wait().await.is_ok());
}
