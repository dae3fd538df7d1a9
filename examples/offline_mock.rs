//! Runs client and service in one process, without a network, on a virtual clock.

#![allow(clippy::print_stdout, reason = "an example that prints")]
#![allow(clippy::disallowed_methods, reason = "an example that reads the clock")]

use std::sync::Arc;

use svc_mock_server::InProcess;
use svc_sdk::types::VideoGenerate;
use svc_sdk::{ApiKey, Result, open};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<()> {
    let mock = InProcess::default();
    let client = open::Client::builder()
        .base_url(mock.base_url())
        .api_key(ApiKey::new("svc_open_demo")?)
        .transport(Arc::new(mock.clone()))
        .build()?;
    let started = tokio::time::Instant::now();
    let body = VideoGenerate::new("video-f").prompt("a red fox in snow [mock:seconds=105]");
    client.videos().generate(body).await?.wait().await?;
    println!("waited {} s of virtual time", started.elapsed().as_secs());
    Ok(())
}
