//! Receive webhooks: verify, claim, store, answer. A sender that is answered `2xx` does not come
//! again, so that is said when the event is on disk, and not before.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use axum::{Extension, Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use rusqlite::Connection;
use svc_webhook_verify::{Event, KeySet, SqliteStore, Verifier, WebhookReceiver};
use svc_webhook_verify::{axum::verify_layer, tower::DedupeLayer};

type Inbox = Arc<Mutex<Connection>>;

/// Is reached by genuine deliveries only, and again for an event that it did not answer `2xx`.
async fn store(
    State(inbox): State<Inbox>,
    Extension(event): Extension<Event>,
    body: Bytes,
) -> StatusCode {
    if !event.event_type().is_known() {
        return StatusCode::NO_CONTENT;
    }
    let stored = tokio::task::spawn_blocking(move || {
        let inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let row = (event.event_type().as_str(), body.as_ref());
        inbox.execute("INSERT INTO inbox (event, body) VALUES (?1, ?2)", row)
    });
    match stored.await {
        Ok(Ok(_)) => StatusCode::OK,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Takes the secrets newest first: in the day after a rotation there are two.
pub(crate) fn app(secrets: &[String], database: &str) -> Result<Router, Box<dyn Error>> {
    let inbox = Connection::open(database)?;
    inbox.execute_batch("CREATE TABLE IF NOT EXISTS inbox (event TEXT, body BLOB)")?;
    let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(secrets)?));
    let dedupe = DedupeLayer::new(SqliteStore::open(database)?);
    let route = Router::new().route("/webhooks", post(store));
    Ok(route
        .layer((verify_layer(receiver), dedupe))
        .with_state(Arc::new(Mutex::new(inbox))))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let names = ["SVC_WEBHOOK_SECRET", "SVC_WEBHOOK_SECRET_PREVIOUS"];
    let secrets: Vec<String> = names
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .collect();
    let address = std::env::var("RECEIVER_ADDRESS").unwrap_or("127.0.0.1:3000".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}/webhooks", listener.local_addr()?);
    Ok(axum::serve(listener, app(&secrets, "webhooks.db")?).await?)
}
