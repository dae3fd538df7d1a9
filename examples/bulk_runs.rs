//! Run a Format for many inputs, a few at a time, and say how far it is.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use svc_sdk::types::{BulkRunCreate, FormatRunCreate};
use svc_sdk::{Result, developer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = developer::Client::from_env()?;
    let cities = ["Lisbon", "Oslo", "Lima", "Hanoi", "Accra", "Quito"];
    let items = cities.map(|city| FormatRunCreate::new("a teaser").input("city", city));
    let queue = client
        .formats_bulk_create("demo/teaser", &BulkRunCreate::new(items).concurrency(3))
        .send()
        .await?;
    println!(
        "killed here, take it up again with format_queue({:?})",
        queue.id().as_str()
    );

    let mut updates = queue.updates();
    while let Some(update) = updates.next().await {
        let counts = update?.status.counts();
        println!(
            "{} queued, {} at work, {} ended",
            counts.queued,
            counts.running,
            counts.ended()
        );
    }
    for (city, result) in cities.iter().zip(queue.results().await?) {
        let output = result.receipt.and_then(|receipt| receipt.output);
        println!("{city}: {}, {output:?}", result.item.status);
    }
    Ok(())
}
