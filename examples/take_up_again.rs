//! Give up on a job, and take it up again from its id alone, as another process would.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::time::Duration;

use svc_sdk::types::VideoGenerate;
use svc_sdk::{Result, WaitOptions, open};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::Client::from_env()?;
    let video = VideoGenerate::new("auto").prompt("a red fox in snow");
    let job = client.video_generate(&video).send().await?;

    let impatient = WaitOptions::default().deadline(Duration::ZERO);
    let id = match job.wait_with(impatient).await {
        Err(error) if error.is_wait_deadline() => {
            println!("{error}");
            error.job_id().cloned().unwrap_or_else(|| job.id().clone())
        }
        other => return other.map(drop),
    };
    drop(job);

    let result = client.job(id).wait().await?;
    println!("taken up again: {} file", result.artifacts().len());
    Ok(())
}
