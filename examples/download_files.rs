//! Downloads the files of a job: to a directory with a name template and progress, into memory, and as
//! a stream.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::error::Error;

use svc_sdk::download::{DownloadEvent, FileStatus, IfExists, NameTemplate};
use svc_sdk::open;
use svc_sdk::types::ImageGenerate;

const PROMPT: &str = "a red fox in snow";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = open::Client::from_env()?;
    let body = ImageGenerate::new("image-i").prompt(PROMPT).num_images(3);
    let job = client.images().generate(body).await?;
    let result = job.wait().await?;

    // All files, two at a time: `a-red-fox-in-snow-1.png` and so on.
    let names: NameTemplate = "{slug}-{index}.{ext}".parse()?;
    let download = job
        .download_result(&result, "foxes")
        .name_template(names.prompt(PROMPT))
        .if_exists(IfExists::Rename)
        .concurrency(2)
        .on_progress(|progress| {
            let (number, count) = (progress.index + 1, progress.count);
            match progress.event {
                DownloadEvent::Retrying { reason, delay, .. } => {
                    println!("{number} of {count}: {reason}; retrying in {delay:?}");
                }
                DownloadEvent::Finished { bytes, .. } => {
                    println!("{number} of {count}: {bytes} bytes");
                }
                _ => {}
            }
        });
    for file in download.await? {
        match file.status {
            FileStatus::Unchanged => println!("{} was already there", file.path.display()),
            _ => println!("{}", file.path.display()),
        }
    }

    if let Some(artifact) = result.artifacts().first() {
        let mut content = Vec::new();
        job.download_artifact(artifact).to_writer(&mut content).await?;
        println!("{} bytes in memory", content.len());

        let mut stream = job.download_artifact(artifact).stream();
        let mut bytes = 0;
        while let Some(chunk) = stream.next().await {
            bytes += chunk?.len();
        }
        println!("{bytes} bytes streamed");
    }
    Ok(())
}
