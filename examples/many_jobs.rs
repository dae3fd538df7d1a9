//! Generates many images at once. The waits of a client share one poll schedule, which keeps within
//! the key's rate limit.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use svc_sdk::types::ImageGenerate;
use svc_sdk::{Error, Result, open};
use tokio::task::JoinSet;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::Client::from_env()?;
    let models = client.models().list_images().await?;
    let Some(model) = models.items.first() else {
        println!("the service has no image model");
        return Ok(());
    };
    let mut jobs = JoinSet::new();
    for number in 1..=20 {
        let client = client.clone();
        let body =
            ImageGenerate::new(&model.id).prompt(format!("a red fox in snow, number {number}"));
        jobs.spawn(async move {
            let job = client.images().generate(body).await?;
            let result = job.wait().await?;
            Ok::<_, Error>((job, result))
        });
    }
    for outcome in jobs.join_all().await {
        let (job, result) = outcome?;
        println!("{}: {} file", job.id(), result.artifacts().len());
    }
    Ok(())
}
