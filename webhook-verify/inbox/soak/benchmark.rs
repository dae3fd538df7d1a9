//! Accepted deliveries per second, side by side with a bare insertion into the same store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
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
        "inserted_per_second": insert.0,
        "insert_p99_ms": insert.1,
        "accepted_per_second": accept.0,
        "accept_p99_ms": accept.1,
    });
    println!("{report}");
    true
}

/// Returns how often the work is done in a second, and the 99th percentile of its duration in milliseconds.
async fn measure<F>(count: usize, work: impl Fn(usize) -> F) -> (f64, f64)
where
    F: Future<Output = ()> + Send + 'static,
{
    let start = Instant::now();
    let work = &work;
    let timed = (0..count).map(|number| async move {
        let start = Instant::now();
        tokio::spawn(work(number)).await.unwrap();
        start.elapsed()
    });
    let mut times: Vec<Duration> =
        stream::iter(timed).buffer_unordered(CONCURRENCY).collect().await;
    let seconds = start.elapsed().as_secs_f64();
    times.sort_unstable();
    let p99 = times[(times.len() - 1) * 99 / 100];
    ((count as f64 / seconds).round(), (p99.as_secs_f64() * 10_000.0).round() / 10.0)
}
