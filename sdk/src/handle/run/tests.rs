//! Runs and queues against scripted responses, in virtual time.

use std::time::Duration;

use crate::WebhookNotifier;
use crate::contract::{ErrorCode, RunStatus};
use crate::error::ErrorKind;
use crate::transport::scripted::{Script, Step, data, developer_client, json};
use crate::types::{AgentCompletionCreate, BulkRunCreate, FormatRunCreate, OutputSchema, Usd};

fn receipt(status: &str, more: &str) -> Step {
    let body = format!(r#"{{"data": {{"run_id": "run_1", "status": "{status}"{more}}}}}"#);
    json(if status == "queued" { 202 } else { 200 }, &body)
}

fn poll(status: &str) -> Step {
    let terminal = !matches!(status, "queued" | "running");
    let payload = serde_json::json!({
        "status": status, "terminal": terminal, "next_poll_after_seconds": 2,
    });
    data(200, &payload)
}

fn body() -> FormatRunCreate {
    FormatRunCreate::new("a teaser")
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_run_that_did_not_complete_has_its_receipt() {
    let failed = r#", "artifacts": [{"url": "https://m/a.png"}], "primary_output_url": null,
        "usage": {"billable_amount_usd_micros": 2000000},
        "error": {"code": "incomplete_assembly", "message": "too late",
                  "details": {"pending_job_count": 1, "pending_jobs": [{"id": "job_9"}]}}"#;
    let script = Script::new([poll("failed"), receipt("failed", failed)]);
    let run = developer_client(&script).agent_runs().handle("run_1");
    let error = run.wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RunFailed);
    assert_eq!(error.code(), Some(&ErrorCode::IncompleteAssembly));
    let details = error.body().unwrap().details();
    assert_eq!(details.pending_job_count, Some(1));
    let ended = error.run_receipt().unwrap();
    assert_eq!(ended.artifacts.len(), 1);
    assert_eq!(ended.billable_amount(), Some(Usd::from_micros(2_000_000)));
    assert_eq!(error.to_string(), "run run_1 failed: too late (incomplete_assembly)");

    for (status, is_canceled) in [("canceled", true), ("skipped", false)] {
        let script = Script::new([poll(status), receipt(status, "")]);
        let error = developer_client(&script).action_runs().handle("run_1").wait().await;
        let error = error.unwrap_err();
        assert_eq!(error.kind() == ErrorKind::RunCanceled, is_canceled);
        assert_eq!(error.kind() == ErrorKind::RunSkipped, !is_canceled);
        assert_ne!(error.kind(), ErrorKind::RunFailed);
        assert_eq!(error.run_id(), Some(&"run_1".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_terminal_status_is_neither_a_success_nor_a_failure() {
    for fields in [
        r#", "output": {"title": "Fox"}"#,
        r#", "error": {"code": "too_old"}"#,
        r#", "error": "too old""#,
        "",
    ] {
        let script = Script::new([
            json(200, r#"{"data": {"status": "archived", "terminal": true}}"#),
            receipt("archived", fields),
        ]);
        let run = developer_client(&script).agent_runs().handle("run_1");
        let error = run.wait().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownStatus, "{fields}");
        assert_eq!(error.terminal_status(), Some("archived"));
        assert_eq!(error.run_receipt().unwrap().status, RunStatus::Other("archived".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_completed_run_is_read_until_its_receipt_is_complete() {
    const EARLY: &str = r#"{"data": {"status": "completed", "terminal": true, "result_ready": false, "next_poll_after_seconds": 10}}"#;
    const SETTLING: &str = r#", "output": null, "output_error":
        {"code": "output_extraction_failed", "details": {"reason": "harvest_unavailable"}}"#;

    let over = || receipt("completed", r#", "output": {"title": "Fox"}, "output_error": null"#);
    let (early, settling) = (json(200, EARLY), receipt("completed", SETTLING));
    let busy = json(503, r#"{"error": {"code": "studio_agent_upstream_unavailable"}}"#);
    let gone = json(404, r#"{"error": {"code": "format_run_not_found"}}"#);
    let no_status = json(200, r#"{"data": {"output": 7}}"#);
    // The responses after the first polls, and whether the receipt has its output.
    let rows = [
        (vec![poll("completed"), over()], true),
        (vec![early.clone(), early.clone(), early, poll("completed"), over()], true),
        // A result without a status has that of the poll.
        (vec![poll("completed"), no_status], true),
        // The replica that answers is behind the one that was polled.
        (vec![poll("completed"), receipt("running", ""), over()], true),
        (vec![poll("completed"), settling.clone(), over()], true),
        // What was read is kept if it cannot be read again.
        (vec![poll("completed"), settling, gone], false),
        // Reading is retried for as long as polling.
        ([vec![poll("completed")], vec![busy; 12], vec![over()]].concat(), true),
    ];
    for (steps, has_output) in rows {
        let count = steps.len();
        let script = Script::new(steps);
        let run = developer_client(&script).format_runs().handle("run_1");
        let receipt = run.wait().poll_failure_timeout(Duration::from_secs(900)).await.unwrap();
        assert_eq!(receipt.status, RunStatus::Completed);
        assert_eq!(
            (receipt.output.is_some(), receipt.is_output_pending()),
            (has_output, !has_output)
        );
        assert_eq!(script.requests().len(), count);
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_run_is_not_sent() {
    let script = Script::new([]);
    let client = developer_client(&script);
    let refused = client.formats().run("fmt_1", FormatRunCreate::default());
    assert_eq!(refused.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let no_cap = AgentCompletionCreate::new("x", Usd::ZERO);
    let refused = client.agents().run(no_cap).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidRequest);
    for schema in [serde_json::json!([]), true.into(), "x".into()] {
        let error = crate::Error::from(OutputSchema::new(schema).unwrap_err());
        assert!(error.kind() == ErrorKind::InvalidRequest && !error.may_have_been_sent());
        assert_eq!(error.violations()[0].path, "");
    }
    assert_eq!(script.requests().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn violations_found_by_the_service_are_read_like_local_ones() {
    let script = Script::new([json(
        400,
        r#"{"error": {"code": "output_schema_invalid", "message": "no", "details":
            {"violations": [{"path": "/not", "rule": "unsupported_keyword", "message": "m"}]}}}"#,
    )]);
    let schema = OutputSchema::new(serde_json::json!({"type": "object", "not": {}})).unwrap();
    let body = body().output_schema(schema);
    let start = developer_client(&script).formats().run("fmt_1", body);
    let error = start.await.unwrap_err();
    assert_eq!(error.violations()[0].rule, "unsupported_keyword");
}

fn queue(status: &str, counts: &str, items: &str) -> Step {
    let body = format!(
        r#"{{"data": {{"queue_id": "frq_1", "status": "{status}", "next_poll_after_seconds": 1,
            "counts": {{{counts}}}, "items": [{items}]}}}}"#
    );
    json(if status == "queued" { 202 } else { 200 }, &body)
}

#[tokio::test(start_paused = true)]
async fn a_queue_reports_its_progress_and_the_result_of_each_item() {
    let items = r#"{"index": 0, "run_id": "run_1", "status": "completed"}, {"index": 1, "run_id": null, "status": "skipped"}"#;
    let over = || queue("completed", r#""total": 2, "completed": 1, "skipped": 1"#, items);
    let script = Script::new([
        queue("running", r#""total": 2, "queued": 2"#, ""),
        queue("running", r#""total": 2, "running": 1, "queued": 1"#, ""),
        over(),
        over(),
        receipt("completed", r#", "output": {"title": "Fox"}"#),
    ]);
    let client = developer_client(&script);
    let bulk = BulkRunCreate::new([body(), body()]).concurrency(1);
    let queue = client.formats().bulk_run("fmt_1", bulk).await.unwrap();
    let mut updates = queue.updates();
    let mut ended = Vec::new();
    while let Some(update) = updates.next().await {
        ended.push(update.unwrap().status.counts().ended());
    }
    assert_eq!(ended, [0, 0, 2]);
    let results = queue.results().await.unwrap();
    assert!(results[0].receipt.as_ref().unwrap().output.is_some());
    assert!(results[1].receipt.is_none() && results[1].error.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_conflict_names_the_queue_that_used_the_key() {
    let script = Script::new([json(
        409,
        r#"{"error": {"code": "idempotency_conflict", "message": "m", "details": {"queue_id": "frq_0"}}}"#,
    )]);
    let bulk = BulkRunCreate::new([body()]);
    let start = developer_client(&script).formats().bulk_run("fmt_1", bulk);
    let error = start.await.unwrap_err();
    assert_eq!(error.queue_id(), Some("frq_0".into()));
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_submits_another_resource_is_rejected() {
    use crate::contract::Operation;
    use crate::handle::{AgentRun, JobResource, QueueResource};
    use crate::surface::Developer;

    let script = Script::new([]);
    let client = developer_client(&script);
    let json = serde_json::json!({});
    let wrong =
        client.submit_json::<JobResource<Developer>>(Operation::AgentCompletionsCreate, &[], &json);
    assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let wrong = client.submit_json::<AgentRun>(Operation::FormatsRunsCreate, &["f"], &json);
    assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let wrong = client.submit_json::<QueueResource>(Operation::Video1Generate, &[], &json);
    assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[tokio::test(start_paused = true)]
async fn an_event_about_a_running_run_does_not_end_the_wait() {
    let mut steps: Vec<_> = (0..60).map(|_| poll("running")).collect();
    steps.extend([poll("completed"), receipt("completed", "")]);
    let script = Script::new(steps);
    let notifier = WebhookNotifier::new();
    let event = serde_json::json!({"event": "agent.run.terminal", "run_id": "run_1"});
    notifier.notify(&serde_json::from_value(event).unwrap());
    let run = developer_client(&script).agent_runs().handle("run_1");
    assert_eq!(run.wait().webhook_notifier(&notifier).await.unwrap().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_a_running_run_is_not_a_failure() {
    let script = Script::new([receipt("running", "")]);
    let error = developer_client(&script).agent_runs().handle("run_1").updates().result().await;
    let error = error.unwrap_err();
    assert_ne!(error.kind(), ErrorKind::RunFailed, "{error}");
    assert_eq!(error.next_action(), Some(crate::contract::NextAction::PollStatus));
    assert_eq!(error.run_id(), Some(&"run_1".into()));
}

#[tokio::test(start_paused = true)]
async fn a_damaged_receipt_still_names_the_run() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let url = "https://api.example/v1/agent-runs/run_7/status";
    for body in [
        r#"{"data": {"run_id": "run_7", "status": "queued", "later": 1e999}}"#.to_owned(),
        format!(r#"{{"data": {{"run_id": "run_7", "status": "queued", "later": {deep}}}}}"#),
        r#"{"data": {"run_id": "run_7", "later": 1e999}}"#.to_owned(),
        r#"{"data": {"run_id": "run_7", "status": 5}}"#.to_owned(),
        r#"{"data": {"run_id": null, "status": 5, "id": "run_7"}}"#.to_owned(),
        format!(r#"{{"data": {{"status": null, "status_url": "{url}"}}}}"#),
        r#"{"data": {"run": {"run_id": "run_7", "status": "queued"}}}"#.to_owned(),
    ] {
        let script = Script::new([json(202, &body)]);
        let completion = AgentCompletionCreate::new("x", Usd::from_micros(1));
        let start = developer_client(&script).agents().run(completion);
        let key = start.request().unwrap().idempotency_key.clone();
        let run = start.await.unwrap();
        assert_eq!(run.id().as_str(), "run_7", "{body}");
        assert_eq!(run.idempotency_key(), key.as_ref());
    }
    let queue = r#"{"data": {"queue_id": "frq_7", "later": 1e999}}"#;
    let script = Script::new([json(202, queue)]);
    let bulk = BulkRunCreate::new([body()]);
    let start = developer_client(&script).formats().bulk_run("fmt_1", bulk);
    assert_eq!(start.await.unwrap().id().as_str(), "frq_7");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_is_not_downloaded_as_if_it_were_all() {
    let script = Script::new([json(409, r#"{"error": {"code": "run_not_completed"}}"#)]);
    let folder = tempfile::tempdir().unwrap();
    let run = developer_client(&script).agent_runs().handle("run_1");
    let error = run.download(folder.path()).await.unwrap_err();
    assert_eq!(error.code().unwrap().as_str(), "run_not_completed");
    assert!(script.requests()[0].url.ends_with("/agent-runs/run_1/result"));
}

#[tokio::test(start_paused = true)]
async fn a_field_set_by_its_name_overrules_its_setter_and_is_sent_once() {
    let script = Script::new([receipt("queued", "")]);
    let body = FormatRunCreate::new("first").field("instruction", "second");
    let start = developer_client(&script).formats().run("fmt_1", body);
    start.await.unwrap();
    let sent = String::from_utf8(script.requests()[0].body.to_vec()).unwrap();
    assert_eq!(sent, r#"{"instruction":"second"}"#);
}
