//! Calls against scripted responses, in virtual time.

mod ambiguity;
mod limits;
mod progress;
mod requests;
mod retries;
mod sleep;
mod timeouts;

use crate::transport::scripted::{Step, json};
use crate::types::VideoGenerate;

const RECEIPT: &str =
    r#"{"data": {"job": {"id": "job_1", "status": "queued"}, "next_poll_after_seconds": 2}}"#;
const JOB: &str = r#"{"data": {"id": "job_1", "status": "queued"}}"#;

fn video() -> VideoGenerate {
    VideoGenerate::new("auto").prompt("a red fox in snow")
}

fn busy(after: u64) -> Step {
    json(503, r#"{"error": {"code": "database_busy", "message": "busy"}}"#)
        .header("retry-after", after)
}

fn page(status: u16) -> Step {
    Step::Response(
        status,
        vec![("content-type", "text/html".into())],
        "<html>Bad gateway</html>".into(),
    )
}
