//! Poll hints that the service should not send.

use std::sync::Arc;
use std::time::Duration;

use super::RESULT;
use crate::transport::scripted::{Script, Step, developer_client, json, open_client};

/// How long a wait with odd hints may take: less than the longest pause, which no hint uses up.
const LIMIT: Duration = Duration::from_secs(30);

/// Values of `next_poll_after_seconds`, and nothing for a missing one.
const ODD_HINTS: [&str; 15] = [
    "-5",
    "-0.0",
    "1e300",
    "99999999999",
    "18446744073709551616",
    "0.0000001",
    "\"soon\"",
    "\"3\"",
    "\"NaN\"",
    "null",
    "true",
    "[]",
    "[1]",
    "{}",
    "",
];

/// Returns a response whose data has the fields and the hint.
fn with_hint(fields: &str, hint: &str) -> Step {
    let hint = match hint {
        "" => String::new(),
        hint => format!(r#", "next_poll_after_seconds": {hint}"#),
    };
    json(200, &format!(r#"{{"data": {{{fields}{hint}}}}}"#))
}

/// Runs a wait for each hint, whose first poll has that hint.
async fn check<F: Future<Output = bool>>(
    running: &str,
    ended: &[&str],
    wait: impl Fn(Arc<Script>) -> F,
) {
    for hint in ODD_HINTS {
        let rest = ended.iter().map(|body| json(200, body));
        let script =
            Script::new(std::iter::once(with_hint(running, hint)).chain(rest).collect::<Vec<_>>());
        assert!(wait(Arc::clone(&script)).await, "hint {hint:?}");
        assert_eq!(script.requests().len(), 1 + ended.len(), "hint {hint:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_job_goes_on() {
    let running = r#""job_id": "job_1", "status": "processing", "terminal": false"#;
    check(running, &[super::COMPLETED, RESULT], async |script| {
        let job = open_client(&script).jobs().handle("job_1");
        job.wait().timeout(LIMIT).await.is_ok()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_run_goes_on() {
    let running = r#""run_id": "run_1", "status": "running", "terminal": false"#;
    let ended = r#"{"data": {"status": "completed", "terminal": true, "result_ready": true}}"#;
    let receipt = r#"{"data": {"run_id": "run_1", "status": "completed"}}"#;
    check(running, &[ended, receipt], async |script| {
        let run = developer_client(&script).format_runs().handle("run_1");
        run.wait().timeout(LIMIT).await.is_ok()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_queue_goes_on() {
    let counts = r#""counts": {"total": 1}, "items": []"#;
    let running = format!(r#""queue_id": "frq_1", "status": "running", {counts}"#);
    let ended = format!(r#"{{"data": {{"queue_id": "frq_1", "status": "completed", {counts}}}}}"#);
    check(&running, &[&ended], async |script| {
        let queue = developer_client(&script).queues().handle("frq_1");
        queue.wait().timeout(LIMIT).await.is_ok()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_top_up_goes_on() {
    let running = r#""id": "top_1", "status": "pending""#;
    let ended = r#"{"data": {"id": "top_1", "status": "paid"}}"#;
    check(running, &[ended], async |script| {
        let top_up = open_client(&script).top_ups().handle("top_1");
        top_up.wait().timeout(LIMIT).await.is_ok()
    })
    .await;
}
