//! Forwarding of stored deliveries to the target, unchanged and with retries.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderMap, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use svc_sdk::transport::Transport;
use svc_webhook_verify::{Signer, header};
use tokio::select;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::delivery::Delivery;
use super::event::ListenEvent;
use super::keys::Keys;
use super::shutdown::stopped;
use super::store::{self, Shared};
use crate::clock;
use crate::webhook::Target;

/// The maximum number of concurrent attempts.
const MAX_CONCURRENT: u32 = 8;
/// The timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// The delay before the second attempt. It doubles with each attempt.
const INITIAL_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// The maximum `retry-after` that is honored.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);
/// The age at which a delivery is signed again, because the target would reject it as stale.
const RESIGN_AFTER_SECONDS: u64 = 240;

/// Forwards stored deliveries.
pub(super) struct Forwarder {
    target: Target,
    transport: Arc<dyn Transport>,
    store: Shared,
    keys: Arc<Keys>,
    /// The number of times that the target may reject an event.
    max_rejections: u32,
    events: mpsc::Sender<ListenEvent>,
    stop: watch::Receiver<bool>,
    slots: Semaphore,
}

/// The outcome of an attempt.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    /// The target accepted the event.
    Delivered,
    /// The target rejected the event.
    Rejected(String),
    /// The target is unavailable or overloaded, with its `retry-after`.
    Retry(String, Option<Duration>),
}

