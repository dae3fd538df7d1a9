//! Make many pictures at once. All waiters of a client share one poll schedule, which keeps within
//! the key's budget.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use svc_sdk::types::ImageGenerate;
use svc_sdk::{Error, Result, open};
use tokio::task::JoinSet;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::Client::from_env()?;
    let mut jobs = JoinSet::new();
    for number in 1..=20 {
        let client = client.clone();
        let image = ImageGenerate::new("auto").prompt(format!("a red fox in snow, number {number}"));
        jobs.spawn(async move {
            let job = client.image_generate(&image).send().await?;
            let result = job.wait().await?;
            Ok::<_, Error>((job, result))
        });
    }
    while let Some(done) = jobs.join_next().await {
        match done {
            Ok(Ok((job, result))) => println!("{}: {} file", job.id(), result.artifacts().len()),
            Ok(Err(error)) => println!("{}: {error}", error.job_id().map_or("no job", |id| id.as_str())),
            Err(panic) => println!("{panic}"),
        }
    }
    Ok(())
}
