//! Runs a Format, decodes its output into a type, and downloads its files.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use svc_sdk::types::{FormatIo, FormatRunCreate, OutputSchema, Usd};
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
    let formats = client.formats().list().await?;
    let makes_images = |io: &FormatIo| io.output_kind.as_deref() == Some("image");
    let Some(format) =
        formats.items.iter().find(|format| format.io.as_ref().is_some_and(makes_images))
    else {
        println!("no Format makes images");
        return Ok(());
    };

    let body = FormatRunCreate::new("a red fox")
        .output_schema(OutputSchema::for_type::<Shot>()?)
        .generation_spend_cap_usd(Usd::from_micros(2_000_000));
    let run = client.formats().run(format.to_ref(), body).await?;
    println!("{} runs as {}", format.to_ref(), run.id());

    match run.wait().await {
        Ok(receipt) => match receipt.output_as::<Shot>() {
            Ok(shot) => println!("{} {:?}", shot.title, shot.tags),
            Err(error) => println!("unexpected output: {error}"),
        },
        // The run did not complete, but what it made until then can be downloaded all the same.
        Err(error) if error.run_receipt().is_some() => println!("{error}"),
        Err(error) => return Err(error),
    }
    for file in run.download("shots").await? {
        println!("{}", file.path.display());
    }
    // None means that the spend could not be read, which is not 0.
    println!("spent: {:?} USD", run.get().await?.billable_amount());
    Ok(())
}
