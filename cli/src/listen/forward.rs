//! Forwarding of stored events to the target, unchanged and with retries.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use http::header::{HeaderMap, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use svc_sdk::transport::Transport;
use svc_webhook_inbox::{HandlerError, Inbox, RetryPolicy, StoredEvent, Worker};
use svc_webhook_verify::{Signer, header};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::event::ListenEvent;
use super::keys::Keys;
use super::{RETENTION, SHUTDOWN_GRACE};
use crate::clock;
use crate::webhook::Target;

/// The maximum number of concurrent attempts.
const MAX_CONCURRENT: usize = 8;
/// The timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// The delay before the second attempt. It doubles with each attempt.
const INITIAL_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// The maximum `retry-after` that is honored.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);
/// The age at which a delivery is signed again, because the target would reject it as stale.
const RESIGN_AFTER_SECONDS: u64 = 240;
/// Precedes the number of rejections in the error of an event.
const REJECTION_COUNT: &str = "; rejected ";

/// Forwards stored events.
pub(super) struct Forwarder {
    target: Target,
    transport: Arc<dyn Transport>,
    keys: Arc<Keys>,
    /// The number of times that the target may reject an event.
    max_rejections: u32,
    events: mpsc::Sender<ListenEvent>,
    /// The last error of the store that was reported.
    store_error: Mutex<Option<String>>,
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

/// Returns the policy of an inbox whose events are retried until the forwarder gives them up.
pub(super) fn unlimited_retries() -> RetryPolicy {
    RetryPolicy {
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
        Self {
            target,
            transport,
            keys,
            max_rejections,
            events,
            store_error: Mutex::default(),
        }
    }

    /// Returns the worker that forwards the events of an inbox.
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

    /// Makes one attempt, and says what becomes of the event.
    async fn forward(&self, event: StoredEvent) -> Result<(), HandlerError> {
        *self.lock_store_error() = None;
        let name = name(&event);
        let attempts = event.attempts;
        let mut rejections = earlier_rejections(&event);
        match self.send(&event).await {
            Attempt::Delivered => {
                if attempts > 1 {
                    self.emit(ListenEvent::Note(format!(
                        "forwarded {name} at attempt {attempts}"
                    )));
                }
                Ok(())
            }
            Attempt::Rejected(reason) => {
                rejections = rejections.saturating_add(1);
                if rejections >= self.max_rejections {
                    self.emit(ListenEvent::Warning(format!(
                        "gave up forwarding {name} after {attempts} attempts: {reason}"
                    )));
                    return Err(HandlerError::permanent(reason));
                }
                Err(self.retry(&name, attempts, &reason, rejections, None))
            }
            Attempt::Retry(reason, retry_after) => {
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
            self.emit(ListenEvent::Note(format!(
                "cannot forward {name} ({reason}); retrying"
            )));
        }
        // The number is stored with the event, for the next attempt may be that of another process.
        let error = match rejections {
            0 => reason.to_owned(),
            times => format!("{reason}{REJECTION_COUNT}{times} times"),
        };
        HandlerError::retry_after(delay(attempts, retry_after), error)
    }

    async fn send(&self, event: &StoredEvent) -> Attempt {
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
            Ok(Ok(response)) => Attempt::from_response(response.status(), response.headers()),
            Ok(Err(error)) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                Attempt::Retry(cause.unwrap_or_else(|| error.to_string()), None)
            }
            Err(_) => Attempt::Retry("the request timed out".to_owned(), None),
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

    /// Reports an error of the store, unless it is the same as the one before.
    fn report_store_error(&self, error: &str) {
        let mut last = self.lock_store_error();
        if last.as_deref() != Some(error) {
            *last = Some(error.to_owned());
            self.emit(ListenEvent::Warning(format!(
                "the store failed: {error}; events are forwarded when it works again"
            )));
        }
    }

    fn lock_store_error(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        let error = self.store_error.lock();
        error.unwrap_or_else(PoisonError::into_inner)
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

/// Returns the name of an event in messages, such as `job.completed job_1`.
fn name(event: &StoredEvent) -> String {
    let parsed = event.parse().ok();
    let id = parsed
        .as_ref()
        .and_then(|parsed| parsed.job_id().or_else(|| parsed.run_id()));
    format!("{} {}", event.event_type, id.unwrap_or("-"))
}

/// Returns the number of times that the target has rejected an event.
fn earlier_rejections(event: &StoredEvent) -> u32 {
    // The error of an earlier life is kept when an event is replayed.
    let error = event.last_error.as_deref().filter(|_| event.attempts > 1);
    let count = error
        .and_then(|error| error.rsplit_once(REJECTION_COUNT)?.1.split(' ').next())
        .and_then(|count| count.parse().ok());
    count.unwrap_or_default()
}

/// Returns the delay after an attempt.
fn delay(attempts: u32, retry_after: Option<Duration>) -> Duration {
    let backoff = unlimited_retries()
        .delay_after(attempts)
        .unwrap_or(MAX_BACKOFF);
    backoff.max(retry_after.unwrap_or_default().min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests;
