//! The state that the clones of a client share, and the loop that sends a call.

use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tracing::Instrument;

use super::base_url::{BaseUrl, HttpHosts};
use super::clock::{self, ClockReading, Instant};
use super::connections::Connections;
use super::credentials::Credentials;
use super::deadline::{Deadline, NoResponse, exchange};
use super::estimate_cache::EstimateCache;
use super::options::CallOptions;
use super::random::Random;
use super::rate_limit::RateLimiter;
use super::raw_response::RawResponse;
use super::request::Request;
use super::response::{Wrapping, receive};
use super::retry::{self, MAX_RETRY_AFTER, RetryBudget, RetryPolicy};
use super::task::TaskGroup;
use crate::contract::{ErrorCode, RateLimitBucket, RetryClass};
use crate::debug_fields::debug_fields;
use crate::error::failure_class::{FailureClass, classify, is_conclusive};
use crate::error::{Error, Kind, Result};
use crate::journal::{ActiveIntent, Journal, KEY_RETENTION, SpendLimit, StoreError};
use crate::observe::call::{ObservedAttempt, ObservedCall};
use crate::observe::trace;
use crate::observe::{JournalFailure, Observer};
use crate::polling::JobPolls;
use crate::transport::{ResponseFuture, Transport, TransportError};

/// Decodes a response, and keeps the value for whoever sends the request.
type Decode<'a> = dyn FnMut(RawResponse) -> Result<()> + Send + 'a;

/// How long a bucket is closed after a 429 that does not say it.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The state of a client, which its clones share. It dereferences to the state that
/// clients of other keys share too.
pub(crate) struct Core {
    pub(crate) shared: Arc<SharedCore>,
    pub(crate) key: Arc<KeyState>,
    /// The label of the account in the journal, empty if there is none.
    pub(crate) account: Arc<str>,
}

/// The state that the clients of one API key share.
pub(crate) struct KeyState {
    pub(crate) credentials: Credentials,
    pub(crate) rate_limiter: RateLimiter,
    pub(crate) job_polls: JobPolls,
    /// The permits of polls of single jobs, as many as there may be requests in flight.
    pub(crate) poll_turns: Semaphore,
}

/// The state that a client shares with those derived from it for other API keys.
pub(crate) struct SharedCore {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) connections: Connections,
    pub(crate) base_url: BaseUrl,
    pub(crate) http_hosts: HttpHosts,
    pub(crate) user_agent: HeaderValue,
    /// Headers of every request that does not set them itself.
    pub(crate) default_headers: HeaderMap,
    pub(crate) wrapping: Wrapping,
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) allow_private_artifact_hosts: bool,
    pub(crate) retry_budget: RetryBudget,
    pub(crate) random: Random,
    pub(crate) in_flight: Semaphore,
    pub(crate) max_in_flight: usize,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) task_group: Option<TaskGroup>,
    pub(crate) journal: Option<Journal>,
    pub(crate) spend_limit: Option<SpendLimit>,
    pub(crate) estimates: EstimateCache,
    /// Has a receiver for each submit that goes on although its future may have been dropped.
    pub(crate) pending_submits: watch::Sender<()>,
}

impl Deref for Core {
    type Target = SharedCore;

    fn deref(&self) -> &SharedCore {
        &self.shared
    }
}

impl Core {
    pub(crate) fn new(
        shared: Arc<SharedCore>,
        credentials: Credentials,
        account: Arc<str>,
    ) -> Self {
        let key = KeyState {
            credentials,
            rate_limiter: RateLimiter::default(),
            job_polls: JobPolls::default(),
            poll_turns: Semaphore::new(shared.max_in_flight),
        };
        Self { shared, key: Arc::new(key), account }
    }

    /// Sends the request until it succeeds or must not be retried, and decodes the response.
    pub(crate) async fn execute<T: Send>(
        &self,
        request: &Request,
        options: &CallOptions,
        deadline: &Deadline,
        intent: Option<&ActiveIntent>,
        mut decode: impl FnMut(RawResponse) -> Result<T> + Send,
    ) -> Result<T> {
        let mut value = None;
        let mut decode = |response| {
            value = Some(decode(response)?);
            Ok(())
        };
        self.send_until_final(request, options, deadline, intent, &mut decode).await?;
        // What succeeds was decoded.
        value.ok_or_else(|| Error::configuration("the response was not decoded"))
    }

