//! Calls of the service: a request, its options, and how its response is decoded.
//!
//! What is decided here is decided by pure parts ([`retry`], [`rate_limit`], [`retry_budget`]);
//! [`core`] is the thin loop around them. Waiting for a job lives in [`polling`](crate::polling).

pub(crate) mod api_key;
pub(crate) mod base_url;
pub(crate) mod clock;
pub(crate) mod connections;
pub(crate) mod core;
pub(crate) mod credentials;
pub(crate) mod deadline;
pub(crate) mod key_provider;
pub(crate) mod lenient_json;
mod long_decimals;
mod page;
pub(crate) mod random;
pub(crate) mod rate_limit;
mod raw_request;
pub(crate) mod raw_response;
mod request;
pub(crate) mod response;
pub(crate) mod retry;
pub(crate) mod retry_budget;

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::core::Core;
pub use self::page::{Items, Pages};
pub use self::rate_limit::RateLimit;
pub use self::raw_response::RawResponse;
pub use self::request::Request;
pub use self::response::Response;
use crate::contract::Operation;
use crate::error::{Error, ResourceRef, Result};
use crate::types::{IdempotencyKey, InvalidField, Page, Validate};

/// Headers that the client sets itself.
const RESERVED_HEADERS: [HeaderName; 3] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("idempotency-key"),
];

/// Reads a header that a caller sets.
pub(crate) fn parse_header(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), InvalidField> {
    let invalid = |reason: &str| InvalidField::new("header", format!("`{name}`: {reason}"));
    let header =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("not a valid header name"))?;
    if RESERVED_HEADERS.contains(&header) {
        return Err(invalid("set by the client"));
    }
    let value = HeaderValue::from_str(value).map_err(|_| invalid("not a valid header value"))?;
    Ok((header, value))
}

/// The limits of one call, where they differ from those of its client.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_retries: Option<u32>,
    /// The resource that the call is about.
    pub(crate) resource: Option<ResourceRef>,
}

/// What a decoder needs to know of the call that it decodes the response of.
pub(crate) struct DecodeContext<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) request: &'a Request,
}

type Decoder<T> = fn(&DecodeContext<'_>, &RawResponse) -> Result<T>;

/// A call of the service, ready to be sent.
///
/// Nothing happens until it is awaited. Every method of a resource returns one; its options are set
/// on it:
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
/// Dropping the future of a submit that was sent leaves open whether the service carried it out, as
/// a timeout does: send it again with the same idempotency key.
#[must_use = "a call does nothing unless it is awaited"]
pub struct Call<T> {
    core: Arc<Core>,
    request: Result<Request>,
    options: CallOptions,
    decode: Decoder<T>,
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
            Ok(request)
        });
        Self {
            core: Arc::clone(core),
            request,
            options: CallOptions::default(),
            decode,
        }
    }

    /// Names the resource that the call is about in its errors.
    pub(crate) fn about(mut self, resource: ResourceRef) -> Self {
        self.options.resource = Some(resource);
        self
    }

    /// Adds a JSON body, after checking it.
    pub(crate) fn json<B: Serialize + Validate>(mut self, body: &B) -> Self {
        self.request = self.request.and_then(|request| {
            let operation = request.operation;
            body.validate()
                .map_err(|field| Error::from(field).with_operation(operation))?;
            request.with_body(body)
        });
        self
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
        if let Ok(request) = &mut self.request
            && (request.retry_class().sends_idempotency_key() || request.operation.is_none())
        {
            request.idempotency_key = Some(key);
        }
        self
    }

    /// Sets a header of the request.
    ///
    /// The call fails without being sent if the name or the value is not a valid header, or if the
    /// client sets that header itself (`Authorization`, `X-Api-Key`, `Idempotency-Key`).
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.and_then(|mut request| {
            let (header, value) = parse_header(name, value)?;
            request.headers.insert(header, value);
            Ok(request)
        });
        self
    }

    /// Sets a query parameter, replacing an earlier value of that name.
    pub fn query(mut self, name: &str, value: impl ToString) -> Self {
        if let Ok(request) = &mut self.request {
            request.set_query(name, value);
        }
        self
    }

    /// Returns the request that will be sent, without the host and the credential.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is invalid and would not be sent.
    pub fn request(&self) -> Result<&Request, &Error> {
        self.request.as_ref()
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
        CallWithResponse { call: self }
    }

    /// Returns the future that sends the request, retries it where that is safe, and decodes the
    /// response.
    fn send<R>(self, output: fn(T, RawResponse) -> R) -> CallFuture<R>
    where
        T: 'static,
        R: Send + 'static,
    {
        let Self {
            core,
            request,
            options,
            decode,
        } = self;
        let about = |error: Error, resource: &Option<ResourceRef>| match resource.clone() {
            Some(resource) => error.with_resource(resource),
            None => error,
        };
        let request = match request {
            Ok(request) => request,
            Err(error) => {
                let error = about(error, &options.resource);
                return CallFuture::new(std::future::ready(Err(error)));
            }
        };
        CallFuture::new(async move {
            let context = DecodeContext {
                core: &core,
                request: &request,
            };
            let response = core.execute(&request, &options, |response| {
                let response = response.into_success()?;
                let value = decode(&context, &response)?;
                Ok(output(value, response))
            });
            response
                .await
                .map_err(|error| about(error, &options.resource))
        })
    }
}

impl<T: DeserializeOwned> Call<T> {
    /// A call that is answered with a body.
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

    /// A call that is answered with a secret, which no error may show.
    pub(crate) fn secret(core: &Arc<Core>, operation: Operation) -> Self {
        let request = Request::new::<&str>(operation, &[]);
        Self::with_decoder(core, request, |context, response| {
            response
                .decode(context.core.wrapping)
                .map_err(Error::redacted)
        })
    }
}

impl<T: DeserializeOwned> Call<Page<T>> {
    /// A call that is answered with a list.
    pub(crate) fn list<S: AsRef<str>>(
        core: &Arc<Core>,
        operation: Operation,
        segments: &[S],
    ) -> Self {
        let request = Request::new(operation, segments);
        Self::with_decoder(core, request, |_, response| response.decode_page())
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T>;
    type IntoFuture = CallFuture<T>;

    fn into_future(self) -> CallFuture<T> {
        self.send(|value, _| value)
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("request", &self.request)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A call whose value comes together with its response.
///
/// Returned by [`Call::with_response`].
#[must_use = "a call does nothing unless it is awaited"]
#[derive(Debug)]
pub struct CallWithResponse<T> {
    call: Call<T>,
}

impl<T: Send + 'static> IntoFuture for CallWithResponse<T> {
    type Output = Result<Response<T>>;
    type IntoFuture = CallFuture<Response<T>>;

    fn into_future(self) -> Self::IntoFuture {
        self.call.send(Response::new)
    }
}

/// The future of a [`Call`].
#[must_use = "futures do nothing unless polled"]
pub struct CallFuture<T>(Pin<Box<dyn Future<Output = Result<T>> + Send>>);

impl<T> CallFuture<T> {
    pub(crate) fn new(future: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self(Box::pin(future))
    }
}

impl<T> Future for CallFuture<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for CallFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFuture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
