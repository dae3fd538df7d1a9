//! Provokes errors, and shows what a caller can learn from them.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use svc_sdk::types::VideoGenerate;
use svc_sdk::{Error, ErrorKind, Result, open};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::Client::from_env()?;
    let video = || VideoGenerate::new("auto").prompt("a red fox in snow");
    let rows = [
        ("a URL that is not https", video().image_url("http://example.com/fox.png")),
        ("a duration that no model accepts", video().duration(3600)),
        // The mock server reads this word in the prompt.
        ("a job that fails", video().prompt("a red fox [mock:fail]")),
    ];
    for (name, body) in rows {
        match generate(&client, body).await {
            Ok(files) => println!("{name}: {files} files"),
            Err(error) => println!("{name}: {}", explain(&error)),
        }
    }
    Ok(())
}

async fn generate(client: &open::Client, body: VideoGenerate) -> Result<usize> {
    let job = client.videos().generate(body).await?;
    Ok(job.wait().await?.artifacts().len())
}

fn explain(error: &Error) -> String {
    if error.kind() == ErrorKind::InvalidRequest {
        format!("nothing was sent: {error}")
    } else if error.kind() == ErrorKind::JobFailed {
        format!("refunded: {error}")
    } else if error.is_insufficient_funds() {
        format!("top up first: {error}")
    } else if error.is_ambiguous() {
        let key = error.idempotency_key();
        format!("submit again with the key {key:?} to find out: {error}")
    } else if let Some(job) = error.job_id() {
        format!("wait for {job} again later: {error}")
    } else {
        format!("{error}; next action: {:?}", error.next_action())
    }
}
