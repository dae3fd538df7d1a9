//! Receives webhooks: verifies the delivery, stores its event, then answers.
//!
//! One statement stores the event and claims its deduplication key, so a crash at any moment neither
//! loses nor doubles an event: the service sends again what it has not seen answered with `2xx`.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use axum::{Extension, Router, extract::State, http::StatusCode, routing::post};
use rusqlite::Connection;
use svc_webhook_verify::axum::verify_layer;
use svc_webhook_verify::{
    DedupeKey, Event, KeySet, ReceiveError, Verifier, Webhook, WebhookReceiver,
};

type Inbox = Arc<Mutex<Connection>>;

/// SQLite allows any number of rows without a `resource_id`: test events, and events without IDs.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS inbox (
    event TEXT NOT NULL, resource_id TEXT, body BLOB NOT NULL, UNIQUE (event, resource_id)
)";

const INSERT: &str = "INSERT INTO inbox (event, resource_id, body) VALUES (?1, ?2, ?3)
    ON CONFLICT (event, resource_id) DO NOTHING";

/// Handles a verified delivery.
async fn receive(
    State(inbox): State<Inbox>,
    Extension(webhook): Extension<Webhook>,
) -> Result<StatusCode, ReceiveError> {
    let event = webhook.event()?;
    if !event.event_type().is_known() {
        // Not stored, so that a later version of this program can store it when it is redelivered.
        return Ok(StatusCode::NO_CONTENT);
    }
    let stored = tokio::task::spawn_blocking(move || store(&inbox, &event, webhook.body()));
    match stored.await {
        Ok(Ok(())) => Ok(StatusCode::OK),
        _ => Ok(StatusCode::INTERNAL_SERVER_ERROR), // not stored: the service retries
    }
}

/// Stores an event unless it is a duplicate. The transaction is committed when this returns.
fn store(inbox: &Inbox, event: &Event, body: &[u8]) -> rusqlite::Result<()> {
    let key = event.dedupe_key();
    let resource_id = key.as_ref().map(DedupeKey::resource_id);
    let inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
    let row = (event.event_type().as_str(), resource_id, body);
    inbox.execute(INSERT, row).map(drop) // a single statement is a transaction of its own
}

/// Creates the receiver. Secrets are lines, newest first: during a rotation there are two.
pub(crate) fn app(secrets: &str, database: &str) -> Result<Router, Box<dyn Error>> {
    let inbox = Connection::open(database)?;
    inbox.execute_batch(SCHEMA)?;
    let receiver = WebhookReceiver::new(Verifier::new(KeySet::from_lines(secrets)?));
    let route = Router::new().route("/webhooks", post(receive));
    Ok(route.layer(verify_layer(receiver)).with_state(Arc::new(Mutex::new(inbox))))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secrets = std::env::var("SVC_WEBHOOK_SECRET")?;
    let address = std::env::var("RECEIVER_ADDRESS").unwrap_or("127.0.0.1:3000".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}/webhooks", listener.local_addr()?);
    Ok(axum::serve(listener, app(&secrets, "webhooks.db")?).await?)
}
