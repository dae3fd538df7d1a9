//! A request as a value: everything that will be sent but the host and the credential.

use bytes::Bytes;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;

use crate::contract::{Method, Operation, RateLimitBucket, RetryClass};
use crate::error::{Error, Result};
use crate::types::{IdempotencyKey, InvalidField};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request of the service, before it has a host and a credential.
///
/// Making one does no I/O; a test can look at it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The operation; none for a raw request that the table does not know.
    pub operation: Option<Operation>,
    /// The method.
    pub method: Method,
    /// The percent-encoded path, from its first slash.
    pub path: String,
    /// The query, in order, not yet encoded.
    pub query: Vec<(String, String)>,
    /// The JSON body.
    pub body: Option<Bytes>,
    /// The key that makes it safe to send again.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Headers that are said otherwise, or beside those of every request.
    pub(crate) headers: HeaderMap,
    /// What may be done after a failure, where the operation alone does not say.
    pub(crate) class: Option<RetryClass>,
}

impl Request {
    /// A request of that operation, with the values of its path's placeholders.
    pub(crate) fn new<S: AsRef<str>>(operation: Operation, segments: &[S]) -> Result<Self> {
        let path = operation
            .expand(segments)
            .map_err(|error| Error::from(error).with_operation(Some(operation)))?;
        Ok(Self {
            operation: Some(operation),
            method: operation.method(),
            path,
            query: Vec::new(),
            body: None,
            idempotency_key: None,
            headers: HeaderMap::new(),
            class: None,
        })
    }

    /// Takes a body. A field that a caller set by its name overrules the setter's: no name is sent
    /// twice, of which one service reads the first and another the last.
    pub(crate) fn with_body(mut self, body: &impl Serialize) -> Result<Self> {
        let value = serde_json::to_value(body).map_err(|error| {
            Error::from(InvalidField::new(
                "body",
                format!("cannot be written as JSON: {error}"),
            ))
        })?;
        self.body = Some(value.to_string().into());
        Ok(self)
    }

    pub(crate) fn push_query(&mut self, name: &str, value: impl ToString) {
        self.query.push((name.to_owned(), value.to_string()));
    }

    /// What may be done after a failure.
    pub(crate) fn retry(&self) -> RetryClass {
        match (self.class, self.operation) {
            (Some(class), _) => class,
            (None, Some(operation)) => operation.retry(),
            (None, None) if self.method == Method::Get => RetryClass::Safe,
            (None, None) => RetryClass::Never,
        }
    }

    /// The budget that it spends from.
    pub(crate) fn budget(&self) -> RateLimitBucket {
        match self.operation {
            Some(operation) => operation.rate_limit_bucket(),
            None if self.method == Method::Get => RateLimitBucket::Read,
            None => RateLimitBucket::Write,
        }
    }

    /// The path with its query, as it is sent.
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
                Error::from(InvalidField::new("path", format!("makes no URL: {error}")))
            })?;
        for (name, value) in &self.headers {
            message.headers_mut().insert(name.clone(), value.clone());
        }
        Ok(message)
    }
}