    /// Sends a request until it can be decoded or must not be retried. This is not generic, as a program
    /// would contain it for every type of a response.
    async fn send_until_final(
        &self,
        request: &Request,
        options: &CallOptions,
        deadline: &Deadline,
        intent: Option<&ActiveIntent>,
        decode: &mut Decode<'_>,
    ) -> Result<()> {
        let max_retries = options.max_retries.unwrap_or(self.retry.max_retries);
        let resource = options.resource.as_ref();
        let observers = &self.observers;
        let mut call =
            ObservedCall::start(observers, &self.base_url, request, resource, max_retries);
        let span = call.span();
        let limits = (max_retries, options.is_of_batch);
        let sending = self.send_attempts(request, deadline, limits, intent, &mut call, decode);
        let result = sending.instrument(span).await;
        call.finish(result.as_ref().err());
        result
    }

    /// Reports that a receipt or an outcome could not be written to the journal.
    pub(crate) fn report_journal_failure(&self, intent: &ActiveIntent, error: &StoreError) {
        tracing::error!(target: "svc_sdk::journal", %error, "cannot write to the journal");
        let failure = JournalFailure {
            id: intent.id(),
            submission_id: intent.submission_id.as_deref(),
            idempotency_key: intent.key(),
            error,
        };
        for observer in &self.observers {
            observer.on_journal_failure(&failure);
        }
    }

    async fn send_attempts(
        &self,
        request: &Request,
        deadline: &Deadline,
        (max_retries, is_of_batch): (u32, bool),
        intent: Option<&ActiveIntent>,
        call: &mut ObservedCall<'_>,
        decode: &mut Decode<'_>,
    ) -> Result<()> {
        let mut retries = 0;
        let mut ambiguous_error = None;
        let mut may_replace_key = true;
        let first_at = intent.map_or_else(clock::wall, |intent| intent.begun_at);
        let retention = intent.map_or(KEY_RETENTION, ActiveIntent::key_retention);
        let error = loop {
            let mut attempt = ObservedAttempt::default();
            let mut key = None;
            // What is awaited here is boxed, so that the future of a call stays below a kilobyte:
            // allocators are slower above it.
            let sending = self.send_once(request, deadline, intent, call, &mut attempt, &mut key);
            let outcome = Box::pin(sending).await;
            let mut error = match outcome.map(|response| response.and_then(&mut *decode)) {
                Some(Ok(())) => {
                    call.end_attempt(&attempt, None, None);
                    self.retry_budget.refund();
                    return Ok(());
                }
                Some(Err(error)) => {
                    without_key(error, key.as_ref(), decode).with_base_url(self.base_url.as_str())
                }
                None => {
                    let sent = attempt.sent || ambiguous_error.is_some();
                    let error = Error::new(Kind::Timeout {
                        timeout: deadline.timeout(),
                        sent,
                        last: ambiguous_error.map(Box::new),
                    });
                    call.end_attempt(&attempt, Some(&error), None);
                    break error;
                }
            };
            // The service rejects a key before it does anything else.
            if let Some(rejected) = key.filter(|_| may_replace_key && is_rejected_key(&error)) {
                may_replace_key = false;
                match Box::pin(self.replace_key(rejected, deadline)).await {
                    Some(Ok(true)) => {
                        call.end_attempt(&attempt, Some(&error), Some(Duration::ZERO));
                        call.trace_retry(Duration::ZERO, &error);
                        continue;
                    }
                    Some(Ok(false)) | None => {}
                    Some(Err(provider_error)) => error = provider_error,
                }
            }
            let remaining = deadline.remaining();
            let policy = self.retry.clone().max_retries(max_retries);
            let delay = retry::retry_delay(
                &policy,
                request.retry_class(),
                &error,
                retries,
                self.random.fraction(),
                remaining,
            )
            .filter(|_| {
                let waits_for_room = is_of_batch
                    && ambiguous_error.is_none()
                    && error.code() == Some(&ErrorCode::ConcurrencyLimitReached);
                !waits_for_room && self.retry_budget.take()
            });
            call.end_attempt(&attempt, Some(&error), delay);
            let Some(delay) = delay else {
                // An earlier attempt may have been carried out. A later one that was never sent, or
                // was turned away before the service looked for the key, does not decide what
                // became of the call. Of a read, the last error says more than the first.
                let is_read = request.retry_class() == RetryClass::Safe;
                break match ambiguous_error {
                    Some(earlier) if !is_read && !is_conclusive(&error) => earlier,
                    _ => error,
                };
            };
            call.trace_retry(delay, &error);
            retries += 1;
            if classify(&error) == FailureClass::Ambiguous {
                ambiguous_error = Some(error);
            } else if let Some(intent) = intent
                && ambiguous_error.is_none()
            {
                Box::pin(intent.attempt_failed(&error)).await;
            }
            Box::pin(clock::pause(delay)).await;
            // The computer may have slept so long that the service no longer recognizes the key.
            if let Some(error) =
                ambiguous_error.take_if(|_| request.has_outdated_key(first_at, retention))
            {
                break error;
            }
        };
        Err(request.annotate(error))
    }

