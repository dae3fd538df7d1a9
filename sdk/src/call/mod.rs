//! Calls of the service: a request, its options, and how its response is decoded.
//!
//! The decisions are pure: [`retry`] and [`rate_limit`] do no I/O. [`core`] is the loop
//! that carries them out. Waiting for a job lives in [`polling`](crate::polling).

pub(crate) mod api_key;
pub(crate) mod base_url;
pub(crate) mod clock;
pub(crate) mod connections;
pub(crate) mod core;
pub(crate) mod credentials;
pub(crate) mod deadline;
pub(crate) mod estimate_cache;
pub(crate) mod job_search;
pub(crate) mod json;
pub(crate) mod key_provider;
pub(crate) mod options;
mod page;
mod price;
mod progress;
pub(crate) mod random;
pub(crate) mod rate_limit;
mod raw_request;
pub(crate) mod raw_response;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod retry;
pub(crate) mod submit;
pub(crate) mod task;

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::core::{Core, SharedCore};
use self::deadline::Deadline;
pub(crate) use self::options::CallOptions;
use self::options::SubmitOptions;
pub use self::page::{Items, Pages};
pub use self::progress::CallWithResponse;
use self::progress::{CallState, already_ended};
pub use self::rate_limit::RateLimit;
pub use self::raw_response::RawResponse;
pub use self::request::Request;
use self::request::parse_header;
pub use self::response::Response;
pub(crate) use self::submit::DecodeContext;
use self::submit::{Decoder, JournaledSubmit, SubmitFunctions};
use crate::contract::Operation;
use crate::debug_fields::debug_fields;
use crate::error::{Error, ResourceRef, Result};
use crate::types::{IdempotencyKey, Page, Validate};

/// A call of the service, ready to be sent.
///
/// Like every future, it does nothing until it is polled. Every method of a resource returns one; its
/// options are set on it:
///
/// ```no_run
/// use std::time::Duration;
///
/// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
/// let balance = client
///     .account()
///     .balance()
///     .timeout(Duration::from_secs(10))
///     .max_retries(2)
///     .await?;
/// println!("{} USD", balance.available_usd);
/// # Ok(())
/// # }
/// ```
///
/// A submit's idempotency key exists before the call is sent, so that it can be stored first:
///
/// ```no_run
/// use svc_sdk::types::VideoGenerate;
///
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let submit = client.videos().generate(VideoGenerate::new("auto").prompt("a red fox in snow"));
/// if let Ok(request) = submit.request() {
///     println!("submitting with the key {:?}", request.idempotency_key);
/// }
/// let job = submit.await?;
/// # Ok(())
/// # }
/// ```
///
/// # Progress
///
/// The first poll starts a task of the tokio runtime, which sends the request and makes the retries. A
/// call therefore ends although its future is held and not polled, and never keeps others waiting. The
/// time limit begins with the first poll. Options that are set later have no effect.
///
/// # Errors
///
/// Awaiting a call returns an [`Error`] if the request is invalid, if it could not be sent, or if
/// the service answered with an error. If a submit's error [`is_ambiguous`](Error::is_ambiguous), the job may exist.
/// For an operation of class [`Key`](crate::contract::RetryClass::Key), sending the same call again
/// with [`Error::idempotency_key`] finds out without paying twice. For one of class
/// [`Unsent`](crate::contract::RetryClass::Unsent) the service makes no such promise: check first
/// whether the job exists.
///
/// # Cancel safety
///
/// Dropping a call cancels it. Dropping a submit that was sent leaves open whether the service carried
/// it out, as a timeout does: send it again with the same idempotency key. A submit that a
/// [journal](crate::journal) has recorded continues in the background until it has its receipt; see
/// [`Client::drain`](crate::Client::drain).
///
/// # Panics
///
/// A panic in the task, as in an observer of the client, goes on in whoever awaits the call.
#[must_use = "a call does nothing unless it is awaited"]
pub struct Call<T> {
    core: Arc<Core>,
    request: Result<Arc<Request>>,
    options: CallOptions,
    decode: Decoder<T>,
    /// The functions with which a journal handles the value, if the call is a submit.
    submit: Option<SubmitFunctions<T>>,
    progress: CallState,
}

