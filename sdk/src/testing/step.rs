//! The outcomes of scripted requests.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderName, HeaderValue, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};

use crate::transport::{Body, TransportError};

/// The outcome of one request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A response with a status, headers and a body.
    Response(u16, Vec<(&'static str, String)>, Bytes),
    /// A response whose connection is reset after this number of body bytes.
    Truncated(Box<Step>, usize),
    /// A response that sends this number of body bytes and then nothing.
    Stalled(Box<Step>, usize),
    /// No connection: the request is not sent.
    ConnectionRefused,
    /// The connection is reset after the request was sent.
    ConnectionReset,
    /// The request is sent, and never receives a response.
    NoResponse,
}

/// How the body of a response ends.
enum BodyEnd {
    Complete,
    Reset(usize),
    Stall(usize),
}

pub(crate) fn json_response(status: u16, body: &str) -> Step {
    Step::Response(
        status,
        vec![("content-type", "application/json".into())],
        Bytes::copy_from_slice(body.as_bytes()),
    )
}

impl Step {
    pub(crate) fn header(mut self, name: &'static str, value: impl ToString) -> Self {
        if let Step::Response(_, headers, _) = &mut self {
            headers.push((name, value.to_string()));
        }
        self
    }

    pub(crate) fn truncated_after(self, bytes: usize) -> Self {
        Step::Truncated(Box::new(self), bytes)
    }

    pub(crate) fn stalled_after(self, bytes: usize) -> Self {
        Step::Stalled(Box::new(self), bytes)
    }

    pub(crate) async fn into_result(self) -> Result<http::Response<Body>, TransportError> {
        let (step, end) = match self {
            Step::Truncated(step, bytes) => (*step, BodyEnd::Reset(bytes)),
            Step::Stalled(step, bytes) => (*step, BodyEnd::Stall(bytes)),
            step => (step, BodyEnd::Complete),
        };
        match step {
            Step::ConnectionRefused => Err(TransportError::not_sent("connection refused")),
            Step::ConnectionReset => Err(TransportError::maybe_sent("connection reset")),
            Step::NoResponse => std::future::pending().await,
            Step::Response(status, headers, body) => {
                response(status, headers, body, end).map_err(TransportError::setup)
            }
            Step::Truncated(..) | Step::Stalled(..) => {
                Err(TransportError::setup("a response ends in one way only"))
            }
        }
    }
}

fn response(
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    end: BodyEnd,
) -> Result<http::Response<Body>, http::Error> {
    let length = body.len();
    let start = |bytes: usize| Ok(Frame::data(body.slice(..bytes.min(length))));
    let mut response = http::Response::new(match end {
        BodyEnd::Complete => Full::new(body).map_err(|never| match never {}).boxed_unsync(),
        BodyEnd::Reset(bytes) => {
            let reset = Err(TransportError::maybe_sent("connection reset"));
            StreamBody::new(stream::iter([start(bytes), reset])).boxed_unsync()
        }
        BodyEnd::Stall(bytes) => {
            let frames = stream::iter([start(bytes)]).chain(stream::pending());
            StreamBody::new(frames).boxed_unsync()
        }
    });
    *response.status_mut() = StatusCode::from_u16(status)?;
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    for (name, value) in headers {
        fields.append(HeaderName::from_bytes(name.as_bytes())?, value.parse()?);
    }
    Ok(response)
}
