//! Finds an avatar on the developer surface, makes it speak, and reads the balance.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use svc_sdk::types::{AvatarTalkingVideo, SearchQuery};
use svc_sdk::{Result, developer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = developer::Client::from_env()?;
    let avatars = client.avatars().search(SearchQuery::new("presenter").limit(1)).await?;
    let handle = avatars.items.first().and_then(|avatar| avatar.avatar_handle.as_deref());
    let Some(handle) = handle else {
        println!("no avatar found");
        return Ok(());
    };

    let body = AvatarTalkingVideo::new(handle).script("Good morning.");
    let job = client.avatars().talking_video(body).await?;
    job.wait().await?;
    for file in job.download("out").await? {
        println!("{handle} speaks in {}", file.path.display());
    }
    for event in job.events().await? {
        println!("{:?} {:?}", event.created_at, event.event_type);
    }
    println!("{} USD left", client.account().balance().await?.available_usd);
    Ok(())
}
