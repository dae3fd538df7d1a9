//! ResponseFuture on what is in the store: byte for byte, as often as it takes.

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

/// Deliveries under way at once.
const MAX_CONCURRENT: u32 = 8;
/// For one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// Before the second attempt; then twice as long each time.
const INITIAL_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// What a target that asks for time is given at most.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);
/// A delivery that has waited so long is signed anew: a target that verifies would find it stale.
const RESIGN_AFTER_SECONDS: u64 = 240;

/// Sends on what is kept.
pub(super) struct Forwarder {
    target: Target,
    transport: Arc<dyn Transport>,
    store: Shared,
    keys: Arc<Keys>,
    /// How often the target may refuse an event.
    max_rejections: u32,
    events: mpsc::Sender<ListenEvent>,
    stop: watch::Receiver<bool>,
    slots: Semaphore,
}

/// What became of an attempt.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    /// The target has it.
    Delivered,
    /// The target does not want it, and hardly will.
    Rejected(String),
    /// The target is down, or busy.
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

    /// Sees to it that a delivery is sent on. It ends when it was, or when the listener ends.
    pub(super) fn spawn(self: &Arc<Self>, id: u64) {
        let forwarder = Arc::clone(self);
        tokio::spawn(async move {
            let mut stop = forwarder.stop.clone();
            let mut retries = RetryState::default();
            loop {
                let pause = select! {
                    biased;
                    () = stopped(&mut stop) => return,
                    // What is under way is not broken off: the target may have it already.
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

    /// Waits until nothing is under way any more.
    pub(super) async fn wait_idle(&self) {
        let _ = self.slots.acquire_many(MAX_CONCURRENT).await;
    }

    /// One attempt. Gives the pause before the next, where there is to be one.
    async fn attempt_once(&self, id: u64, retries: &mut RetryState) -> Option<Duration> {
        let read = self.with_store(move |store| store.delivery(id)).await;
        let delivery = match read {
            Ok(delivery) => delivery?,
            Err(error) => {
                self.emit(ListenEvent::Warning(format!(
                    "an event in the store cannot be read ({error}); it is not forwarded"
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
                    "could not forward {name} ({reason}); it is tried again"
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
                "the store cannot be written ({error}): the next run forwards an event again"
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
                return Attempt::Rejected("what was stored of it is damaged".to_owned());
            };
            match timeout(ATTEMPT_TIMEOUT, sending).await {
                Ok(Ok(answer)) => Attempt::from_response(answer.status(), answer.headers()),
                Ok(Err(error)) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    Attempt::Retry(cause.unwrap_or_else(|| error.to_string()), None)
                }
                Err(_) => Attempt::Retry("no answer in time".to_owned(), None),
            }
        }
    }

    /// As the service does when it redelivers: the same body, a fresh timestamp and signature.
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
        // Where so much is going on that it cannot be told, forwarding goes first.
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
        let reason = format!("the target answered {}", status.as_u16());
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

/// What was tried with one delivery.
#[derive(Debug, Default)]
struct RetryState {
    failed: u32,
    rejected: u32,
}

impl RetryState {
    /// Takes in an attempt, and gives the pause before the next one, where there is to be one.
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

    /// A target that answers from a list, and 200 after it; 0 is no answer at all.
    #[derive(Clone, Default)]
    struct Scripted {
        answers: Arc<Mutex<VecDeque<u16>>>,
        seen: Arc<Mutex<Vec<Request<Bytes>>>>,
    }

    impl Transport for Scripted {
        fn send(&self, request: Request<Bytes>) -> ResponseFuture {
            self.seen.lock().unwrap().push(request);
            let status = self.answers.lock().unwrap().pop_front().unwrap_or(200);
            Box::pin(async move {
                if status == 0 {
                    return Err(TransportError::not_sent("connection refused"));
                }
                let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
                let mut answer = Response::new(body);
                *answer.status_mut() = StatusCode::from_u16(status).unwrap();
                Ok(answer)
            })
        }
    }

    struct Sent {
        target: Scripted,
        store: Shared,
        events: Vec<ListenEvent>,
    }

    /// What comes of a delivery that was received so long ago, after an hour.
    async fn forwarded(answers: &[u16], age: u64) -> Sent {
        let target = Scripted::default();
        target.answers.lock().unwrap().extend(answers);
        let at = clock::unix_seconds() - age;
        let mut store = Store::in_memory(true);
        let mut headers = HeaderMap::new();
        headers.insert(header::TIMESTAMP, HeaderValue::from(at));
        headers.insert(header::SIGNATURE, HeaderValue::from_static("as it came"));
        let body = Bytes::from_static(b"{ \"event\" : 1 }");
        store
            .insert(Delivery::new(at, None, "a test".into(), &headers, &body))
            .unwrap();
        let store = store::shared(store);
        let secrets = Secrets::from_text("whsec_newest", Source::Service).unwrap();
        let (events, mut heard) = mpsc::channel(100);
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
        // A second at a time, so that work on other threads is waited for too.
        for _ in 0..3600 {
            sleep(Duration::from_secs(1)).await;
            tokio::task::spawn_blocking(|| {}).await.unwrap();
        }
        let mut stopped = Vec::new();
        while let Ok(events) = heard.try_recv() {
            stopped.push(events);
        }
        Sent {
            target,
            store,
            events: stopped,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_is_down_or_busy_is_tried_until_it_is_not() {
        let sent = forwarded(&[0, 0, 503, 429, 500, 408, 0, 0, 0, 0, 0], 0).await;
        let seen = sent.target.seen.lock().unwrap();
        assert_eq!(seen.len(), 12);
        for request in seen.iter() {
            assert_eq!(request.uri(), "http://127.0.0.1:1/in?a=b");
            assert_eq!(request.body(), "{ \"event\" : 1 }");
            assert_eq!(request.headers()[header::SIGNATURE], "as it came");
        }
        assert!(store::lock(&sent.store).pending().is_empty());
        assert!(
            matches!(&sent.events[..], [ListenEvent::Note(_), ListenEvent::Note(last)] if last.contains("12"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_refuses_is_given_up_after_so_many_times() {
        let sent = forwarded(&[404, 503, 302, 400], 0).await;
        assert_eq!(sent.target.seen.lock().unwrap().len(), 4);
        assert!(store::lock(&sent.store).pending().is_empty());
        assert!(
            matches!(sent.events.last(), Some(ListenEvent::Warning(reason)) if reason.contains("400"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_waited_too_long_is_signed_anew() {
        let sent = forwarded(&[], RESIGN_AFTER_SECONDS + 60).await;
        let seen = sent.target.seen.lock().unwrap();
        let verifier = Verifier::new(svc_webhook_verify::Key::new("whsec_newest").unwrap());
        let (headers, body) = (seen[0].headers(), seen[0].body());
        verifier
            .verify_with_headers(headers, body, clock::unix_seconds())
            .unwrap();
        assert_eq!(headers.len(), 3);
    }

    #[test]
    fn pauses_grow_to_half_a_minute_and_heed_the_target() {
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