impl<T> Call<T> {
    pub(crate) fn with_decoder(
        core: &Arc<Core>,
        request: Result<Request>,
        decode: Decoder<T>,
    ) -> Self {
        let request = request.and_then(|mut request| {
            if request.retry_class().sends_idempotency_key() && request.idempotency_key.is_none() {
                request.idempotency_key = Some(core.random.idempotency_key()?);
            }
            Ok(Arc::new(request))
        });
        Self {
            core: Arc::clone(core),
            request,
            options: CallOptions::default(),
            decode,
            submit: None,
            progress: CallState::New,
        }
    }

    /// Makes the call a submit, which a journal can record.
    pub(crate) fn with_submit_functions(mut self, functions: SubmitFunctions<T>) -> Self {
        self.submit = Some(functions);
        self
    }

    pub(crate) fn submit_options(&mut self) -> &mut SubmitOptions {
        self.options.submit.get_or_insert_default()
    }

    /// Marks the call as a submit of a batch.
    pub(crate) fn of_batch(mut self) -> Self {
        self.options.is_of_batch = true;
        self
    }

    /// Returns the id that the application gave to the submission.
    pub(crate) fn chosen_submission_id(&self) -> Option<&str> {
        self.options.submit.as_ref()?.submission_id.as_deref()
    }

    /// Returns the same call as one that was not sent, or `None` if its request is invalid.
    pub(crate) fn unsent_copy(&self) -> Option<Self> {
        Some(Self {
            core: Arc::clone(&self.core),
            request: Ok(Arc::clone(self.request.as_ref().ok()?)),
            options: self.options.clone(),
            decode: self.decode,
            submit: self.submit,
            progress: CallState::New,
        })
    }

    /// Changes the request, unless it is already invalid.
    fn map_request(mut self, change: impl FnOnce(&mut Request) -> Result<()>) -> Self {
        if let Ok(request) = &mut self.request
            && let Err(error) = change(Arc::make_mut(request))
        {
            self.request = Err(error);
        }
        self
    }

    /// Names the resource that the call is about in its errors.
    pub(crate) fn with_resource(mut self, resource: ResourceRef) -> Self {
        self.options.resource = Some(resource);
        self
    }

    /// Adds a JSON body, after checking it.
    pub(crate) fn json<B: Serialize + Validate>(self, body: &B) -> Self {
        self.map_request(|request| {
            body.validate()
                .map_err(|field| Error::from(field).with_operation(request.operation))?;
            request.set_body(body)
        })
    }

    /// Sets the time limit of the call, including retries and waits for the rate limit.
    ///
    /// The default is the client's ([`ClientBuilder::timeout`](crate::ClientBuilder::timeout)).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets the maximum number of retries.
    ///
    /// The default is the client's ([`RetryPolicy`](crate::RetryPolicy)).
    pub fn max_retries(mut self, max_retries: u32) -> Self {
        self.options.max_retries = Some(max_retries);
        self
    }

    /// Sets the idempotency key, in place of a fresh one.
    ///
    /// Sent again with the same key and the same body, a submit gives the same job. Ignored by
    /// operations that take no key.
    pub fn idempotency_key(mut self, key: IdempotencyKey) -> Self {
        if self.submit.is_some() {
            self.submit_options().is_key_chosen = true;
        }
        self.map_request(|request| {
            if request.retry_class().sends_idempotency_key() || request.operation.is_none() {
                request.idempotency_key = Some(key);
            }
            Ok(())
        })
    }

    /// Sets a header of the request.
    ///
    /// The call fails without being sent if the name or the value is not a valid header, or if the
    /// client sets that header itself (`Authorization`, `X-Api-Key`, `Idempotency-Key`).
    pub fn header(self, name: &str, value: &str) -> Self {
        self.map_request(|request| {
            let (header, value) = parse_header(name, value)?;
            request.headers.insert(header, value);
            Ok(())
        })
    }

