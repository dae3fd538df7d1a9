//! Calls against scripted responses, in virtual time.

mod limits;
mod progress;
mod requests;
mod retries;
mod sleep;

use std::sync::Arc;

use crate::JobHandle;
use crate::call::Call;
use crate::surface::Developer;
use crate::transport::scripted::{Script, Step, developer_client};
use crate::types::{Music1Generate, VideoGenerate};

fn video() -> VideoGenerate {
    VideoGenerate::new("auto").prompt("a red fox in snow")
}

/// Submits music, whose idempotency is not documented.
fn submit_music(script: &Arc<Script>) -> Call<JobHandle<Developer>> {
    developer_client(script).music().generate(Music1Generate::new("p"))
}

/// Adds the state of a rate limit that resets in half a minute to a response.
fn limited(step: Step, limit: u32, remaining: u32) -> Step {
    step.header("ratelimit-limit", limit)
        .header("ratelimit-remaining", remaining)
        .header("ratelimit-reset", 30)
}

fn page(status: u16) -> Step {
    Step::Response(
        status,
        vec![("content-type", "text/html".into())],
        "<html>Bad gateway</html>".into(),
    )
}
