//! Forwarding of stored events to the target, unchanged and with retries.

use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use http::header::{HeaderMap, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use svc_sdk::transport::Transport;
use svc_webhook_inbox::{EventRetryPolicy, EventStore, HandlerError, Inbox, StoredEvent, Worker};
use svc_webhook_verify::{Signer, header};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::clock;
use crate::listen::receive::ListenEvent;
use crate::webhook::{Keys, Target, lock};

pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// The service retries for some hours, and a user may redeliver later.
pub(super) const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long the events of a listener that was killed are kept for it. Another one polls for them, and so takes
/// them over within 15 s.
const LEASE_DURATION: Duration = Duration::from_secs(12);

const MAX_CONCURRENT: usize = 8;
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
const INITIAL_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);
/// The age at which a delivery is signed again, because the target would reject it as stale.
const RESIGN_AFTER_SECONDS: u64 = 240;
const REJECTION_COUNT: &str = "; rejected ";

pub(super) struct Forwarder {
    target: Target,
    transport: Arc<dyn Transport>,
    keys: Arc<Keys>,
    max_rejections: u32,
    events: mpsc::Sender<ListenEvent>,
    store_error: Mutex<Option<String>>,
}

#[derive(Debug, PartialEq, Eq)]
enum ForwardOutcome {
    Delivered,
    Rejected(String),
    Retry(String, Option<Duration>),
}

/// Returns the inbox of a store, whose events are retried until the forwarder gives them up.
pub(super) fn inbox(store: Arc<dyn EventStore>) -> Inbox {
    Inbox::from_arc(store)
        .lease_duration(LEASE_DURATION)
        .retry_policy(unlimited_retries())
        .forget_dead(true)
}

fn unlimited_retries() -> EventRetryPolicy {
    EventRetryPolicy {
        max_attempts: u32::MAX,
        initial_delay: INITIAL_BACKOFF,
        max_delay: MAX_BACKOFF,
    }
}

impl Forwarder {
    pub(super) fn new(
        target: Target,
        transport: Arc<dyn Transport>,
        keys: Arc<Keys>,
        max_rejections: u32,
        events: mpsc::Sender<ListenEvent>,
    ) -> Self {
        Self { target, transport, keys, max_rejections, events, store_error: Mutex::default() }
    }

    pub(super) fn worker(self, inbox: Inbox) -> Worker {
        let forwarder = Arc::new(self);
        let reporter = Arc::clone(&forwarder);
        Worker::new(inbox, move |event| {
            let forwarder = Arc::clone(&forwarder);
            async move { forwarder.forward(event).await }
        })
        .name(format!("svc-webhook-listen-{}", std::process::id()))
        .concurrency(MAX_CONCURRENT)
        .shutdown_grace(SHUTDOWN_GRACE)
        .purge_after(RETENTION)
        .on_store_error(move |error| reporter.report_store_error(&error.to_string()))
    }

    async fn forward(&self, event: StoredEvent) -> Result<(), HandlerError> {
        *lock(&self.store_error) = None;
        let name = event_label(&event);
        let attempts = event.attempts;
        let mut rejections = earlier_rejections(&event);
        match self.send(&event).await {
            ForwardOutcome::Delivered => {
                if attempts > 1 {
                    self.emit(ListenEvent::Note(format!("forwarded {name} at attempt {attempts}")));
                }
                Ok(())
            }
            ForwardOutcome::Rejected(reason) => {
                rejections = rejections.saturating_add(1);
                if rejections >= self.max_rejections {
                    self.emit(ListenEvent::Warning(format!(
                        "gave up forwarding {name} after {attempts} attempts: {reason}"
                    )));
                    return Err(HandlerError::permanent(reason));
                }
                Err(self.retry(&name, attempts, &reason, rejections, None))
            }
            ForwardOutcome::Retry(reason, retry_after) => {
                Err(self.retry(&name, attempts, &reason, rejections, retry_after))
            }
        }
    }

