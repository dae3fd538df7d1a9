//! Requests as values: everything that is sent but the host and the credential.

use std::borrow::Cow;
use std::fmt::Display;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::HeaderMap;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value};

use super::base_url::BaseUrl;
use super::clock;
use crate::contract::{Method, Operation, RateLimitBucket, RetryClass};
use crate::error::{Error, Result};
use crate::types::{IdempotencyKey, InvalidField};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Headers that the client sets itself.
const RESERVED_HEADERS: [HeaderName; 3] =
    [AUTHORIZATION, HeaderName::from_static("x-api-key"), IDEMPOTENCY_KEY];

/// The headers that the client itself sets on a request, at most.
const REQUEST_HEADERS: usize = 6;

/// A request of the service, before the host and the credential are added.
///
/// Building one does no I/O; [`Call::request`](crate::Call::request) shows it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The operation, or `None` for a path that this build does not know.
    pub operation: Option<Operation>,
    /// The method.
    pub method: Method,
    /// The percent-encoded path, from its leading slash.
    pub path: String,
    /// The query parameters, in order, not yet encoded.
    pub query: Vec<(String, String)>,
    /// The JSON body.
    pub body: Option<Bytes>,
    /// The idempotency key, if the operation takes one.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Headers that are added to those of every request, or replace them.
    pub(crate) headers: HeaderMap,
    /// The retry class, if it is not the operation's.
    pub(crate) retry_class: Option<RetryClass>,
}

impl Request {
    /// Creates a request of the operation, with the values of its path's placeholders.
    pub(crate) fn new<S: AsRef<str>>(operation: Operation, segments: &[S]) -> Result<Self> {
        let path = operation
            .expand(segments)
            .map_err(|error| Error::from(error).with_operation(Some(operation)))?;
        Ok(Self::raw(Some(operation), operation.method(), path))
    }

    pub(crate) fn raw(operation: Option<Operation>, method: Method, path: String) -> Self {
        Self {
            operation,
            method,
            path,
            query: Vec::new(),
            body: None,
            idempotency_key: None,
            headers: HeaderMap::new(),
            retry_class: None,
        }
    }

    pub(crate) fn set_body(&mut self, body: &impl Serialize) -> Result<()> {
        let json = serde_json::to_vec(body).map_err(|error| {
            Error::from(InvalidField::new("body", format!("cannot be serialized: {error}")))
        })?;
        self.body = Some(json.into());
        Ok(())
    }

    /// Returns the body as a JSON object, which is empty if it is none.
    pub(crate) fn json_body(&self) -> Map<String, Value> {
        serde_json::from_slice(self.body.as_deref().unwrap_or_default()).unwrap_or_default()
    }

    pub(crate) fn with_body(mut self, body: &impl Serialize) -> Result<Self> {
        self.set_body(body)?;
        Ok(self)
    }

    /// Sets a query parameter, replacing an earlier value.
    pub(crate) fn set_query(&mut self, name: &str, value: impl ToString) {
        let value = value.to_string();
        match self.query.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.query.push((name.to_owned(), value)),
        }
    }

    pub(crate) fn query_value(&self, name: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(known, _)| known == name)?;
        Some(value)
    }

    /// Returns when the request may be sent again after a failure.
    pub(crate) fn retry_class(&self) -> RetryClass {
        match (self.retry_class, self.operation) {
            (Some(class), _) => class,
            (None, Some(operation)) => operation.retry(),
            (None, None) if self.method.is_read() => RetryClass::Safe,
            (None, None) => RetryClass::Never,
        }
    }

    /// Whether the service may have forgotten the key of a request that was first sent at a time, if it
    /// keeps keys that long. That of a top-up, it does not forget.
    pub(crate) fn has_outdated_key(&self, first_at: SystemTime, retention: Duration) -> bool {
        let age = clock::wall().duration_since(first_at).unwrap_or_default();
        self.retry_class() == RetryClass::Key
            && self.operation != Some(Operation::TopUpsCreate)
            && age >= retention
    }

    /// Adds what is known of the request to the error that it failed with.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        error
            .with_retry_class(self.retry_class())
            .with_operation(self.operation)
            .with_key(self.idempotency_key.as_ref())
    }

    pub(crate) fn bucket(&self) -> RateLimitBucket {
        match self.operation {
            Some(operation) => operation.rate_limit_bucket(),
            None if self.method.is_read() => RateLimitBucket::Read,
            None => RateLimitBucket::Write,
        }
    }

    /// Returns the path with the encoded query, as it is sent.
    #[must_use]
    pub fn target(&self) -> String {
        self.encoded_target().into_owned()
    }

    fn encoded_target(&self) -> Cow<'_, str> {
        if self.query.is_empty() {
            return Cow::Borrowed(&self.path);
        }
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.query);
        Cow::Owned(format!("{}?{}", self.path, query.finish()))
    }

    pub(crate) fn to_http(&self, base_url: &BaseUrl) -> Result<http::Request<Bytes>> {
        const JSON: HeaderValue = HeaderValue::from_static("application/json");

        let invalid = |error: &dyn Display| {
            Error::from(InvalidField::new("path", format!("not a valid URL: {error}")))
        };
        let mut message = http::Request::new(self.body.clone().unwrap_or_default());
        *message.method_mut() = http_method(self.method);
        let url = base_url.join(&self.encoded_target());
        *message.uri_mut() = url.map_err(|error| invalid(&error))?;
        let headers = message.headers_mut();
        headers.reserve(REQUEST_HEADERS + self.headers.len());
        headers.insert(ACCEPT, JSON);
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        if let Some(key) = &self.idempotency_key {
            let key = HeaderValue::from_str(key.as_str()).map_err(|error| invalid(&error))?;
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        Ok(message)
    }
}

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

fn http_method(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
        Method::Head => http::Method::HEAD,
        Method::Options => http::Method::OPTIONS,
    }
}
