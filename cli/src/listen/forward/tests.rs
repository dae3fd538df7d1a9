use std::collections::VecDeque;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Empty};
use svc_sdk::transport::{ResponseFuture, TransportError};
use svc_webhook_inbox::{Clock, MemoryStore, NewEvent, StoreStats};
use svc_webhook_verify::{Event, Verifier};
use tokio::time::sleep;

use super::*;
use crate::webhook::{Secrets, Source};

const BODY: &str = "{ \"event\" : \"job.completed\", \"job_id\": \"job_1\" }";

/// A target that responds with a list of statuses, then with 200. Status 0 is a failed
/// connection.
#[derive(Clone, Default)]
struct Scripted {
    statuses: Arc<Mutex<VecDeque<u16>>>,
    seen: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Transport for Scripted {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture {
        self.seen.lock().unwrap().push(request);
        let status = self.statuses.lock().unwrap().pop_front().unwrap_or(200);
        Box::pin(async move {
            if status == 0 {
                return Err(TransportError::not_sent("connection refused"));
            }
            let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
            let mut response = Response::new(body);
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            Ok(response)
        })
    }
}

struct Sent {
    target: Scripted,
    stats: StoreStats,
    events: Vec<ListenEvent>,
}

/// Forwards an event of the given age for an hour, and returns what the target received.
async fn forward(statuses: &[u16], age: u64) -> Sent {
    let target = Scripted::default();
    target.statuses.lock().unwrap().extend(statuses);
    let received_at = clock::unix_seconds() - age;
    let start = clock::monotonic();
    // Follows the paused clock of the runtime.
    let now = move || -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(received_at) + (clock::monotonic() - start)
    };
    let inbox = Inbox::new(MemoryStore::new().clock(Clock::new(now)))
        .retry_policy(unlimited_retries())
        .forget_dead(true);
    let mut headers = HeaderMap::new();
    headers.insert(header::TIMESTAMP, HeaderValue::from(received_at));
    headers.insert(header::SIGNATURE, HeaderValue::from_static("original"));
    let event = NewEvent::new(&Event::parse(BODY).unwrap(), headers, BODY.into());
    inbox.store().insert(event).await.unwrap();
    let secrets = Secrets::from_text("whsec_newest", Source::Service).unwrap();
    let (events, mut received) = mpsc::channel(100);
    let forwarder = Forwarder::new(
        "http://127.0.0.1:1/in?a=b".parse().unwrap(),
        Arc::new(target.clone()),
        Arc::new(Keys::new(&secrets, Duration::from_secs(300), None)),
        3,
        events,
    );
    let hour = sleep(Duration::from_secs(3600));
    forwarder.worker(inbox.clone()).run_until(hour).await;
    let events = std::iter::from_fn(|| received.try_recv().ok()).collect();
    Sent {
        target,
        stats: inbox.store().stats().await.unwrap(),
        events,
    }
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_target_is_retried_until_it_accepts() {
    let sent = forward(&[0, 0, 503, 429, 500, 408, 0, 0, 0, 0, 0], 0).await;
    let seen = sent.target.seen.lock().unwrap();
    assert_eq!(seen.len(), 12);
    for request in seen.iter() {
        assert_eq!(request.uri(), "http://127.0.0.1:1/in?a=b");
        assert_eq!(request.body(), BODY);
        assert_eq!(request.headers()[header::SIGNATURE], "original");
    }
    assert_eq!((sent.stats.handled, sent.stats.pending), (1, 0));
    assert!(
        matches!(&sent.events[..], [ListenEvent::Note(_), ListenEvent::Note(last)] if last.contains("12"))
    );
}

#[tokio::test(start_paused = true)]
async fn forwarding_stops_after_the_maximum_number_of_rejections() {
    let sent = forward(&[404, 503, 302, 400], 0).await;
    assert_eq!(sent.target.seen.lock().unwrap().len(), 4);
    assert_eq!((sent.stats.dead, sent.stats.pending), (1, 0));
    assert!(
        matches!(sent.events.last(), Some(ListenEvent::Warning(reason)) if reason.contains("job.completed job_1") && reason.contains("400"))
    );
}

#[tokio::test(start_paused = true)]
async fn an_old_delivery_is_signed_again() {
    let sent = forward(&[], RESIGN_AFTER_SECONDS + 60).await;
    let seen = sent.target.seen.lock().unwrap();
    let verifier = Verifier::new(svc_webhook_verify::Key::new("whsec_newest").unwrap());
    let (headers, body) = (seen[0].headers(), seen[0].body());
    verifier
        .verify_with_headers(headers, body, clock::unix_seconds())
        .unwrap();
    assert_eq!(headers.len(), 3);
}

#[test]
fn delays_double_up_to_30_s_and_honor_retry_after() {
    let millis = |attempts| delay(attempts, None).as_millis();
    assert_eq!([1, 2, 3].map(millis), [250, 500, 1000]);
    assert_eq!(delay(9, None), MAX_BACKOFF);
    assert_eq!(delay(u32::MAX - 1, None), MAX_BACKOFF);
    let retry_after = |seconds| delay(1, Some(Duration::from_secs(seconds)));
    assert_eq!(retry_after(60), Duration::from_secs(60));
    assert_eq!(retry_after(u64::MAX), MAX_RETRY_AFTER);
}
