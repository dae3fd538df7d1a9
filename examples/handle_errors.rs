//! What can go wrong, and what a caller can tell of it.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use svc_sdk::types::VideoGenerate;
use svc_sdk::{Error, Result, open};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::Client::from_env()?;
    let video = VideoGenerate::new("auto").prompt("a red fox in snow");
    let rows = [
        (
            "a URL that is not https",
            video.clone().image_url("http://example.com/fox.png"),
        ),
        ("a duration that no model has", video.clone().duration(3600)),
        // The mock server takes its cue from a word in the prompt.
        (
            "a job that fails",
            VideoGenerate::new("auto").prompt("a red fox [mock:fail]"),
        ),
    ];
    for (what, video) in rows {
        match make(&client, &video).await {
            Ok(files) => println!("{what}: {files} files"),
            Err(error) => println!("{what}: {}", explain(&error)),
        }
    }
    Ok(())
}

async fn make(client: &open::Client, video: &VideoGenerate) -> Result<usize> {
    Ok(client
        .video_generate(video)
        .send()
        .await?
        .wait()
        .await?
        .artifacts()
        .len())
}

fn explain(error: &Error) -> String {
    if error.is_invalid() {
        format!("nothing was sent: {error}")
    } else if error.is_job_failed() {
        format!("refunded: {error}")
    } else if error.is_insufficient_funds() {
        format!("top up first: {error}")
    } else if error.is_ambiguous() {
        format!(
            "send it again with the key {:?} to find out: {error}",
            error.idempotency_key()
        )
    } else if let Some(job) = error.job_id() {
        format!("take {job} up again later: {error}")
    } else {
        format!("{error}; advice: {:?}", error.advice())
    }
}
