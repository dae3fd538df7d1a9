//! Poll hints that the service should not send.

use std::time::Duration;

use super::RESULT;
use crate::transport::scripted::{Script, Step, developer_client, json, open_client};

/// How long a wait with odd hints may take: less than the longest pause, which no hint uses up.
const LIMIT: Duration = Duration::from_secs(30);

/// Values of `next_poll_after_seconds`, and nothing for a missing one.
const ODD_HINTS: &str = r#"-5 -0.0 1e300 99999999999 18446744073709551616 0.0000001 "soon" "3" "NaN" null true
    [] [1] {}"#;

/// Returns a response whose data has the fields and the hint.
fn with_hint(fields: &str, hint: &str) -> Step {
    let hint = match hint {
        "" => String::new(),
        hint => format!(r#", "next_poll_after_seconds": {hint}"#),
    };
    json(200, &format!(r#"{{"data": {{{fields}{hint}}}}}"#))
}

/// A kind of resource, the fields of a poll that it is in progress, and the responses that end a wait.
const RESOURCES: [(&str, &str, &[&str]); 4] = [
    ("job", r#""status": "processing", "terminal": false"#, &[super::COMPLETED, RESULT]),
    (
        "run",
        r#""run_id": "run_1", "status": "running", "terminal": false"#,
        &[super::COMPLETED, r#"{"data": {"run_id": "run_1", "status": "completed"}}"#],
    ),
    (
        "queue",
        r#""queue_id": "frq_1", "status": "running", "counts": {"total": 1}, "items": []"#,
        &[r#"{"data": {"queue_id": "frq_1", "status": "completed", "items": []}}"#],
    ),
    (
        "top-up",
        r#""id": "top_1", "status": "pending""#,
        &[r#"{"data": {"id": "top_1", "status": "paid"}}"#],
    ),
];

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on() {
    for (resource, running, ended) in RESOURCES {
        for hint in ODD_HINTS.split_whitespace().chain([""]) {
            let rest = ended.iter().map(|body| json(200, body));
            let script = Script::new([with_hint(running, hint)].into_iter().chain(rest));
            let (open, developer) = (open_client(&script), developer_client(&script));
            let error = match resource {
                "job" => open.jobs().handle("job_1").wait().timeout(LIMIT).await.err(),
                "run" => developer.format_runs().handle("run_1").wait().timeout(LIMIT).await.err(),
                "queue" => developer.queues().handle("frq_1").wait().timeout(LIMIT).await.err(),
                _ => open.top_ups().handle("top_1").wait().timeout(LIMIT).await.err(),
            };
            assert!(error.is_none(), "{resource}, hint {hint:?}: {error:?}");
            assert_eq!(script.requests().len(), 1 + ended.len(), "{resource}, hint {hint:?}");
        }
    }
}
