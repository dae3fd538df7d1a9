//! A program that has the libraries beside others: other users of reqwest, and other users of SQLite.

use diesel::connection::SimpleConnection;
use opentelemetry_otlp::SpanExporter;
use sqlx::{Connection, SqliteConnection};
use svc_sdk::open;
use svc_webhook_inbox::{EventStore, SqliteEventStore};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    http_clients()?;
    databases().await?;
    println!("HTTP clients and databases of others work beside the libraries");
    Ok(())
}

/// Neither a client of this program nor one of another library gets TLS, which it did not ask for.
fn http_clients() -> Result<()> {
    reqwest::Client::new();
    SpanExporter::builder().with_http().build()?;
    open::Client::builder().base_url("https://api.example").build()?;
    Ok(())
}

/// One SQLite is linked, which all three use.
async fn databases() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("inbox.db");
    let store = SqliteEventStore::open(&file)?;
    let url = file.display().to_string();
    let mut by_sqlx = SqliteConnection::connect(&url).await?;
    sqlx::query("INSERT INTO svc_webhook_inbox (event_type, headers, body, received_at, state) VALUES ('test', '[]', x'', 0, 'dead')")
        .execute(&mut by_sqlx)
        .await?;
    let mut by_diesel = <diesel::SqliteConnection as diesel::Connection>::establish(&url)?;
    by_diesel.batch_execute("UPDATE svc_webhook_inbox SET last_error = 'refused'")?;
    assert_eq!(store.stats().await?.dead, 1);
    Ok(())
}
