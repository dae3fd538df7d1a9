//! One call of the service: sent, repeated where that is safe, decoded.
//!
//! What is decided here is decided by the pure parts ([`retry`], [`pace`], [`budget`]); this file
//! is the thin loop around them. Waiting for a job is not here but in [`wait`](crate::wait).

pub(crate) mod budget;
pub(crate) mod clock;
pub(crate) mod decode;
pub(crate) mod entropy;
pub(crate) mod legible;
pub(crate) mod origin;
pub(crate) mod pace;
mod request;
pub(crate) mod retry;
pub(crate) mod secret;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderValue, USER_AGENT};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use self::budget::RetryBudget;
use self::clock::Instant;
use self::decode::{Answer, Wrapping};
use self::entropy::Entropy;
use self::origin::BaseUrl;
use self::pace::Pace;
pub use self::request::Request;
use self::retry::{LONGEST_WAIT, RetryPolicy};
use crate::contract::{Budget, Operation, RetryClass};
use crate::error::{Error, Kind, Result};
use crate::transport::{Transport, TransportError};
use crate::types::{IdempotencyKey, Page, RequestId};

/// Bytes of an answer that are read; artifacts are not read this way.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;
/// Requests of a client that are under way at once.
pub(crate) const IN_FLIGHT: usize = 64;

/// What all calls of a client and its clones share.
pub(crate) struct Core {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) base: BaseUrl,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) user_agent: HeaderValue,
    pub(crate) wrapping: Wrapping,
    pub(crate) retry: RetryPolicy,
    pub(crate) deadline: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) budget: RetryBudget,
    pub(crate) pace: Pace,
    pub(crate) entropy: Entropy,
    pub(crate) in_flight: Semaphore,
}

/// What a caller may say about one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) deadline: Option<Duration>,
    pub(crate) retries: Option<u32>,
}

impl Core {
    /// Sends the request until it succeeds or must not be repeated, and decodes the answer.
    pub(crate) async fn execute<T>(
        &self,
        request: &Request,
        options: &Options,
        decode: impl Fn(Answer) -> Result<T>,
    ) -> Result<T> {
        let after = options.deadline.unwrap_or(self.deadline);
        let deadline = clock::after(after);
        let policy = match options.retries {
            Some(retries) => self.retry.clone().retries(retries),
            None => self.retry.clone(),
        };
        let mut attempt = 0;
        let mut sent = false;
        let mut doubt = None;
        let error = loop {
            let outcome =
                clock::before(Some(deadline), self.exchange(request, deadline, &mut sent)).await;
            let error = match outcome.map(|answer| answer.and_then(&decode)) {
                Some(Ok(value)) => {
                    self.budget.refund();
                    return Ok(value);
                }
                Some(Err(error)) => error,
                None => {
                    let sent = sent || doubt.is_some();
                    break Error::new(Kind::Deadline {
                        after,
                        sent,
                        last: doubt.map(Box::new),
                    });
                }
            };
            let left = deadline.saturating_duration_since(clock::now());
            let delay = retry::delay(
                &policy,
                request.retry(),
                &error,
                attempt,
                self.entropy.fraction(),
                left,
            );
            let Some(delay) = delay.filter(|_| self.budget.take()) else {
                // An earlier attempt may have been carried out: a later one that never arrived, or
                // was turned away at the door, does not settle what became of the call. Of a read
                // the last answer says more than the first.
                let is_read = request.retry() == RetryClass::Safe;
                break match doubt {
                    Some(doubt) if !is_read && !retry::settles(&error) => doubt,
                    _ => error,
                };
            };
            tracing::debug!(
                operation = request.operation.map(Operation::name),
                attempt,
                delay_ms = delay.as_millis(),
                status = error.status(),
                "repeating a request"
            );
            attempt += 1;
            if error.is_ambiguous() {
                doubt = Some(error);
            }
            clock::sleep(delay).await;
        };
        Err(error
            .with_operation(request.operation)
            .with_key(request.idempotency_key.as_ref()))
    }

    /// Sends the request once, within the budgets, and gives back whatever was answered.
    pub(crate) async fn exchange(
        &self,
        request: &Request,
        deadline: Instant,
        sent: &mut bool,
    ) -> Result<Answer> {
        *sent = false;
        let budget = request.budget();
        self.admission(budget, deadline).await?;
        let mut entry = Entry {
            core: self,
            budget,
            open: true,
        };

        let mut message = request.to_http(&self.base.join(&request.target()))?;
        message
            .headers_mut()
            .insert(USER_AGENT, self.user_agent.clone());
        if let Some(authorization) = &self.authorization {
            message
                .headers_mut()
                .insert(AUTHORIZATION, authorization.clone());
        }
        // What waits here for its turn has not left, and its attempt's time does not run.
        let permit = self
            .in_flight
            .acquire()
            .await
            .map_err(|_| Error::configuration("the client is shut down"))?;
        *sent = true;
        let patience = clock::after(self.attempt_timeout);
        let answer = match clock::before(Some(patience), self.send(message)).await {
            Some(answer) => answer,
            None => Err(TransportError::perhaps_sent("no answer in time").into()),
        };
        drop(permit);
        if let Err(error) = &answer {
            *sent = error.may_have_been_sent();
        }
        let now = clock::now();
        entry.settle(now, answer.as_ref().ok().map(|answer| &answer.headers));
        if let Ok(answer) = &answer {
            tracing::debug!(
                operation = request.operation.map(Operation::name),
                status = answer.status,
                request_id = answer.request_id().as_ref().map(RequestId::as_str),
                "answered"
            );
            if answer.status == 429 {
                let after = retry::retry_after(&answer.headers, clock::wall())
                    .unwrap_or(Duration::from_secs(1));
                self.pace.exhausted(budget, now + after.min(LONGEST_WAIT));
            }
        }
        answer
    }