    fn retry(
        &self,
        name: &str,
        attempts: u32,
        reason: &str,
        rejections: u32,
        retry_after: Option<Duration>,
    ) -> HandlerError {
        if attempts == 1 {
            self.emit(ListenEvent::Note(format!("cannot forward {name} ({reason}); retrying")));
        }
        // The number is stored with the event, for the next attempt may be that of another process.
        let error = match rejections {
            0 => reason.to_owned(),
            times => format!("{reason}{REJECTION_COUNT}{times} times"),
        };
        HandlerError::retry_after(retry_delay(attempts, retry_after), error)
    }

    async fn send(&self, event: &StoredEvent) -> ForwardOutcome {
        let mut headers = event.headers.clone();
        let now = clock::unix_seconds();
        let received_at = event.received_at.duration_since(UNIX_EPOCH);
        let received_at = received_at.unwrap_or_default().as_secs();
        if now.saturating_sub(received_at) > RESIGN_AFTER_SECONDS {
            self.sign_again(&mut headers, now, &event.body);
        }
        let mut request = self.target.post(event.body.clone());
        *request.headers_mut() = headers;
        match timeout(ATTEMPT_TIMEOUT, self.transport.send(request)).await {
            Ok(Ok(response)) => {
                ForwardOutcome::from_response(response.status(), response.headers())
            }
            Ok(Err(error)) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                ForwardOutcome::Retry(cause.unwrap_or_else(|| error.to_string()), None)
            }
            Err(_) => ForwardOutcome::Retry("the request timed out".to_owned(), None),
        }
    }

    fn sign_again(&self, headers: &mut HeaderMap, now: u64, body: &[u8]) {
        let keys = self.keys.verifier().keys().clone();
        for name in [header::TIMESTAMP, header::SIGNATURE, header::FINGERPRINT] {
            headers.remove(name);
        }
        let signed = HeaderMap::from(Signer::new(keys).sign(now, body));
        let with_name = |(name, value)| Some((Option::<HeaderName>::from(name)?, value));
        headers.extend(signed.into_iter().filter_map(|(name, value)| with_name((name?, value))));
    }

    /// Reports an error of the store, unless it is the same as the one before.
    fn report_store_error(&self, error: &str) {
        let mut last = lock(&self.store_error);
        if last.as_deref() != Some(error) {
            *last = Some(error.to_owned());
            self.emit(ListenEvent::Warning(format!(
                "the store failed: {error}; events are forwarded when it works again"
            )));
        }
    }

    fn emit(&self, event: ListenEvent) {
        // If the channel is full the event is dropped, so that forwarding is not delayed.
        let _ = self.events.try_send(event);
    }
}

impl ForwardOutcome {
    fn from_response(status: StatusCode, headers: &HeaderMap) -> Self {
        let reason = format!("the target responded with {}", status.as_u16());
        match status.as_u16() {
            200..=299 => Self::Delivered,
            408 | 425 | 429 | 500..=599 => {
                let retry_after =
                    headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                Self::Retry(reason, retry_after.map(Duration::from_secs))
            }
            _ => Self::Rejected(reason),
        }
    }
}

fn event_label(event: &StoredEvent) -> String {
    let parsed = event.parse().ok();
    let id = parsed.as_ref().and_then(|parsed| parsed.job_id().or_else(|| parsed.run_id()));
    format!("{} {}", event.event_type, id.unwrap_or("-"))
}

fn earlier_rejections(event: &StoredEvent) -> u32 {
    // The error of an earlier life is kept when an event is replayed.
    let error = event.last_error.as_deref().filter(|_| event.attempts > 1);
    let count = error
        .and_then(|error| error.rsplit_once(REJECTION_COUNT)?.1.split(' ').next())
        .and_then(|count| count.parse().ok());
    count.unwrap_or_default()
}

