//! Decoding of responses.

use std::time::SystemTime;

use http::HeaderMap;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::json::quote_long_decimals;
use super::rate_limit::RateLimit;
use super::raw_response::{RawResponse, request_id};
use super::{clock, retry};
use crate::error::{Error, Kind, Result};
use crate::transport::{ResponseFuture, TransportError};
use crate::types::{ErrorBody, Page, RequestId};

/// The largest response body that is read. Artifacts are not read this way.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// The number of bytes of a body that an error shows.
const MAX_SNIPPET_BYTES: usize = 512;

/// A body whose content is the field `data`.
#[derive(Deserialize)]
struct Wrapped<T> {
    data: Option<T>,
}

#[derive(Deserialize)]
pub(crate) struct ErrorEnvelope {
    pub(crate) error: ErrorBody,
}

impl RawResponse {
    /// Returns the response itself if it is a success, and the error that it is otherwise.
    pub(crate) fn into_success(self) -> Result<Self> {
        if self.is_success() { Ok(self) } else { Err(self.into_error(clock::wall())) }
    }

    /// Decodes the body of a success.
    pub(crate) fn decode<T: DeserializeOwned>(&self, wrapping: Wrapping) -> Result<T> {
        // Nearly every body is decoded in one pass. One that is not is read again, for what is wrong
        // with it.
        if let Ok(Wrapped { data: Some(value) }) = serde_json::from_slice(&self.body) {
            return Ok(value);
        }
        let (json, prefix) = self.unwrap_data(wrapping)?;
        self.decode_at(json, prefix)
    }

    /// Decodes a list, which knows how it is wrapped.
    pub(crate) fn decode_page<T: DeserializeOwned>(&self) -> Result<Page<T>> {
        serde_json::from_slice(&self.body).or_else(|_| {
            self.check_json()?;
            self.decode_at(&self.body, "")
        })
    }

    fn unwrap_data(&self, wrapping: Wrapping) -> Result<(&[u8], &'static str)> {
        match serde_json::from_slice::<Wrapped<&RawValue>>(&self.body) {
            Ok(Wrapped { data: Some(data) }) => Ok((data.get().as_bytes(), "data")),
            _ => {
                self.check_json()?;
                match wrapping {
                    Wrapping::Optional => Ok((&self.body, "")),
                    Wrapping::Required => {
                        Err(self.decode_error("data".to_owned(), "missing field `data`".to_owned()))
                    }
                }
            }
        }
    }

    /// Checks that the body is JSON.
    ///
    /// If it is not, it was cut off or did not come from the service, and sending the request again
    /// can help. A body that is JSON of another shape is another error.
    fn check_json(&self) -> Result<()> {
        match serde_json::from_slice::<serde::de::IgnoredAny>(&self.body) {
            Ok(_) => Ok(()),
            Err(_) => {
                Err(Error::new(Kind::NotJson { status: self.status, snippet: snippet(&self.body) })
                    .with_request_id(self.request_id())
                    .with_response(self.clone()))
            }
        }
    }

    /// Decodes a part of the body. The paths in errors begin with the prefix.
    fn decode_at<T: DeserializeOwned>(&self, json: &[u8], prefix: &str) -> Result<T> {
        let json = quote_long_decimals(json);
        let mut deserializer = serde_json::Deserializer::from_slice(&json);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = match (prefix, error.path().to_string().as_str()) {
                ("", path) => path.to_owned(),
                (prefix, ".") => prefix.to_owned(),
                (prefix, path) => format!("{prefix}.{path}"),
            };
            self.decode_error(path, error.into_inner().to_string())
        })
    }

    pub(crate) fn missing_id(&self) -> Error {
        let reason = "missing the id of the submitted resource";
        self.decode_error("data".to_owned(), reason.to_owned())
    }

    fn decode_error(&self, path: String, reason: String) -> Error {
        Error::new(Kind::Decode { status: self.status, path, reason, snippet: snippet(&self.body) })
            .with_request_id(self.request_id())
            .with_response(self.clone())
    }

    /// Converts a response without success to its error.
    fn into_error(self, now: SystemTime) -> Error {
        let status = self.status;
        let header = retry::retry_after(&self.headers, now);
        let kind = match serde_json::from_slice::<ErrorEnvelope>(&self.body) {
            Ok(ErrorEnvelope { error }) => Kind::Api {
                status,
                retry_after: header.max(error.retry_after),
                body: Box::new(error),
            },
            Err(_) => {
                Kind::NoEnvelope { status, snippet: snippet(&self.body), retry_after: header }
            }
        };
        Error::new(kind).with_request_id(self.request_id()).with_response(self)
    }
}