    /// Asks for another API key than the rejected one. Returns `None` if the deadline passes first.
    async fn replace_key(
        &self,
        rejected: HeaderValue,
        deadline: &Deadline,
    ) -> Option<Result<bool>> {
        deadline.before(self.key.credentials.replace(&rejected)).await
    }

    /// Sends the request once, within the rate limit, and returns whatever response comes, or `None`
    /// if the deadline passes first.
    ///
    /// `attempt` says afterwards whether the request may have left, also if this future is dropped.
    /// `key` is the `Authorization` header that was sent.
    async fn send_once(
        &self,
        request: &Request,
        deadline: &Deadline,
        intent: Option<&ActiveIntent>,
        call: &mut ObservedCall<'_>,
        attempt: &mut ObservedAttempt,
        key: &mut Option<HeaderValue>,
    ) -> Option<Result<RawResponse>> {
        let waited = {
            let waiting = pin!(async {
                *key = self.key.credentials.header().await?;
                self.wait_for_permit(request, deadline).await
            });
            deadline.before(waiting).await?
        };
        let (turn, mut permit, mut now) = match waited {
            Ok(permit) => permit,
            Err(error) => return Some(Err(error)),
        };
        let mut send_limit = None;
        if let Some(intent) = intent {
            let is_outdated = request.has_outdated_key(intent.begun_at, intent.key_retention());
            match Box::pin(intent.before_attempt(deadline, is_outdated)).await {
                Ok(limit) => send_limit = limit,
                Err(error) => return Some(Err(error)),
            }
            now = ClockReading::now();
        }
        let sent_at = now.monotonic();
        let sending = match self.message(request, key.as_ref()) {
            Ok(mut message) => {
                *attempt = call.start_attempt(&mut message, sent_at);
                permit.sent_at = Some(sent_at);
                trace::request_message(&message, Some(request), key.as_ref());
                if let Some(limit) = send_limit {
                    message.extensions_mut().insert(limit);
                }
                self.transport.send(message)
            }
            Err(error) => return Some(Err(error)),
        };
        let receiving = pin!(receive(sending));
        let received = exchange(deadline, self.attempt_timeout, now, receiving).await;
        if received.is_err() {
            self.replace_connections(sent_at);
        }
        let response = match received {
            Ok(response) => response,
            Err(NoResponse::DeadlinePassed) => return None,
            Err(reason) => Err(TransportError::from(reason).into()),
        };
        drop(turn);
        if let Err(error) = &response {
            attempt.sent = error.may_have_been_sent();
            permit.sent_at = permit.sent_at.filter(|_| attempt.sent);
        }
        permit.release(response.as_ref().ok());
        if let Ok(response) = &response {
            call.record_response(attempt, response);
            let key = key.as_ref();
            trace::response_headers(response.status, &response.headers, key);
            trace::response_body(request.operation, &response.body, key);
        }
        Some(response)
    }

    /// Returns the request with the headers of every request.
    fn message(
        &self,
        request: &Request,
        key: Option<&HeaderValue>,
    ) -> Result<http::Request<Bytes>> {
        let mut message = request.to_http(&self.base_url)?;
        let headers = message.headers_mut();
        for (name, value) in &self.default_headers {
            if !request.headers.contains_key(name) {
                headers.insert(name, value.clone());
            }
        }
        headers.insert(USER_AGENT, self.user_agent.clone());
        // Responses are not decompressed.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(key) = key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        Ok(message)
    }