    async fn admission(&self, budget: Budget, deadline: Instant) -> Result<()> {
        loop {
            let now = clock::now();
            let Err(again) = self.pace.admit(budget, now) else {
                return Ok(());
            };
            let retry_after = again - now;
            if again >= deadline || retry_after > LONGEST_WAIT {
                return Err(Error::new(Kind::BudgetSpent { retry_after }));
            }
            clock::sleep_until(again).await;
        }
    }

    async fn send(&self, message: http::Request<Bytes>) -> Result<Answer> {
        let (head, body) = self.transport.send(message).await?.into_parts();
        let status = head.status.as_u16();
        let body = Limited::new(body, LARGEST_ANSWER)
            .collect()
            .await
            .map_err(|error| match error.downcast::<TransportError>() {
                Ok(error) => TransportError::perhaps_sent(error),
                Err(error) if error.is::<LengthLimitError>() => {
                    TransportError::perhaps_sent("the answer is larger than 64 MiB")
                }
                Err(error) => TransportError::perhaps_sent(error),
            })?;
        Ok(Answer {
            status,
            headers: head.headers,
            body: body.to_bytes(),
        })
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core")
            .field("base", &self.base)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// A request that the pace has counted in: counted out even when its caller goes away.
struct Entry<'a> {
    core: &'a Core,
    budget: Budget,
    open: bool,
}

impl Entry<'_> {
    fn settle(&mut self, now: Instant, headers: Option<&HeaderMap>) {
        self.open = false;
        self.core.pace.settle(self.budget, now, headers);
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if self.open {
            self.core.pace.settle(self.budget, clock::now(), None);
        }
    }
}

/// A call that is ready to be sent.
///
/// Nothing happens until [`send`](Self::send).
#[must_use = "a call does nothing until it is sent"]
#[derive(Debug)]
pub struct Call<T> {
    core: Arc<Core>,
    request: Result<Request>,
    options: Options,
    decode: fn(&Answer, Wrapping) -> Result<T>,
}

impl<T: DeserializeOwned> Call<T> {
    pub(crate) fn new(core: &Arc<Core>, request: Result<Request>) -> Self {
        Self::with_decoder(core, request, Answer::decode)
    }
}

impl<T: DeserializeOwned> Call<T> {
    /// A call whose answer no error may show.
    pub(crate) fn secret(core: &Arc<Core>, request: Result<Request>) -> Self {
        Self::with_decoder(core, request, |answer, wrapping| {
            answer.decode(wrapping).map_err(Error::redacted)
        })
    }
}

impl<T: DeserializeOwned> Call<Page<T>> {
    pub(crate) fn list(core: &Arc<Core>, request: Result<Request>) -> Self {
        Self::with_decoder(core, request, |answer, _| answer.decode_whole())
    }
}

impl<T> Call<T> {
    fn with_decoder(
        core: &Arc<Core>,
        request: Result<Request>,
        decode: fn(&Answer, Wrapping) -> Result<T>,
    ) -> Self {
        let request = request.and_then(|mut request| {
            if request.retry().sends_key() && request.idempotency_key.is_none() {
                request.idempotency_key = Some(core.entropy.idempotency_key()?);
            }
            Ok(request)
        });
        Self {
            core: Arc::clone(core),
            request,
            options: Options::default(),
            decode,
        }
    }

    /// Gives up after that time, repetitions included.
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// Repeats at most so often.
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.options.retries = Some(retries);
        self
    }

    /// Uses that key instead of a fresh one; sent where the operation takes one.
    pub fn with_idempotency_key(mut self, key: IdempotencyKey) -> Self {
        if let Ok(request) = &mut self.request
            && request.retry().sends_key()
        {
            request.idempotency_key = Some(key);
        }
        self
    }

    /// A query parameter that this build has no setter for.
    pub fn with_query(mut self, name: &str, value: impl ToString) -> Self {
        if let Ok(request) = &mut self.request {
            request.push_query(name, value);
        }
        self
    }

    /// What will be sent, but for the host and the credential.
    ///
    /// # Errors
    ///
    /// Where the request can never be right.
    pub fn request(&self) -> std::result::Result<&Request, &Error> {
        self.request.as_ref()
    }

    /// Sends it, repeats it where that is safe, and decodes the answer.
    ///
    /// # Errors
    ///
    /// See [`Error`]: whether it may have been sent, and what to do.
    pub async fn send(self) -> Result<T> {
        let request = self.request?;
        let (decode, wrapping) = (self.decode, self.core.wrapping);
        Box::pin(self.core.execute(&request, &self.options, |answer| {
            decode(&answer.success()?, wrapping)
        }))
        .await
    }
}

#[cfg(test)]
mod tests;