fn retry_delay(attempts: u32, retry_after: Option<Duration>) -> Duration {
    let backoff = unlimited_retries().delay_after(attempts).unwrap_or(MAX_BACKOFF);
    backoff.max(retry_after.unwrap_or_default().min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use bytes::Bytes;
    use http::{HeaderValue, Request, Response};
    use http_body_util::{BodyExt, Empty};
    use svc_sdk::transport::ResponseFuture;
    use svc_webhook_inbox::{Clock, MemoryEventStore, NewEvent};
    use svc_webhook_verify::{Event, Verifier};
    use tokio::time::sleep;

    use crate::webhook::{SecretSource, Secrets};

    const BODY: &str = "{ \"event\" : \"job.completed\", \"job_id\": \"job_1\" }";

    #[derive(Clone, Default)]
    struct Accepting(Arc<Mutex<Vec<Request<Bytes>>>>);

    impl Transport for Accepting {
        fn send(&self, request: Request<Bytes>) -> ResponseFuture {
            self.0.lock().unwrap().push(request);
            let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
            Box::pin(async move { Ok(Response::new(body)) })
        }
    }

    async fn inbox_with_event(age: u64) -> Inbox {
        let received_at = clock::unix_seconds() - age;
        let start = clock::monotonic();
        // Follows the paused clock of the runtime.
        let now = move || -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(received_at) + (clock::monotonic() - start)
        };
        let inbox = inbox(Arc::new(MemoryEventStore::new().clock(Clock::new(now))));
        let mut headers = HeaderMap::new();
        headers.insert(header::TIMESTAMP, HeaderValue::from(received_at));
        headers.insert(header::SIGNATURE, HeaderValue::from_static("original"));
        let event = NewEvent::new(&Event::parse(BODY).unwrap(), headers, BODY.into());
        inbox.store().insert(event).await.unwrap();
        inbox
    }

    /// Forwards the events of an inbox for some seconds, and returns what the target received.
    async fn forward_for(seconds: u64, inbox: &Inbox) -> Vec<Request<Bytes>> {
        let target = Accepting::default();
        let secrets = Secrets::from_text("whsec_newest", SecretSource::Service).unwrap();
        let (events, _received) = mpsc::channel(100);
        let forwarder = Forwarder::new(
            "http://127.0.0.1:1/in?a=b".parse().unwrap(),
            Arc::new(target.clone()),
            Arc::new(Keys::new(&secrets, Duration::from_secs(300), None)),
            3,
            events,
        );
        let worker = forwarder.worker(inbox.clone());
        worker.run_until(sleep(Duration::from_secs(seconds))).await;
        std::mem::take(&mut *target.0.lock().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn the_event_of_a_killed_listener_is_forwarded_by_another_one_within_15_s() {
        let inbox = inbox_with_event(0).await;
        assert_eq!(inbox.claim("killed", 1).await.unwrap().len(), 1);
        assert!(forward_for(11, &inbox).await.is_empty());
        assert_eq!(forward_for(4, &inbox).await.len(), 1);
        assert_eq!(inbox.store().stats().await.unwrap().handled, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_delivery_is_signed_again() {
        let inbox = inbox_with_event(RESIGN_AFTER_SECONDS + 60).await;
        let seen = forward_for(3600, &inbox).await;
        let verifier = Verifier::new(svc_webhook_verify::Key::new("whsec_newest").unwrap());
        let (headers, body) = (seen[0].headers(), seen[0].body());
        verifier.verify_with_headers(headers, body, clock::unix_seconds()).unwrap();
        assert_eq!(headers.len(), 3);
    }

    #[test]
    fn delays_double_up_to_30_s_and_honor_retry_after() {
        let millis = |attempts| retry_delay(attempts, None).as_millis();
        assert_eq!([1, 2, 3].map(millis), [250, 500, 1000]);
        assert_eq!(retry_delay(9, None), MAX_BACKOFF);
        assert_eq!(retry_delay(u32::MAX - 1, None), MAX_BACKOFF);
        let retry_after = |seconds| retry_delay(1, Some(Duration::from_secs(seconds)));
        assert_eq!(retry_after(60), Duration::from_secs(60));
        assert_eq!(retry_after(u64::MAX), MAX_RETRY_AFTER);
    }
}
