//! Tests of the receiver in `receive_webhooks.rs`.

#![allow(
    clippy::disallowed_methods,
    reason = "the receiver uses the system clock, so the deliveries have to be signed with it"
)]

#[allow(dead_code, reason = "its `main` is not called")]
#[path = "../receive_webhooks.rs"]
mod receive_webhooks;

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderMap;
use rusqlite::Connection;
use svc_webhook_verify::{Key, Signer};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tower_service::Service;

const SECRETS: &str = "newest\r\n\n  previous  \n";
const JOB: &str = r#"{"event":"job.completed","job_id":"job_1"}"#;

/// A database in a temporary directory, which outlives the receivers that use it.
struct InboxDatabase {
    path: String,
    _directory: TempDir,
}

impl InboxDatabase {
    fn new() -> Result<Self, Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("webhooks.db");
        Ok(Self {
            path: path.to_str().ok_or("not a UTF-8 path")?.to_owned(),
            _directory: directory,
        })
    }

    /// Starts a receiver, as after a restart of the program.
    fn receiver(&self) -> Result<Router, Box<dyn Error>> {
        receive_webhooks::app(SECRETS, &self.path)
    }

    fn execute(&self, sql: &str) -> Result<(), Box<dyn Error>> {
        Ok(Connection::open(&self.path)?.execute_batch(sql)?)
    }

    fn bodies(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let database = Connection::open(&self.path)?;
        let mut rows = database.prepare("SELECT CAST(body AS TEXT) FROM inbox ORDER BY rowid")?;
        let bodies = rows.query_map([], |row| row.get(0))?;
        Ok(bodies.collect::<Result<_, _>>()?)
    }
}

fn delivery(secret: &str, body: &'static str) -> Result<Request, Box<dyn Error>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let headers = HeaderMap::from(Signer::new(Key::new(secret)?).sign(now, body));
    let mut request = Request::post("/webhooks").body(body.into())?;
    *request.headers_mut() = headers;
    Ok(request)
}

async fn deliver(receiver: &Router, body: &'static str) -> Result<u16, Box<dyn Error>> {
    let response = receiver.clone().call(delivery("newest", body)?).await?;
    Ok(response.status().as_u16())
}

#[tokio::test]
async fn each_event_is_stored_once_whichever_secret_signed_it() -> Result<(), Box<dyn Error>> {
    let inbox = InboxDatabase::new()?;
    let receiver = inbox.receiver()?;
    let failed = r#"{"event":"job.failed","job_id":"job_1"}"#;
    let run = r#"{"event":"format.run.terminal","payload":{"run_id":"run_1"}}"#;
    let rows = [
        ("newest", JOB, 200),
        ("previous", JOB, 200),
        ("previous", failed, 200),
        ("newest", run, 200),
        ("newest", run, 200),
        ("stranger", failed, 401),
        ("newest", "[]", 400),
    ];
    for (secret, body, expected) in rows {
        let response = receiver.clone().call(delivery(secret, body)?).await?;
        assert_eq!(response.status(), expected, "{secret}: {body}");
    }
    assert_eq!(inbox.bodies()?, [JOB, failed, run]);
    Ok(())
}

#[tokio::test]
async fn an_event_that_could_not_be_stored_is_stored_when_it_is_redelivered()
-> Result<(), Box<dyn Error>> {
    let inbox = InboxDatabase::new()?;
    let receiver = inbox.receiver()?;
    inbox.execute(
        "CREATE TRIGGER disk_full BEFORE INSERT ON inbox BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )?;
    assert_eq!(deliver(&receiver, JOB).await?, 500);
    assert!(inbox.bodies()?.is_empty());

    inbox.execute("DROP TRIGGER disk_full")?;
    assert_eq!(deliver(&receiver, JOB).await?, 200);
    assert_eq!(inbox.bodies()?, [JOB]);
    Ok(())
}

#[tokio::test]
async fn an_event_that_was_stored_but_not_answered_is_not_stored_again()
-> Result<(), Box<dyn Error>> {
    let inbox = InboxDatabase::new()?;
    // The first poll starts the transaction. Then the request is dropped, without an answer.
    let killed = inbox.receiver()?;
    let _ = timeout(Duration::ZERO, deliver(&killed, JOB)).await;
    drop(killed);
    timeout(Duration::from_secs(10), async {
        while inbox.bodies().is_ok_and(|bodies| bodies.is_empty()) {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await?;

    assert_eq!(deliver(&inbox.receiver()?, JOB).await?, 200);
    assert_eq!(inbox.bodies()?, [JOB]);
    Ok(())
}

#[tokio::test]
async fn an_unknown_event_is_not_stored_and_a_test_event_is_never_a_duplicate()
-> Result<(), Box<dyn Error>> {
    let unknown = r#"{"event":"job.paused","job_id":"job_1"}"#;
    let test = r#"{"event":"webhook.test"}"#;
    for (body, status, stored) in [(unknown, 204, vec![]), (test, 200, vec![test, test])] {
        let inbox = InboxDatabase::new()?;
        let receiver = inbox.receiver()?;
        assert_eq!(deliver(&receiver, body).await?, status);
        assert_eq!(deliver(&receiver, body).await?, status);
        assert_eq!(inbox.bodies()?, stored);
    }
    Ok(())
}

#[tokio::test]
async fn a_deleted_event_is_stored_again_when_it_is_redelivered() -> Result<(), Box<dyn Error>> {
    let inbox = InboxDatabase::new()?;
    let receiver = inbox.receiver()?;
    assert_eq!(deliver(&receiver, JOB).await?, 200);
    inbox
        .execute("DELETE FROM inbox WHERE event = 'job.completed' AND resource_id = 'job:job_1'")?;
    assert_eq!(deliver(&receiver, JOB).await?, 200);
    assert_eq!(inbox.bodies()?, [JOB]);
    Ok(())
}