    /// Sets a query parameter, replacing an earlier value of that name.
    pub fn query(self, name: &str, value: impl ToString) -> Self {
        self.map_request(|request| {
            request.set_query(name, value);
            Ok(())
        })
    }

    /// Returns the request that will be sent, without the host and the credential.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is invalid and would not be sent.
    pub fn request(&self) -> Result<&Request, &Error> {
        self.request.as_deref()
    }

    /// Returns the value together with the response's status, headers, request id and rate limit.
    ///
    /// ```no_run
    /// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
    /// let response = client.account().balance().with_response().await?;
    /// println!("{:?}: {} USD", response.request_id(), response.value.available_usd);
    /// println!("{:?} requests left", response.rate_limit().map(|it| it.remaining));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_response(self) -> CallWithResponse<T> {
        CallWithResponse::new(self)
    }

    /// Returns the future that sends the request, retries it where that is safe, and decodes the
    /// response. The time limit begins now.
    pub(crate) fn send<R>(
        &mut self,
        output: fn(T, RawResponse) -> R,
    ) -> Result<impl Future<Output = Result<R>> + Send + 'static + use<T, R>>
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        let about = |error: Error, resource: &Option<ResourceRef>| match resource.clone() {
            Some(resource) => error.with_resource(resource),
            None => error,
        };
        let options = mem::take(&mut self.options);
        let request = match &mut self.request {
            Ok(request) => Arc::clone(request),
            Err(error) => {
                return Err(about(mem::replace(error, already_ended()), &options.resource));
            }
        };
        let core = Arc::clone(&self.core);
        let decode = self.decode;
        let deadline = Deadline::after(options.timeout.unwrap_or(core.timeout));
        let journal = options.submit.as_ref().and_then(|it| it.journal.clone());
        let submit = self.submit.zip(journal.or_else(|| core.journal.clone()));
        if submit.is_none()
            && let Some(options) = &options.submit
            && (options.submission_id.is_some() || options.at_most.is_some())
        {
            let error = Error::configuration("a submission id and `at_most` need a journal");
            return Err(request.annotate(error));
        }
        Ok(async move {
            if let Some((functions, journal)) = submit {
                let resource = options.resource.clone();
                let submit = JournaledSubmit { core, journal, request, options, functions, decode };
                let submitted = (functions.run)(submit, deadline).await;
                let (value, response) = submitted.map_err(|error| about(error, &resource))?;
                return Ok(output(value, response));
            }
            let context = DecodeContext { core: &core, request: &request };
            let response = core.execute(&request, &options, &deadline, None, |response| {
                let response = response.into_success()?;
                let value = decode(&context, &response)?;
                Ok(output(value, response))
            });
            response.await.map_err(|error| about(error, &options.resource))
        })
    }
}

impl<T: DeserializeOwned> Call<T> {
    /// Creates a call whose response has a body.
    pub(crate) fn new<S: AsRef<str>>(
        core: &Arc<Core>,
        operation: Operation,
        segments: &[S],
    ) -> Self {
        let request = Request::new(operation, segments);
        Self::with_decoder(core, request, |context, response| {
            response.decode(context.core.wrapping)
        })
    }

    /// Creates a call whose response contains a secret, which no error may show.
    pub(crate) fn secret(core: &Arc<Core>, operation: Operation, segments: &[&str]) -> Self {
        let request = Request::new(operation, segments);
        Self::with_decoder(core, request, |context, response| {
            response.decode(context.core.wrapping).map_err(Error::redacted)
        })
    }
}

impl<T: DeserializeOwned> Call<Page<T>> {
    /// Creates a call whose response is a page of a list.
    pub(crate) fn list<S: AsRef<str>>(
        core: &Arc<Core>,
        operation: Operation,
        segments: &[S],
    ) -> Self {
        let request = Request::new(operation, segments);
        Self::with_decoder(core, request, |_, response| response.decode_page())
    }
}

debug_fields! { [T] Call<T> as "Call" { request, options } }

#[cfg(test)]
mod tests;
