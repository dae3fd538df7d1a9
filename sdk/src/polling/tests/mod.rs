//! Waits against scripted responses, in virtual time.

mod hints;
mod many_jobs;
mod sleep;

use std::sync::Arc;
use std::time::Duration;

use super::{Wait, WebhookNotifier};
use crate::call::clock;
use crate::contract::ErrorCode;
use crate::error::ErrorKind;
use crate::handle::{JobHandle, JobResource};
use crate::surface::Open;
use crate::transport::scripted::{Script, Step, data, developer_client, json, open_client};
use crate::types::VideoGenerate;

const COMPLETED: &str = r#"{"data": {"job_id": "job_1", "status": "completed", "terminal": true, "result_ready": true}}"#;
const RESULT: &str = r#"{"data": {"job_id": "job_1", "status": "completed", "artifacts": [{"url": "https://m/a.mp4"}]}}"#;

fn receipt(hint: f64) -> Step {
    let job = serde_json::json!({"id": "job_1", "status": "queued"});
    data(202, &serde_json::json!({"job": job, "next_poll_after_seconds": hint}))
}

fn status(status: &str, hint: f64) -> Step {
    let terminal = matches!(status, "completed" | "failed" | "canceled");
    let payload = serde_json::json!({
        "status": status, "terminal": terminal, "next_poll_after_seconds": hint,
    });
    data(200, &payload)
}

async fn job(script: &Arc<Script>) -> JobHandle<Open> {
    open_client(script).videos().generate(VideoGenerate::new("auto")).await.unwrap()
}

/// Waits for a job whose submit was in another process.
fn wait(script: &Arc<Script>) -> Wait<JobResource<Open>> {
    open_client(script).jobs().handle("job_1").wait()
}

