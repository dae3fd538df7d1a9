//! Run a Format, and get its output as one's own type and its files on disk.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use svc_sdk::types::{FormatRunCreate, OutputSchema, Usd};
use svc_sdk::{Result, developer};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Shot {
    /// At most ten words.
    title: String,
    tags: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = developer::Client::from_env()?;
    let formats = client.formats_list().send().await?;
    let delivers_images =
        |io: &svc_sdk::types::FormatIo| io.output_kind.as_deref() == Some("image");
    let Some(format) = formats
        .items
        .iter()
        .find(|format| format.io.as_ref().is_some_and(delivers_images))
    else {
        println!("there is no Format that delivers images");
        return Ok(());
    };

    let body = FormatRunCreate::new("a red fox")
        .output_schema(OutputSchema::of::<Shot>()?)
        .generation_spend_cap(Usd::from_micros(2_000_000));
    let run = client
        .formats_runs_create(format.reference(), &body)
        .send()
        .await?;
    println!("{} runs as {}", format.reference(), run.id());

    match run.wait().await {
        Ok(receipt) => match receipt.output_as::<Shot>() {
            Ok(shot) => println!("{} {:?}", shot.title, shot.tags),
            Err(error) => println!("no such output: {error}"),
        },
        // It ended badly: what it made until then can be fetched all the same.
        Err(error) if error.run_receipt().is_some() => println!("{error}"),
        Err(error) => return Err(error),
    }
    for file in run.download("shots").await? {
        println!("{}", file.path.display());
    }
    // None is a spend that could not be read, which is not 0.
    println!("spent: {:?} USD", run.get().await?.billable_amount());
    Ok(())
}
