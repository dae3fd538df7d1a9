//! Accepted deliveries per second, side by side with a bare insertion into the same store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;
use svc_webhook_inbox::tower::ReceiveService;
use svc_webhook_inbox::{Inbox, NewEvent};
use svc_webhook_verify::{Event, KeySet, Verifier, WebhookReceiver};
use tower::ServiceExt;

use crate::processes::SECRET;
use crate::sender::delivery;
use crate::store::{StoreKind, StoreServer};

const CONCURRENCY: usize = 32;

/// Measures one receiver in this process, without HTTP. Prints a line of JSON.
pub(crate) async fn run(kind: StoreKind, events: usize) -> bool {
    let Some(server) = StoreServer::start(kind) else { return true };
    let store = kind.open(&server.address()).await;
    let insert = measure(events, |number| {
        let store = Arc::clone(&store);
        async move {
            let (headers, body) = delivery(number);
            let event = Event::parse(&body).unwrap();
            let event = NewEvent::new(&event, headers.into(), body.into());
            store.insert(event).await.unwrap();
        }
    })
    .await;
    let receiver = WebhookReceiver::new(Verifier::new(KeySet::new([SECRET]).unwrap()));
    let service = ReceiveService::new(Inbox::from_arc(Arc::clone(&store)), receiver);
    let accept = measure(events, |number| {
        let service = service.clone();
        async move {
            let (headers, body) = delivery(events + number);
            let mut request = Request::new(Full::<bytes::Bytes>::from(body));
            *request.headers_mut() = headers.into();
            let response = service.oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
        }
    })
    .await;
    let report = json!({
        "store": kind.name,
        "events": events,
        "inserted_per_second": insert.per_second,
        "insert_p99_ms": insert.p99_millis,
        "accepted_per_second": accept.per_second,
        "accept_p99_ms": accept.p99_millis,
    });
    println!("{report}");
    true
}

struct Measured {
    per_second: f64,
    p99_millis: f64,
}

async fn measure<F>(count: usize, work: impl Fn(usize) -> F) -> Measured
where
    F: Future<Output = ()> + Send + 'static,
{
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let tasks = (0..CONCURRENCY).map(|_| async {
        let mut times: Vec<Duration> = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return times;
            }
            let start = Instant::now();
            tokio::spawn(work(number)).await.unwrap();
            times.push(start.elapsed());
        }
    });
    let times = futures_util::future::join_all(tasks).await;
    let seconds = start.elapsed().as_secs_f64();
    let mut times: Vec<Duration> = times.into_iter().flatten().collect();
    times.sort_unstable();
    let p99 = times[(times.len() - 1) * 99 / 100];
    Measured {
        per_second: (count as f64 / seconds).round(),
        p99_millis: (p99.as_secs_f64() * 10_000.0).round() / 10.0,
    }
}
