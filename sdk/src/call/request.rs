//! Requests as values: everything that is sent but the host and the credential.

use bytes::Bytes;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;

use crate::contract::{Method, Operation, RateLimitBucket, RetryClass};
use crate::error::{Error, Result};
use crate::types::{IdempotencyKey, InvalidField};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

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
    /// Headers beside, or in place of, those of every request.
    pub(crate) headers: HeaderMap,
    /// The retry class, if it is not the operation's.
    pub(crate) retry_class: Option<RetryClass>,
}

impl Request {
    /// A request of that operation, with the values of its path's placeholders.
    pub(crate) fn new<S: AsRef<str>>(operation: Operation, segments: &[S]) -> Result<Self> {
        let path = operation
            .expand(segments)
            .map_err(|error| Error::from(error).with_operation(Some(operation)))?;
        Ok(Self::raw(Some(operation), operation.method(), path))
    }

    /// A request of that path.
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

    /// Sets the body.
    ///
    /// It is serialized by way of a [`serde_json::Value`], so that a field that the caller set by
    /// name replaces the setter's: no name is sent twice.
    pub(crate) fn with_body(mut self, body: &impl Serialize) -> Result<Self> {
        let value = serde_json::to_value(body).map_err(|error| {
            Error::from(InvalidField::new(
                "body",
                format!("cannot be serialized: {error}"),
            ))
        })?;
        self.body = Some(value.to_string().into());
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

    /// When the request may be sent again after a failure.
    pub(crate) fn retry_class(&self) -> RetryClass {
        match (self.retry_class, self.operation) {
            (Some(class), _) => class,
            (None, Some(operation)) => operation.retry(),
            (None, None) if self.method == Method::Get => RetryClass::Safe,
            (None, None) => RetryClass::Never,
        }
    }

    /// Adds what is known of the request to the error that it failed with.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        error
            .with_retry_class(self.retry_class())
            .with_operation(self.operation)
            .with_key(self.idempotency_key.as_ref())
    }

    /// The rate-limit bucket that the request is counted in.
    pub(crate) fn bucket(&self) -> RateLimitBucket {
        match self.operation {
            Some(operation) => operation.rate_limit_bucket(),
            None if self.method == Method::Get => RateLimitBucket::Read,
            None => RateLimitBucket::Write,
        }
    }

    /// Returns the path with the encoded query, as it is sent.
    #[must_use]
    pub fn target(&self) -> String {
        if self.query.is_empty() {
            return self.path.clone();
        }
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.query);
        format!("{}?{}", self.path, query.finish())
    }

    pub(crate) fn to_http(&self, url: &str) -> Result<http::Request<Bytes>> {
        let mut builder = http::Request::builder()
            .method(self.method.as_str())
            .uri(url)
            .header(ACCEPT, HeaderValue::from_static("application/json"));
        if self.body.is_some() {
            builder = builder.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(key) = &self.idempotency_key {
            builder = builder.header(IDEMPOTENCY_KEY, key.as_str());
        }
        let mut message = builder
            .body(self.body.clone().unwrap_or_default())
            .map_err(|error| {
                Error::from(InvalidField::new(
                    "path",
                    format!("not a valid URL: {error}"),
                ))
            })?;
        for (name, value) in &self.headers {
            message.headers_mut().insert(name.clone(), value.clone());
        }
        Ok(message)
    }
}