/// A value together with the response that it came in.
///
/// Returned by [`Call::with_response`](crate::Call::with_response).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response<T> {
    /// The value.
    pub value: T,
    /// The HTTP status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, response: RawResponse) -> Self {
        Self { value, status: response.status, headers: response.headers }
    }

    /// Returns the request's id, to be given to the service's support.
    #[must_use]
    pub fn request_id(&self) -> Option<RequestId> {
        request_id(&self.headers)
    }

    /// Returns what is left of the key's request budget, if the response says so.
    #[must_use]
    pub fn rate_limit(&self) -> Option<RateLimit> {
        RateLimit::from_headers(&self.headers)
    }
}

/// How the body of a success is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// The body must be an object with the field `data`, as on the open surface.
    Required,
    /// The field `data` is optional, as on the developer surface.
    Optional,
}

pub(crate) fn snippet(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..MAX_SNIPPET_BYTES).unwrap_or(body)).into_owned()
}

/// Reads the whole response of a request that was sent.
pub(crate) async fn receive(sending: ResponseFuture) -> Result<RawResponse> {
    let (head, body) = sending.await?.into_parts();
    let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
    let body = body.map_err(|error| match error.downcast::<TransportError>() {
        Ok(error) => TransportError::maybe_sent(error),
        Err(error) if error.is::<LengthLimitError>() => {
            TransportError::maybe_sent("the response is larger than 64 MiB")
        }
        Err(error) => TransportError::maybe_sent(error),
    })?;
    Ok(RawResponse::new(head.status.as_u16(), head.headers, body.to_bytes()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::types::Job;

    fn response(status: u16, body: &str) -> RawResponse {
        let mut headers = HeaderMap::new();
        headers.insert("x-svc-request-id", "req_7".parse().unwrap());
        RawResponse { status, headers, body: Bytes::copy_from_slice(body.as_bytes()) }
    }

    const JOB: &str = r#"{"id": "job_1", "status": "queued"}"#;

    #[test]
    fn an_unwrapped_body_is_accepted_on_the_developer_surface_only() {
        let wrapped = response(200, &format!(r#"{{"data": {JOB}}}"#));
        assert!(wrapped.decode::<Job>(Wrapping::Required).is_ok());
        assert!(wrapped.decode::<Job>(Wrapping::Optional).is_ok());
        let bare = response(200, JOB);
        assert!(bare.decode::<Job>(Wrapping::Optional).is_ok());
        let error = bare.decode::<Job>(Wrapping::Required).unwrap_err();
        assert!(error.to_string().contains("at data: missing field"), "{error}");
    }

    #[test]
    fn a_decode_error_names_the_path_and_shows_the_first_bytes() {
        let body = r#"{"data": {"name": "job_1", "id": 7, "status": "completed"}}"#;
        let error = response(200, body).decode::<Job>(Wrapping::Required).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("id"), "{text}");
        assert!(text.contains("200"), "{text}");
        assert!(text.contains("job_1"), "{text}");
        assert_eq!(error.request_id().unwrap().as_str(), "req_7");
        assert_eq!(error.status(), Some(200));
    }

    #[test]
    fn a_body_that_is_not_json_differs_from_one_of_another_shape() {
        for body in ["", "<html>busy</html>", r#"{"data": {"id": "job"#, "{}x"] {
            let error = response(200, body).decode::<Job>(Wrapping::Required).unwrap_err();
            assert!(matches!(error.variant(), Kind::NotJson { .. }), "{body}");
        }
        let error = response(200, "[1").decode_page::<u32>().unwrap_err();
        assert!(matches!(error.variant(), Kind::NotJson { .. }));
    }

    #[test]
    fn an_error_without_an_envelope_keeps_status_request_id_and_512_bytes() {
        let page = format!("<html>{}", "x".repeat(2000));
        let error = response(502, &page).into_error(SystemTime::UNIX_EPOCH);
        assert_eq!(error.status(), Some(502));
        assert_eq!(error.request_id().unwrap().as_str(), "req_7");
        let Kind::NoEnvelope { snippet, .. } = error.variant() else { panic!("{error:?}") };
        assert_eq!(snippet.len(), 512);
        assert!(error.to_string().len() < 200);
    }
}