impl Forwarder {
    pub(super) fn new(
        target: Target,
        transport: Arc<dyn Transport>,
        store: Shared,
        keys: Arc<Keys>,
        max_rejections: u32,
        events: mpsc::Sender<ListenEvent>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            target,
            transport,
            store,
            keys,
            max_rejections,
            events,
            stop,
            slots: Semaphore::new(MAX_CONCURRENT as usize),
        }
    }

    /// Spawns a task that forwards a delivery. It ends with the last attempt or with the listener.
    pub(super) fn spawn(self: &Arc<Self>, id: u64) {
        let forwarder = Arc::clone(self);
        tokio::spawn(async move {
            let mut stop = forwarder.stop.clone();
            let mut retries = RetryState::default();
            loop {
                let pause = select! {
                    biased;
                    () = stopped(&mut stop) => return,
                    // A running attempt is not aborted, because the target may have received it.
                    slot = forwarder.slots.acquire() => match slot {
                        Ok(_slot) => forwarder.attempt_once(id, &mut retries).await,
                        Err(_) => return,
                    },
                };
                let Some(pause) = pause else { return };
                select! {
                    biased;
                    () = stopped(&mut stop) => return,
                    () = sleep(pause) => {}
                }
            }
        });
    }

    /// Waits for the running attempts.
    pub(super) async fn wait_idle(&self) {
        let _ = self.slots.acquire_many(MAX_CONCURRENT).await;
    }

    /// Makes one attempt. Returns the delay before the next one, unless this was the last.
    async fn attempt_once(&self, id: u64, retries: &mut RetryState) -> Option<Duration> {
        let read = self.with_store(move |store| store.delivery(id)).await;
        let delivery = match read {
            Ok(delivery) => delivery?,
            Err(error) => {
                self.emit(ListenEvent::Warning(format!(
                    "cannot forward an event: reading it from the store failed: {error}"
                )));
                return None;
            }
        };
        let name = delivery.name.clone();
        let attempt = self.send(delivery).await;
        let pause = retries.next_pause(&attempt, self.max_rejections);
        match (attempt, pause) {
            (Attempt::Delivered, _) => {
                self.record_outcome(id, true).await;
                if retries.failed > 0 {
                    let times = retries.failed + 1;
                    self.emit(ListenEvent::Note(format!(
                        "forwarded {name} at attempt {times}"
                    )));
                }
            }
            (Attempt::Rejected(reason), None) => {
                self.record_outcome(id, false).await;
                let times = retries.failed;
                self.emit(ListenEvent::Warning(format!(
                    "gave up forwarding {name} after {times} attempts: {reason}"
                )));
            }
            (Attempt::Rejected(reason) | Attempt::Retry(reason, _), _) if retries.failed == 1 => {
                self.emit(ListenEvent::Note(format!(
                    "cannot forward {name} ({reason}); retrying"
                )));
            }
            _ => {}
        }
        pause
    }

    async fn record_outcome(&self, id: u64, forwarded: bool) {
        let now = clock::unix_seconds();
        let recorded = self
            .with_store(move |store| store.settle(id, forwarded, now))
            .await;
        if let Err(error) = recorded {
            self.emit(ListenEvent::Warning(format!(
                "cannot write to the store: {error}; the next run will forward an event again"
            )));
        }
    }

    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut store::Store) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let shared = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&mut store::lock(&shared)));
        done.await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }

    fn send(&self, delivery: Delivery) -> impl Future<Output = Attempt> + Send + use<> {
        let request = delivery.body().map(|body| {
            let mut headers = delivery.headers();
            let now = clock::unix_seconds();
            if now.saturating_sub(delivery.at) > RESIGN_AFTER_SECONDS {
                self.sign_again(&mut headers, now, &body);
            }
            let mut request = self.target.post(body);
            *request.headers_mut() = headers;
            request
        });
        let sending = request.map(|request| self.transport.send(request));
        async move {
            let Some(sending) = sending else {
                return Attempt::Rejected("the stored body is damaged".to_owned());
            };
            match timeout(ATTEMPT_TIMEOUT, sending).await {
                Ok(Ok(response)) => Attempt::from_response(response.status(), response.headers()),
                Ok(Err(error)) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    Attempt::Retry(cause.unwrap_or_else(|| error.to_string()), None)
                }
                Err(_) => Attempt::Retry("the request timed out".to_owned(), None),
            }
        }
    }

    /// Replaces the timestamp and the signature, as the service does for redeliveries.
    fn sign_again(&self, headers: &mut HeaderMap, now: u64, body: &[u8]) {
        let keys = self.keys.verifier().keys().clone();
        for name in [header::TIMESTAMP, header::SIGNATURE, header::FINGERPRINT] {
            headers.remove(name);
        }
        let signed = HeaderMap::from(Signer::new(keys).sign(now, body));
        let with_name = |(name, value)| Some((Option::<HeaderName>::from(name)?, value));
        headers.extend(
            signed
                .into_iter()
                .filter_map(|(name, value)| with_name((name?, value))),
        );
    }

    fn emit(&self, event: ListenEvent) {
        // If the channel is full the event is dropped, so that forwarding is not delayed.
        let _ = self.events.try_send(event);
    }
}

impl fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarder")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Attempt {
    fn from_response(status: StatusCode, headers: &HeaderMap) -> Self {
        let reason = format!("the target responded with {}", status.as_u16());
        match status.as_u16() {
            200..=299 => Self::Delivered,
            408 | 425 | 429 | 500..=599 => {
                let retry_after = headers
                    .get(RETRY_AFTER)
                    .and_then(|value| value.to_str().ok()?.parse().ok());
                Self::Retry(reason, retry_after.map(Duration::from_secs))
            }
            _ => Self::Rejected(reason),
        }
    }
}

/// The attempts of one delivery.
#[derive(Debug, Default)]
struct RetryState {
    failed: u32,
    rejected: u32,
}

