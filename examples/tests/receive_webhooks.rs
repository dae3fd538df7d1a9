//! The receiver of `receive_webhooks.rs`, as it stands there.

#![allow(
    clippy::disallowed_methods,
    reason = "its receiver goes by the system's clock, so what it is sent has to as well"
)]

#[allow(dead_code, reason = "its `main` is not called")]
#[path = "../receive_webhooks.rs"]
mod receive_webhooks;

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::Request;
use axum::http::HeaderMap;
use svc_webhook_verify::{Key, Signer};
use tower_service::Service;

fn delivery(secret: &str, body: &'static str) -> Result<Request, Box<dyn Error>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let headers = HeaderMap::from(Signer::new(Key::new(secret)?).sign(now, body));
    let mut request = Request::post("/webhooks").body(body.into())?;
    *request.headers_mut() = headers;
    Ok(request)
}

#[tokio::test]
async fn each_event_is_stored_once_whichever_secret_signed_it() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("webhooks.db");
    let database = database.to_str().ok_or("a path that is text")?;
    let secrets = ["newest".to_owned(), "previous".to_owned()];
    let app = receive_webhooks::app(&secrets, database)?;

    let job = r#"{"event":"job.completed","job_id":"job_1"}"#;
    let other = r#"{"event":"job.failed","job_id":"job_2"}"#;
    let rows = [
        ("newest", job, 200),
        ("previous", job, 200),
        ("previous", other, 200),
        ("stranger", other, 401),
        ("newest", r#"{"event":"job.paused","job_id":"job_3"}"#, 204),
        ("newest", "[]", 400),
    ];
    for (secret, body, expected) in rows {
        let response = app.clone().call(delivery(secret, body)?).await?;
        assert_eq!(response.status(), expected, "{secret}: {body}");
    }

    let stored = rusqlite::Connection::open(database)?;
    let mut bodies = stored.prepare("SELECT body FROM inbox ORDER BY rowid")?;
    let bodies = bodies.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
    let bodies: Vec<Vec<u8>> = bodies.collect::<Result<_, _>>()?;
    assert_eq!(bodies, [job.as_bytes(), other.as_bytes()]);
    Ok(())
}
