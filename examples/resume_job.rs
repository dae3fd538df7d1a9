//! Stops waiting for a job, and waits for it again from its id alone, as another process would.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::time::Duration;

use svc_sdk::types::VideoGenerate;
use svc_sdk::{Result, open};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::Client::from_env()?;
    let body = VideoGenerate::new("auto").prompt("a red fox in snow");
    let job = client.videos().generate(body).await?;

    let id = match job.wait().timeout(Duration::ZERO).await {
        Err(error) if error.is_wait_timeout() => {
            println!("{error}");
            error.job_id().cloned().unwrap_or_else(|| job.id().clone())
        }
        outcome => return outcome.map(drop),
    };
    drop(job);

    let result = client.jobs().handle(id).wait().await?;
    println!("resumed: {} file", result.artifacts().len());
    Ok(())
}