impl RetryState {
    /// Counts an attempt. Returns the delay before the next one, unless this was the last.
    fn next_pause(&mut self, attempt: &Attempt, max_rejections: u32) -> Option<Duration> {
        let doubled = 2_u32.saturating_pow(self.failed);
        let pause = INITIAL_BACKOFF.saturating_mul(doubled).min(MAX_BACKOFF);
        match attempt {
            Attempt::Delivered => None,
            Attempt::Rejected(_) => {
                self.failed = self.failed.saturating_add(1);
                self.rejected = self.rejected.saturating_add(1);
                (self.rejected < max_rejections).then_some(pause)
            }
            Attempt::Retry(_, retry_after) => {
                self.failed = self.failed.saturating_add(1);
                Some(pause.max(retry_after.unwrap_or_default().min(MAX_RETRY_AFTER)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use bytes::Bytes;
    use http::{HeaderValue, Request, Response};
    use http_body_util::{BodyExt, Empty};
    use svc_sdk::transport::{ResponseFuture, TransportError};
    use svc_webhook_verify::Verifier;

    use super::super::store::Store;
    use super::*;
    use crate::webhook::{Secrets, Source};

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
        store: Shared,
        events: Vec<ListenEvent>,
    }

    /// Forwards a delivery of the given age for an hour, and returns what the target received.
    async fn forward(statuses: &[u16], age: u64) -> Sent {
        let target = Scripted::default();
        target.statuses.lock().unwrap().extend(statuses);
        let at = clock::unix_seconds() - age;
        let mut store = Store::in_memory(true);
        let mut headers = HeaderMap::new();
        headers.insert(header::TIMESTAMP, HeaderValue::from(at));
        headers.insert(header::SIGNATURE, HeaderValue::from_static("original"));
        let body = Bytes::from_static(b"{ \"event\" : 1 }");
        store
            .insert(Delivery::new(at, None, "a test".into(), &headers, &body))
            .unwrap();
        let store = store::shared(store);
        let secrets = Secrets::from_text("whsec_newest", Source::Service).unwrap();
        let (events, mut received) = mpsc::channel(100);
        let (_stop, stopped) = watch::channel(false);
        let forwarder = Arc::new(Forwarder::new(
            "http://127.0.0.1:1/in?a=b".parse().unwrap(),
            Arc::new(target.clone()),
            Arc::clone(&store),
            Arc::new(Keys::new(&secrets, Duration::from_secs(300), None)),
            3,
            events,
            stopped,
        ));
        forwarder.spawn(1);
        // Advances one second at a time, to wait for blocking tasks as well.
        for _ in 0..3600 {
            sleep(Duration::from_secs(1)).await;
            tokio::task::spawn_blocking(|| {}).await.unwrap();
        }
        let events = std::iter::from_fn(|| received.try_recv().ok()).collect();
        Sent {
            target,
            store,
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
            assert_eq!(request.body(), "{ \"event\" : 1 }");
            assert_eq!(request.headers()[header::SIGNATURE], "original");
        }
        assert!(store::lock(&sent.store).pending().is_empty());
        assert!(
            matches!(&sent.events[..], [ListenEvent::Note(_), ListenEvent::Note(last)] if last.contains("12"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn forwarding_stops_after_the_maximum_number_of_rejections() {
        let sent = forward(&[404, 503, 302, 400], 0).await;
        assert_eq!(sent.target.seen.lock().unwrap().len(), 4);
        assert!(store::lock(&sent.store).pending().is_empty());
        assert!(
            matches!(sent.events.last(), Some(ListenEvent::Warning(reason)) if reason.contains("400"))
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
        let later = |retry_after: Option<u64>| {
            Attempt::Retry(String::new(), retry_after.map(Duration::from_secs))
        };
        let mut retries = RetryState::default();
        let pauses: Vec<_> = (0..9)
            .map(|_| retries.next_pause(&later(None), 3).unwrap())
            .collect();
        assert_eq!(pauses[..3], [250, 500, 1000].map(Duration::from_millis));
        assert_eq!(pauses[8], MAX_BACKOFF);
        assert_eq!(
            retries.next_pause(&later(Some(60)), 3),
            Some(Duration::from_secs(60))
        );
        assert_eq!(
            retries.next_pause(&later(Some(u64::MAX)), 3),
            Some(MAX_RETRY_AFTER)
        );
        retries.failed = u32::MAX;
        assert_eq!(retries.next_pause(&later(None), 3), Some(MAX_BACKOFF));
    }
}
