//! Runs a Format for several inputs, a few at a time, and shows the progress.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use svc_sdk::types::{BulkRunCreate, FormatRunCreate};
use svc_sdk::{Result, developer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = developer::Client::from_env()?;
    let cities = ["Lisbon", "Oslo", "Lima", "Hanoi", "Accra", "Quito"];
    let items = cities.map(|city| FormatRunCreate::new("a teaser").input("city", city));
    let body = BulkRunCreate::new(items).concurrency(3);
    let queue = client.formats().bulk_run("demo/teaser", body).await?;
    println!("if this process ends, resume with queues().handle(\"{}\")", queue.id());

    let mut updates = queue.updates();
    while let Some(update) = updates.next().await {
        let counts = update?.status.counts();
        println!("{} queued, {} running, {} ended", counts.queued, counts.running, counts.ended());
    }
    for (city, result) in cities.iter().zip(queue.results().await?) {
        let output = result.receipt.and_then(|receipt| receipt.output);
        println!("{city}: {}, {output:?}", result.item.status);
    }
    Ok(())
}
