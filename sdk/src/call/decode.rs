//! From the bytes of an answer to a value, or to an error that says where it went wrong.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{clock, retry};
use crate::error::{Error, Kind, Result};
use crate::types::{ErrorBody, RequestId};

/// Bytes of a body that an error keeps.
const SNIPPET: usize = 512;

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Whether a successful body must stand under `data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// It must: the open surface.
    Required,
    /// It may: the developer surface.
    Optional,
}

impl Answer {
    pub(crate) fn request_id(&self) -> Option<RequestId> {
        Some(self.headers.get("x-svc-request-id")?.to_str().ok()?.into())
    }

    /// The answer itself where it is a success, else the error that it is.
    pub(crate) fn success(self) -> Result<Self> {
        if (200..300).contains(&self.status) {
            Ok(self)
        } else {
            Err(self.into_error(clock::wall()))
        }
    }

    /// The body of a success as a `T`.
    pub(crate) fn decode<T: DeserializeOwned>(&self, wrapping: Wrapping) -> Result<T> {
        let (json, prefix) = self.unwrap_data(wrapping)?;
        self.decode_at(json, prefix)
    }

    /// A list, which knows its own wrapping.
    pub(crate) fn decode_whole<T: DeserializeOwned>(&self) -> Result<T> {
        self.check_json()?;
        self.decode_at(&self.body, "")
    }

    fn unwrap_data(&self, wrapping: Wrapping) -> Result<(&[u8], &'static str)> {
        #[derive(Deserialize)]
        struct Wrapped<'a> {
            #[serde(borrow)]
            data: Option<&'a RawValue>,
        }

        match serde_json::from_slice::<Wrapped<'_>>(&self.body) {
            Ok(Wrapped { data: Some(data) }) => Ok((data.get().as_bytes(), "data")),
            _ => {
                self.check_json()?;
                match wrapping {
                    Wrapping::Optional => Ok((&self.body, "")),
                    Wrapping::Required => {
                        Err(self.shape_error("data".to_owned(), "missing field `data`".to_owned()))
                    }
                }
            }
        }
    }

    /// A body that is no JSON is an answer that was cut off, or not the service's: that is another
    /// error than JSON of another shape, as sending the request again can help.
    fn check_json(&self) -> Result<()> {
        match serde_json::from_slice::<serde::de::IgnoredAny>(&self.body) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(Kind::Unreadable {
                status: self.status,
                snippet: snippet(&self.body),
            })
            .with_request_id(self.request_id())),
        }
    }

    fn decode_at<T: DeserializeOwned>(&self, json: &[u8], prefix: &str) -> Result<T> {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = match (prefix, error.path().to_string().as_str()) {
                ("", path) => path.to_owned(),
                (prefix, ".") => prefix.to_owned(),
                (prefix, path) => format!("{prefix}.{path}"),
            };
            self.shape_error(path, error.into_inner().to_string())
        })
    }

    /// The error of a receipt that does not say what was started.
    pub(crate) fn nameless(&self) -> Error {
        let reason = "no id of what was started, and no URL that has it";
        self.shape_error("data".to_owned(), reason.to_owned())
    }

    fn shape_error(&self, path: String, reason: String) -> Error {
        let snippet = snippet(&self.body);
        Error::new(Kind::Decode {
            status: self.status,
            path,
            reason,
            snippet,
        })
        .with_request_id(self.request_id())
    }

    /// The error that an answer other than a success is.
    fn into_error(self, wall: SystemTime) -> Error {
        #[derive(Deserialize)]
        struct Envelope {
            error: ErrorBody,
        }

        let status = self.status;
        let told = retry::retry_after(&self.headers, wall);
        let request_id = self.request_id();
        let kind = match serde_json::from_slice::<Envelope>(&self.body) {
            Ok(Envelope { error }) => {
                let retry_after = longer(told, error.retry_after);
                Kind::Api {
                    status,
                    body: Box::new(error),
                    retry_after,
                }
            }
            Err(_) => Kind::NoEnvelope {
                status,
                snippet: snippet(&self.body),
                retry_after: told,
            },
        };
        Error::new(kind).with_request_id(request_id)
    }
}

fn longer(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.max(other)
}

pub(crate) fn snippet(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..SNIPPET).unwrap_or(body)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Job, Page, SubmitReceipt};

    fn answer(status: u16, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("x-svc-request-id", "req_7".parse().unwrap());
        Answer {
            status,
            headers,
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    const JOB: &str = r#"{"id": "job_1", "status": "queued"}"#;

    #[test]
    fn an_unwrapped_body_is_for_the_developer_surface_only() {
        let wrapped = answer(200, &format!(r#"{{"data": {JOB}}}"#));
        assert!(wrapped.decode::<Job>(Wrapping::Required).is_ok());
        assert!(wrapped.decode::<Job>(Wrapping::Optional).is_ok());
        let bare = answer(200, JOB);
        assert!(bare.decode::<Job>(Wrapping::Optional).is_ok());
        let error = bare.decode::<Job>(Wrapping::Required).unwrap_err();
        assert!(
            error.to_string().contains("at data: missing field"),
            "{error}"
        );
    }

    #[test]
    fn a_decode_error_says_where_and_keeps_the_first_bytes() {
        let body = r#"{"data": {"job": {"id": "job_1", "status": 7}}}"#;
        let error = answer(200, body)
            .decode::<SubmitReceipt>(Wrapping::Required)
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("data.job.status"), "{text}");
        assert!(text.contains("answered 200"), "{text}");
        assert!(text.contains("job_1"), "{text}");
        assert_eq!(error.request_id().unwrap().as_str(), "req_7");
        assert_eq!(error.status(), Some(200));
    }

    #[test]
    fn a_body_that_is_no_json_is_another_error_than_one_of_another_shape() {
        for body in ["", "<html>busy</html>", r#"{"data": {"id": "job"#, "{}x"] {
            let error = answer(200, body)
                .decode::<Job>(Wrapping::Required)
                .unwrap_err();
            assert!(matches!(error.kind(), Kind::Unreadable { .. }), "{body}");
        }
        let error = answer(200, "[1").decode_whole::<Page<u32>>().unwrap_err();
        assert!(matches!(error.kind(), Kind::Unreadable { .. }));
    }

    #[test]
    fn an_error_without_an_envelope_keeps_status_id_and_first_512_bytes() {
        let page = format!("<html>{}", "x".repeat(2000));
        let error = answer(502, &page).into_error(SystemTime::UNIX_EPOCH);
        assert_eq!(error.status(), Some(502));
        assert_eq!(error.request_id().unwrap().as_str(), "req_7");
        let Kind::NoEnvelope { snippet, .. } = error.kind() else {
            panic!("{error:?}")
        };
        assert_eq!(snippet.len(), 512);
        assert!(error.to_string().len() < 200);
    }
}
