//! On the developer surface: find an avatar, make it speak, and look at what is left.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use svc_sdk::types::{AvatarTalkingVideo, Search};
use svc_sdk::{Result, developer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = developer::Client::from_env()?;
    let found = client
        .avatar_catalog_search(&Search::new("presenter").limit(1))
        .send()
        .await?;
    let handle = found
        .items
        .first()
        .and_then(|avatar| avatar.avatar_handle.as_deref());
    let Some(handle) = handle else {
        println!("there is no such avatar");
        return Ok(());
    };

    let job = client
        .avatar_talking_video(&AvatarTalkingVideo::new(handle).script("Good morning."))
        .send()
        .await?;
    job.wait().await?;
    for file in job.download("out").await? {
        println!("{handle} speaks in {}", file.path.display());
    }
    for event in client.jobs_events(job.id()).send().await? {
        println!("{:?} {:?}", event.created_at, event.event_type);
    }
    println!("{} USD left", client.balance().send().await?.available_usd);
    Ok(())
}
