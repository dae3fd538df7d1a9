//! Requests without types: what this build has no method for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::call::{Core, Options, Request};
use crate::client::Client;
use crate::contract::{Method, Operation};
use crate::error::{Error, Result};
use crate::surface::Surface;
use crate::types::{IdempotencyKey, InvalidField, RequestId};

impl<S: Surface> Client<S> {
    /// A request of any path, known to the table or not.
    ///
    /// Where the table knows it, the table's rules of repetition hold; else a `GET` is repeated and
    /// a `POST` is not. The path is sent as it is: it must begin with exactly one slash.
    ///
    /// ```no_run
    /// use svc_sdk::contract::Method;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let answer = client.raw(Method::Get, "/v1/jobs").query("limit", 5).send().await?;
    /// assert_eq!(answer.status, 200);
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw(&self, method: Method, path: &str) -> RawCall {
        RawCall {
            core: Arc::clone(&self.core),
            request: raw_request::<S>(method, path),
            options: Options::default(),
        }
    }
}

fn raw_request<S: Surface>(method: Method, path: &str) -> Result<Request> {
    let refuse = |reason| Error::from(InvalidField::new("path", reason));
    if !path.starts_with('/') || path.starts_with("//") {
        return Err(refuse("must begin with exactly one slash"));
    }
    if path.contains(['?', '#', '\\']) || path.chars().any(|c| c.is_whitespace() || c.is_control())
    {
        return Err(refuse("must have no query, fragment, backslash or blank"));
    }
    let is_dots = |part: &str| {
        matches!(
            part.replace("%2e", ".").replace("%2E", ".").as_str(),
            "." | ".."
        )
    };
    if path.split('/').any(is_dots) {
        return Err(refuse("must have no segment \".\" or \"..\""));
    }
    let operation =
        Operation::route(S::SURFACE, method.as_str(), path).map(|(operation, _)| operation);
    Ok(Request {
        operation,
        method,
        path: path.to_owned(),
        query: Vec::new(),
        body: None,
        idempotency_key: None,
        headers: http::HeaderMap::new(),
        class: None,
    })
}

/// A raw request that is ready to be sent.
#[must_use = "a call does nothing until it is sent"]
#[derive(Debug)]
pub struct RawCall {
    core: Arc<Core>,
    request: Result<Request>,
    options: Options,
}

impl RawCall {
    /// A query parameter.
    pub fn query(mut self, name: &str, value: impl ToString) -> Self {
        if let Ok(request) = &mut self.request {
            request.push_query(name, value);
        }
        self
    }

    /// A JSON body.
    pub fn body(mut self, body: &Value) -> Self {
        self.request = self.request.and_then(|request| request.with_body(body));
        self
    }

    /// Sends that key; where the table says that the operation takes one and none is given, a
    /// fresh one is sent.
    pub fn with_idempotency_key(mut self, key: IdempotencyKey) -> Self {
        if let Ok(request) = &mut self.request {
            request.idempotency_key = Some(key);
        }
        self
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

    /// Sends it. Any answer of the service is returned, also one that says no.
    ///
    /// # Errors
    ///
    /// Where no whole answer came.
    pub async fn send(self) -> Result<RawResponse> {
        let mut request = self.request?;
        if request.operation.is_some_and(|op| op.retry().sends_key())
            && request.idempotency_key.is_none()
        {
            request.idempotency_key = Some(self.core.entropy.idempotency_key()?);
        }
        let last = std::sync::Mutex::new(None);
        let outcome = self.core.execute(&request, &self.options, |answer| {
            let response = RawResponse {
                status: answer.status,
                request_id: answer.request_id(),
                content_type: header(&answer.headers, http::header::CONTENT_TYPE.as_str()),
                headers: answer.headers.clone(),
                body: answer.body.clone(),
                idempotency_key: request.idempotency_key.clone(),
            };
            if let Ok(mut last) = last.lock() {
                *last = Some(response.clone());
            }
            answer.success()?;
            Ok(response)
        });
        match Box::pin(outcome).await {
            Ok(response) => Ok(response),
            Err(error) => match last.into_inner() {
                // An earlier attempt that may have been carried out is not hidden by a later answer.
                Ok(Some(response))
                    if error.status() == Some(response.status)
                        && response
                            .error()
                            .is_some_and(|own| own.is_ambiguous() == error.is_ambiguous()) =>
                {
                    Ok(response)
                }
                _ => Err(error),
            },
        }
    }
}

fn header(headers: &http::HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// Whatever was answered. `Debug` leaves the body out: it may hold a secret.
#[derive(Clone)]
#[non_exhaustive]
pub struct RawResponse {
    /// The HTTP status.
    pub status: u16,
    /// The request's id.
    pub request_id: Option<RequestId>,
    /// The body's MIME type.
    pub content_type: Option<String>,
    /// The body, as it came.
    pub body: Bytes,
    /// The key that was sent.
    pub idempotency_key: Option<IdempotencyKey>,
    headers: http::HeaderMap,
}

impl RawResponse {
    /// Whether the status is one of success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The header of that name, where it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        header(&self.headers, name)
    }

    /// The error of the service that this answer is; `None` for a success.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        let answer = crate::call::decode::Answer {
            status: self.status,
            headers: self.headers.clone(),
            body: self.body.clone(),
        };
        Some(
            answer
                .success()
                .err()?
                .with_key(self.idempotency_key.as_ref()),
        )
    }
}

impl fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResponse")
            .field("status", &self.status)
            .field("request_id", &self.request_id)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Open;

    #[test]
    fn only_plain_paths_are_sent_and_the_table_knows_its_own() {
        let request = raw_request::<Open>(Method::Post, "/v1/video-router/generate").unwrap();
        assert_eq!(request.operation, Some(Operation::VideoGenerate));
        assert_eq!(
            raw_request::<Open>(Method::Get, "/v1/me")
                .unwrap()
                .operation,
            None
        );
        for bad in [
            "",
            "v1",
            "//evil.example/x",
            "https://evil.example",
            "/v1/../x",
            "/v1/%2e%2E",
            "/a?b",
            "/a#b",
            "/a b",
            "/\\evil",
        ] {
            assert!(raw_request::<Open>(Method::Get, bad).is_err(), "{bad}");
        }
    }
}