/// Asserts that requests were sent at these times in seconds, or up to a tenth later by jitter.
fn assert_times(times: &[u128], expected: &[f64]) {
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (moment, expected) in times.iter().zip(expected) {
        let seconds = *moment as f64 / 1000.0;
        assert!(
            (*expected..=expected * 1.1 + 0.01).contains(&seconds),
            "{times:?} is not about {expected:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn polls_follow_the_hints_of_the_receipt_and_of_each_status() {
    let script = Script::new([
        receipt(4.0),
        status("queued", 2.0),
        status("processing", 10.0),
        json(200, COMPLETED),
        json(200, RESULT),
    ]);
    let result = job(&script).await.wait().await.unwrap();
    assert_eq!(result.artifacts().len(), 1);
    assert_times(&script.request_times(), &[0.0, 4.0, 6.0, 16.0, 16.0]);
    let urls: Vec<_> = script
        .requests()
        .iter()
        .map(|seen| seen.url.rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(urls, ["generate", "status", "status", "status", "result"]);
}

#[tokio::test(start_paused = true)]
async fn an_update_is_returned_before_the_pause() {
    let script = Script::new([receipt(4.0), status("processing", 5.0)]);
    let job = job(&script).await;
    let mut updates = job.updates();
    let began = clock::now();
    let first = updates.next().await.unwrap().unwrap();
    assert_eq!(clock::now(), began, "the receipt's word costs no time");
    assert_eq!(first.status.status.unwrap().as_str(), "queued");
    assert!(first.next_poll.unwrap() >= Duration::from_secs(4));
    let second = updates.next().await.unwrap().unwrap();
    assert_eq!(second.status.status.unwrap().as_str(), "processing");
    assert_eq!(second.poll_count, 1);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_as_the_responses_say() {
    use ErrorKind::{Connection, JobCanceled, JobFailed, UnknownStatus};

    const FAILED: &str =
        r#"{"status": "failed", "error": {"code": "generation_failed", "message": "no"}}"#;
    const EARLY: &str = r#"{"status": "completed", "terminal": true, "result_ready": false, "next_poll_after_seconds": 1}"#;
    const ARCHIVED: &str = r#"{"status": "archived", "terminal": true}"#;
    const FILES: &str = r#""artifacts": [{"url": "https://m/a.mp4"}]"#;
    const RUNNING: &str = r#"{"id": "job_1", "status": "processing"}"#;

    let data = |body: &str| json(200, &format!(r#"{{"data": {body}}}"#));
    let (completed, result) = (json(200, COMPLETED), json(200, RESULT));
    let failed = || status("failed", 0.0);
    let canceled = Some((JobCanceled, Some("canceled"), None));
    let archived = Some((UnknownStatus, Some("archived"), None));
    // The responses, and the kind, the status and the code of the error, or `None` with a result.
    let rows = [
        (vec![completed.clone(), result.clone()], None),
        // A status of an unknown name is terminal only if the payload says so.
        (vec![data(r#"{"status": "faster"}"#), data(ARCHIVED), result.clone()], None),
        (vec![data(EARLY), completed.clone(), result.clone()], None),
        // The replica that answers is behind the one that was polled.
        (vec![completed, data(RUNNING), result], None),
        (
            vec![failed(), data(FAILED)],
            Some((JobFailed, Some("failed"), Some("generation_failed"))),
        ),
        // A job that failed has failed, also if its reason cannot be read.
        (
            vec![failed(), json(409, r#"{"error": {"code": "brand_new"}}"#)],
            Some((JobFailed, Some("failed"), None)),
        ),
        (vec![status("canceled", 0.0), data(r#"{"status": "canceled"}"#)], canceled),
        // Terminal without a status, and the result has it.
        (
            vec![data(r#"{"terminal": true}"#), data(RUNNING), data(r#"{"status": "canceled"}"#)],
            canceled,
        ),
        // An unknown terminal status is neither a success nor a failure.
        (vec![data(ARCHIVED), data(&format!(r#"{{"status": "archived", {FILES}}}"#))], archived),
        (vec![data(ARCHIVED), data(&format!("{{{FILES}}}"))], archived),
        (
            vec![data(ARCHIVED), data(r#"{"status": "expired"}"#)],
            Some((UnknownStatus, Some("expired"), None)),
        ),
        (vec![data(ARCHIVED), Step::ConnectionRefused], Some((Connection, None, None))),
    ];
    for (steps, expected) in rows {
        let shown = format!("{steps:?}");
        let script = Script::new(steps);
        match wait(&script).await {
            Ok(result) => {
                assert_eq!(expected, None, "{shown}");
                assert_eq!(result.artifacts().len(), 1, "{shown}");
            }
            Err(error) => {
                let code = error.code().map(ErrorCode::as_str);
                let actual = (error.kind(), error.terminal_status(), code);
                assert_eq!(Some(actual), expected, "{shown}");
                assert_eq!(error.job_id(), Some(&"job_1".into()), "{shown}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_not_over_has_not_failed() {
    let running = json(200, r#"{"data": {"id": "job_1", "status": "processing"}}"#);
    let early = r#"{"error": {"code": "job_not_completed", "message": "wait"}}"#;
    for result in [json(409, early), json(200, r#"{"data": {}}"#)] {
        let script = Script::new([running.clone(), result]);
        let outcome = open_client(&script).jobs().handle("job_1").updates().result().await;
        let error = outcome.unwrap_err();
        assert_ne!(error.kind(), ErrorKind::JobFailed, "{error}");
        assert_eq!(error.job_id(), Some(&"job_1".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn failed_polls_are_retried() {
    let busy = json(503, r#"{"error": {"code": "database_busy", "message": ""}}"#)
        .header("retry-after", 5);
    let page = Step::Response(502, vec![], "<html>".into());
    let script = Script::new([
        Step::ConnectionRefused,
        Step::ConnectionReset,
        page,
        busy,
        json(200, "{\"da"),
        json(200, COMPLETED),
        json(200, RESULT),
    ]);
    let job = open_client(&script).jobs().handle("job_1");
    let mut updates = job.updates();
    let mut troubles = 0;
    while let Some(update) = updates.next().await {
        troubles += usize::from(update.unwrap().poll_error.is_some());
    }
    assert_eq!(troubles, 5);
    let times = script.request_times();
    assert!(times[4] - times[3] >= 5_000, "the service's hint is kept: {times:?}");
}

#[tokio::test(start_paused = true)]
async fn polling_ends_at_a_permanent_error_and_at_the_failure_timeout() {
    let script =
        Script::new([json(401, r#"{"error": {"code": "unauthorized", "message": "no"}}"#)]);
    let error = wait(&script).await.unwrap_err();
    assert!(error.kind() == ErrorKind::PollFailed && error.is_unauthorized());
    assert_eq!(script.requests().len(), 1);

    let script = Script::new([Step::ConnectionRefused]);
    let error =
        wait(&script).poll_failure_timeout(Duration::from_secs(60)).no_timeout().await.unwrap_err();
    assert!(error.kind() == ErrorKind::PollFailed && error.is_unreachable());
    assert_eq!(error.job_id().unwrap().as_str(), "job_1");
    assert!(script.request_times().last().is_some_and(|last| (60_000..90_000).contains(last)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_timeout_carries_the_id_the_receipt_and_the_key() {
    let script = Script::new([receipt(4.0), status("processing", 5.0)]);
    let job = job(&script).await;
    let began = clock::now();
    let error = job.wait().timeout(Duration::from_secs(30)).await.unwrap_err();
    assert_eq!((clock::now() - began).as_secs(), 30);
    assert!(error.is_wait_timeout());
    assert_eq!(error.job_id().unwrap().as_str(), "job_1");
    assert!(error.submit_receipt().is_some() && error.idempotency_key() == job.idempotency_key());
}

#[tokio::test(start_paused = true)]
async fn the_timeout_covers_reading_the_result() {
    for (deadline, at_most) in [(30, 30), (1, 10)] {
        let script = Script::new([json(200, COMPLETED), Step::NoResponse]);
        let began = clock::now();
        let error = wait(&script).timeout(Duration::from_secs(deadline)).await.unwrap_err();
        assert_eq!((clock::now() - began).as_secs(), at_most);
        assert!(error.kind() != ErrorKind::JobFailed && error.is_timeout(), "{error}");
        assert_eq!(error.job_id().unwrap().as_str(), "job_1");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_terminal_status_of_a_top_up_or_a_queue_is_neither() {
    let top_up = json(200, r#"{"data": {"id": "top_1", "status": "reversed", "terminal": true}}"#);
    let script = Script::new([top_up]);
    let handle = open_client(&script).top_ups().handle("top_1");
    let error = handle.wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownStatus);
    assert_eq!(error.terminal_status(), Some("reversed"));
    assert_eq!(error.top_up_id(), Some(&"top_1".into()));
    assert!(!error.to_string().contains("charged"), "{error}");

    let items = r#""items": [{"index": 0, "run_id": "run_1", "status": "completed"}]"#;
    for fields in [
        r#""terminal": true"#.to_owned(),
        items.to_owned(),
        r#""counts": {"total": 1, "completed": 1}"#.to_owned(),
    ] {
        let queue = format!(r#"{{"data": {{"queue_id": "frq_1", "status": "halted", {fields}}}}}"#);
        let script = Script::new([json(200, &queue)]);
        let handle = developer_client(&script).queues().handle("frq_1");
        let error = handle.wait().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownStatus, "{queue}");
        assert_eq!(error.terminal_status(), Some("halted"));
        assert_eq!(error.queue_id(), Some("frq_1".into()));
        let items = error.queue().map(|it| it.items.len());
        assert_eq!(items, Some(usize::from(fields.contains("items"))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_always_hints_zero_is_not_flooded() {
    let script = Script::new([status("processing", 0.0)]);
    wait(&script).timeout(Duration::from_secs(105)).await.unwrap_err();
    assert!(script.requests().len() < 220, "{}", script.requests().len());
}

#[tokio::test(start_paused = true)]
async fn a_sync_submit_that_is_terminal_needs_no_poll() {
    let done = r#"{"data": {"job": {"id": "job_1", "status": "completed"}}}"#;
    let script = Script::new([json(200, done), json(200, RESULT)]);
    let job = job(&script).await;
    assert!(!job.is_replay());
    job.wait().await.unwrap();
    assert_eq!(script.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_top_up_ends_when_it_is_paid() {
    let top_up = |status: &str| {
        json(200, &format!(r#"{{"data": {{"id": "top_1", "status": "{status}"}}}}"#))
    };
    let script = Script::new([top_up("pending"), Step::ConnectionReset, top_up("paid")]);
    let paid = open_client(&script).top_ups().handle("top_1").wait().await.unwrap();
    assert_eq!(paid.status.as_str(), "paid");

    let script = Script::new([top_up("expired")]);
    let error = open_client(&script).top_ups().handle("top_1").wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TopUpEnded);
    assert_eq!(error.terminal_status(), Some("expired"));

    let script = Script::new([top_up("pending")]);
    let error = open_client(&script)
        .top_ups()
        .handle("top_1")
        .wait()
        .timeout(Duration::from_secs(60))
        .await
        .unwrap_err();
    assert!(error.is_wait_timeout());
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_behind_is_polled_again_for_a_while() {
    let behind = json(
        409,
        r#"{"error": {"code": "job_not_completed", "message": "", "retry_after_seconds": 2}}"#,
    );
    let script = Script::new([json(200, COMPLETED), behind.clone(), json(200, RESULT)]);
    wait(&script).await.unwrap();
    assert_eq!(script.request_times(), [0, 0, 2_000]);

    let script = Script::new([json(200, COMPLETED), behind]);
    let error = wait(&script).await.unwrap_err();
    assert_eq!(error.code().unwrap().as_str(), "job_not_completed");
    assert!(script.request_times().last().is_some_and(|last| *last < 16_000));
}

fn completed_event() -> crate::types::WebhookEvent {
    let event = serde_json::json!({"event": "job.completed", "job_id": "job_1"});
    serde_json::from_value(event).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_event_ends_the_wait_for_the_next_poll() {
    // When the event arrives, in seconds, the hint of the receipt, and when requests are sent.
    for (event, hint, times) in [
        (Some(0), 30.0, &[0.0, 0.0, 0.0]),
        (Some(7), 30.0, &[0.0, 7.0, 7.0]),
        (None, 1.0, &[0.0, 1.0, 1.0]),
    ] {
        let script = Script::new([receipt(hint), json(200, COMPLETED), json(200, RESULT)]);
        let notifier = WebhookNotifier::new();
        let job = job(&script).await;
        let sender = notifier.clone();
        tokio::spawn(async move {
            let Some(seconds) = event else { return };
            clock::sleep(Duration::from_secs(seconds)).await;
            sender.notify(&completed_event());
        });
        assert_eq!(job.wait().webhook_notifier(&notifier).await.unwrap().artifacts().len(), 1);
        assert_times(&script.request_times(), times);
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_about_a_running_job_only_makes_the_next_polls_earlier() {
    let running =
        r#"{"data": {"status": "processing", "terminal": false, "next_poll_after_seconds": 60}}"#;
    let mut steps = vec![receipt(30.0)];
    steps.extend((0..20).map(|_| json(200, running)));
    steps.extend([json(200, COMPLETED), json(200, RESULT)]);
    let script = Script::new(steps);
    let notifier = WebhookNotifier::new();
    notifier.notify(&completed_event());
    let job = job(&script).await;
    assert_eq!(job.wait().webhook_notifier(&notifier).await.unwrap().artifacts().len(), 1);
    let times = script.request_times();
    assert_eq!(times[..2], [0, 0], "{times:?}");
    // For a while it is looked at again soon, as a replica may be behind, and then as before.
    assert!(times[2] <= 1_200, "{times:?}");
    let late = times.iter().filter(|at| **at < 60_000).count();
    assert!((14..20).contains(&late), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn an_event_does_not_hide_a_poll_failure() {
    let script = Script::new([receipt(30.0), Step::ConnectionReset]);
    let notifier = WebhookNotifier::new();
    notifier.notify(&completed_event());
    let job = job(&script).await;
    let error = job.wait().webhook_notifier(&notifier).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PollFailed);
    assert_eq!(error.job_id(), Some(job.id()));
    assert!(script.request_times().last().is_some_and(|last| *last >= 300_000));
}

#[tokio::test(start_paused = true)]
async fn the_longest_hints_are_accepted() {
    for hint in [u64::MAX.to_string(), "1e18".to_owned()] {
        let behind = json(409, r#"{"error": {"code": "job_not_completed"}}"#);
        let script = Script::new([json(200, COMPLETED), behind.header("retry-after", hint)]);
        let job = open_client(&script).jobs().handle("job_1");
        let error = job
            .wait()
            .timeout(Duration::MAX)
            .poll_failure_timeout(Duration::MAX)
            .await
            .unwrap_err();
        assert_eq!(error.code().unwrap().as_str(), "job_not_completed");
    }
}