    /// Waits for a turn and for a place in the rate-limit bucket.
    ///
    /// A request that waits here was not sent, and its attempt's time limit does not run. It takes a
    /// place only when it is its turn: while the limit is unknown, no more requests are counted than
    /// can be under way. Connections that died while the computer slept are replaced before the
    /// clocks are read that are returned.
    async fn wait_for_permit(
        &self,
        request: &Request,
        deadline: &Deadline,
    ) -> Result<(SemaphorePermit<'_>, Permit<'_>, ClockReading)> {
        let bucket = request.bucket();
        loop {
            let turn = self
                .in_flight
                .acquire()
                .await
                .map_err(|_| Error::configuration("the client is shut down"))?;
            let reading = self.notice_sleep();
            let now = reading.monotonic();
            let Err(next) = self.key.rate_limiter.bucket(bucket).acquire(now) else {
                let permit = Permit { core: self, bucket, is_held: true, sent_at: None };
                return Ok((turn, permit, reading));
            };
            drop(turn);
            let retry_after = next - now;
            if next >= deadline.instant() || retry_after > MAX_RETRY_AFTER {
                return Err(Error::new(Kind::RateLimitExhausted { retry_after }));
            }
            trace::rate_limit(request.operation, retry_after);
            clock::pause_until(next).await;
        }
    }

    /// Sends a request, on a new connection if the computer slept since the last one.
    pub(crate) fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        self.notice_sleep();
        self.transport.send(request)
    }

    /// Replaces the connections if the computer slept since the last request, and ends the
    /// rate-limit windows that ended meanwhile. Returns the clocks.
    pub(crate) fn notice_sleep(&self) -> ClockReading {
        let noted = self.connections.note_request();
        if noted.has_slept {
            self.transport.reconnect();
        }
        self.key.rate_limiter.skip_sleep(noted.total_sleep);
        noted.now
    }

    /// Replaces the connections after a request that was sent at that time got no response.
    pub(crate) fn replace_connections(&self, sent_at: Instant) {
        let now = self.notice_sleep();
        if self.connections.mark_replaced(sent_at, &now) {
            self.transport.reconnect();
        }
    }
}

/// Returns the error without the API key of the request, which a proxy's page may repeat. It is the
/// error of the response without the key, so that none of what it quotes cuts the key in two.
fn without_key(error: Error, key: Option<&HeaderValue>, decode: &mut Decode<'_>) -> Error {
    let response = key.zip(error.response());
    let redacted = response.and_then(|(key, response)| response.without_key(key));
    match redacted.map(decode) {
        Some(Err(redacted)) => redacted,
        _ => error,
    }
}

/// Returns whether the service itself rejected the API key, and not a proxy in front of it.
fn is_rejected_key(error: &Error) -> bool {
    matches!(error.variant(), Kind::Api { status: 401, .. })
}

debug_fields! { [] Core as "Core" { base_url, retry } }

/// A place in a rate-limit bucket, given back even if the call is dropped.
struct Permit<'a> {
    core: &'a Core,
    bucket: RateLimitBucket,
    is_held: bool,
    /// When the request was sent, if it may have been.
    sent_at: Option<Instant>,
}

impl Permit<'_> {
    fn release(&mut self, response: Option<&RawResponse>) {
        self.is_held = false;
        let mut bucket = self.core.key.rate_limiter.bucket(self.bucket);
        match (self.sent_at, response) {
            (None, _) => bucket.release(),
            // Without a valid key, the service counts the request for the client's address.
            (Some(_), Some(response)) if response.status == 401 => bucket.release(),
            (Some(_), None) => bucket.release_unreported(clock::now()),
            (Some(sent_at), Some(response)) => {
                let retry_after = (response.status == 429).then(|| {
                    let hint = retry::retry_after(&response.headers, clock::wall());
                    hint.unwrap_or(DEFAULT_RETRY_AFTER).min(MAX_RETRY_AFTER)
                });
                let limit = response.rate_limit();
                bucket.release_answered(sent_at, clock::now(), limit, retry_after);
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.is_held {
            self.release(None);
        }
    }
}
