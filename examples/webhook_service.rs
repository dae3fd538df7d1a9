//! A webhook service to start from: axum, PostgreSQL, and a worker.
//!
//! Deliveries are verified and stored before they are answered. A worker in the same process handles
//! them; run as many of these processes as you like. `OPERATING.md` of `svc-webhook-inbox` says how to
//! run it.
//!
//! | variable | content |
//! |---|---|
//! | `DATABASE_URL` | `postgres://user:password@host/database` |
//! | `SVC_WEBHOOK_SECRET_FILE` | a file with the signing secrets, one per line, newest first; read again when a delivery names a newer one, and on SIGHUP |
//! | `RECEIVER_ADDRESS` | where to listen; `127.0.0.1:3000` by default |

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use deadpool_postgres::{Manager, Pool};
use serde_json::{Value, json};
use svc_webhook_inbox::{HandlerError, Inbox, PostgresEventStore, StoredEvent, Worker};
use svc_webhook_verify::WebhookReceiver;
use tokio::signal::unix::{SignalKind, signal};
use tokio_postgres::NoTls;

/// The effects of the events, in the same database. The key makes handling idempotent.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS finished_jobs (
    job_id TEXT, event TEXT, finished_at TIMESTAMPTZ DEFAULT now(), PRIMARY KEY (job_id, event)
)";

/// An event that was handled before has its row already.
const INSERT: &str =
    "INSERT INTO finished_jobs (job_id, event) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// The time after which another process handles the events of one that was killed.
const LEASE_DURATION: Duration = Duration::from_secs(15);

#[derive(Clone)]
struct AppState {
    inbox: Inbox,
    receiver: WebhookReceiver,
}

impl FromRef<AppState> for Inbox {
    fn from_ref(state: &AppState) -> Self {
        state.inbox.clone()
    }
}

impl FromRef<AppState> for WebhookReceiver {
    fn from_ref(state: &AppState) -> Self {
        state.receiver.clone()
    }
}

/// Handles an event. It may be called more than once for the same one.
async fn handle(database: Pool, event: StoredEvent) -> Result<(), HandlerError> {
    let parsed = event.parse().map_err(HandlerError::permanent)?;
    let Some(key) = &event.dedupe_key else {
        return Ok(()); // a test event
    };
    let id = parsed.job_id().or_else(|| parsed.run_id());
    let (id, event_type) = (id.unwrap_or(key.resource_id()), key.event());
    let database = database.get().await?;
    database.execute(INSERT, &[&id, &event_type]).await?;
    println!("handled {event_type} {id}");
    Ok(())
}

/// Returns the counts of events for monitoring, or `503` if the store is down.
async fn health(State(inbox): State<Inbox>) -> (StatusCode, Json<Value>) {
    let Ok(stats) = inbox.store().stats().await else {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"store": "down"})));
    };
    let age = stats.oldest_unfinished_age.unwrap_or_default();
    let body = json!({
        "pending": stats.pending, "in_progress": stats.in_progress, "handled": stats.handled,
        "dead": stats.dead, "oldest_unfinished_seconds": age.as_secs(),
    });
    (StatusCode::OK, Json(body))
}

/// Reads the secrets again on each SIGHUP, so that one that was removed from the file is revoked at
/// once. New ones need no signal. A file that cannot be read changes nothing.
async fn reload_keys(receiver: WebhookReceiver) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    while hangup.recv().await.is_some() {
        receiver.reload_keys().await;
        let verifier = receiver.verifier();
        let keys = verifier.keys().iter();
        let fingerprints: Vec<_> = keys.map(|key| key.fingerprint().to_string()).collect();
        println!("signing secrets: {}", fingerprints.join(", "));
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}"))
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    // The log has the warnings of the inbox, such as that a secret is missing.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let url = variable("DATABASE_URL")?;
    let address = variable("RECEIVER_ADDRESS").unwrap_or("127.0.0.1:3000".into());
    let receiver = WebhookReceiver::from_secret_file(variable("SVC_WEBHOOK_SECRET_FILE")?)?;
    tokio::spawn(reload_keys(receiver.clone()));

    let inbox = Inbox::new(PostgresEventStore::connect(&url).await?).lease_duration(LEASE_DURATION);
    // A pool connects again after a restart of the database. To another machine, use TLS.
    let database = Pool::builder(Manager::new(url.parse()?, NoTls)).build()?;
    database.get().await?.batch_execute(SCHEMA).await?;

    let worker = Worker::new(inbox.clone(), move |event| handle(database.clone(), event))
        .purge_after(Duration::from_secs(30 * 24 * 60 * 60));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let working = tokio::spawn(worker.run_until(async { drop(stopped.await) }));

    let router = Router::new()
        .route("/webhooks", post(svc_webhook_inbox::axum::receive))
        .route("/health", get(health))
        .with_state(AppState { inbox, receiver });
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}/webhooks", listener.local_addr()?);
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await?;
    // Running handlers finish; what they do not finish is handled by another process.
    drop(stop);
    Ok(working.await?)
}
