//! The whole way without a network and without waiting: the mock server inside the process, on a
//! clock that jumps.

#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(
    clippy::disallowed_methods,
    reason = "a program that looks at the clock"
)]

use std::sync::Arc;

use svc_mock_server::InProcess;
use svc_sdk::types::VideoGenerate;
use svc_sdk::{Result, Secret, open};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<()> {
    let mock = InProcess::default();
    let client = open::Client::builder()
        .base_url(mock.base_url())
        .api_key(Secret::new("svc_open_demo")?)
        .transport(Arc::new(mock.clone()))
        .build()?;
    let began = tokio::time::Instant::now();
    let video = VideoGenerate::new("video-f").prompt("a red fox in snow [mock:seconds=105]");
    client.video_generate(&video).send().await?.wait().await?;
    println!("waited {} s in no time", began.elapsed().as_secs());
    Ok(())
}
