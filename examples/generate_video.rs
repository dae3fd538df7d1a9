//! Prices a video, submits it, shows its status, and downloads it.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use svc_sdk::types::VideoGenerate;
use svc_sdk::{Result, open};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::Client::from_env()?;
    let body = VideoGenerate::new("auto").prompt("a red fox in snow").duration(5);
    println!("price: {} USD", client.estimates().create(&body).await?.price_usd);

    let job = client.videos().generate(body).await?;
    println!("submitted {}", job.id());

    let mut updates = job.updates();
    while let Some(update) = updates.next().await {
        let update = update?;
        let status = update.status.status.as_ref().map_or("unknown", |status| status.as_str());
        println!("{status} after {:.1} s", update.elapsed.as_secs_f32());
    }
    for file in job.download("out").await? {
        println!("{} ({} bytes)", file.path.display(), file.bytes);
    }
    Ok(())
}
