//! A transport that answers from a script and remembers what it was asked, for this crate's tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody};

use super::{ResponseFuture, Transport, TransportError};
use crate::call::clock::{self, Instant};

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// An answer with these headers and this body.
    Answer(u16, Vec<(&'static str, String)>, Bytes),
    /// So many bytes of an answer, then the connection breaks.
    CutOff(Box<Step>, usize),
    /// No connection.
    Refused,
    /// The connection breaks after the request was sent.
    Reset,
    /// Never an answer.
    Silence,
}

pub(crate) fn json(status: u16, body: &str) -> Step {
    Step::Answer(
        status,
        vec![("content-type", "application/json".into())],
        Bytes::copy_from_slice(body.as_bytes()),
    )
}

impl Step {
    pub(crate) fn header(mut self, name: &'static str, value: impl ToString) -> Self {
        if let Step::Answer(_, headers, _) = &mut self {
            headers.push((name, value.to_string()));
        }
        self
    }

    pub(crate) fn cut_off_after(self, bytes: usize) -> Self {
        Step::CutOff(Box::new(self), bytes)
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Duration,
    pub(crate) url: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The script; past its end the last step is repeated.
#[derive(Debug)]
pub(crate) struct Script {
    steps: Mutex<VecDeque<Step>>,
    seen: Mutex<Vec<Seen>>,
    began: Instant,
    latency: Duration,
    under_way: Mutex<(usize, usize)>,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Self::with_latency(steps, Duration::ZERO)
    }

    pub(crate) fn with_latency(
        steps: impl IntoIterator<Item = Step>,
        latency: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(steps.into_iter().collect()),
            seen: Mutex::default(),
            began: clock::now(),
            latency,
            under_way: Mutex::default(),
        })
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// When each request came, in milliseconds.
    pub(crate) fn moments(&self) -> Vec<u128> {
        self.seen().iter().map(|seen| seen.at.as_millis()).collect()
    }

    /// The most requests that were under way at once.
    pub(crate) fn busiest(&self) -> usize {
        self.under_way.lock().unwrap().1
    }

    fn next(&self) -> Step {
        let mut steps = self.steps.lock().unwrap();
        if steps.len() > 1 {
            steps.pop_front().unwrap()
        } else {
            steps.front().unwrap().clone()
        }
    }
}

/// The script as a client takes it.
#[derive(Clone)]
pub(crate) struct Scripted(pub(crate) Arc<Script>);

impl Transport for Scripted {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let script = Arc::clone(&self.0);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            script.seen.lock().unwrap().push(Seen {
                at: clock::now() - script.began,
                url: head.uri.to_string(),
                headers: head.headers,
                body,
            });
            let step = script.next();
            {
                let mut under_way = script.under_way.lock().unwrap();
                under_way.0 += 1;
                under_way.1 = under_way.1.max(under_way.0);
            }
            clock::sleep(script.latency).await;
            script.under_way.lock().unwrap().0 -= 1;
            answer(step).await
        })
    }
}

async fn answer(step: Step) -> Result<http::Response<super::Body>, TransportError> {
    match step {
        Step::Refused => Err(TransportError::not_sent("connection refused")),
        Step::Reset => Err(TransportError::maybe_sent("connection reset")),
        Step::Silence => std::future::pending().await,
        Step::Answer(status, headers, body) => Ok(head(status, &headers, body.len())
            .body(whole(body))
            .unwrap()),
        Step::CutOff(step, bytes) => {
            let Step::Answer(status, headers, body) = *step else {
                panic!("only an answer can be cut off")
            };
            let pieces = [
                Ok(http_body::Frame::data(body.slice(..bytes))),
                Err(TransportError::maybe_sent("connection reset")),
            ];
            let stream = StreamBody::new(Pieces(pieces.into_iter().collect())).boxed_unsync();
            Ok(head(status, &headers, body.len()).body(stream).unwrap())
        }
    }
}

fn head(status: u16, headers: &[(&'static str, String)], length: usize) -> http::response::Builder {
    let builder = http::Response::builder()
        .status(status)
        .header("content-length", length);
    headers.iter().fold(builder, |builder, (name, value)| {
        builder.header(*name, value)
    })
}

fn whole(body: Bytes) -> super::Body {
    Full::new(body)
        .map_err(|never| match never {})
        .boxed_unsync()
}

struct Pieces(VecDeque<Result<http_body::Frame<Bytes>, TransportError>>);

impl futures_core::Stream for Pieces {
    type Item = Result<http_body::Frame<Bytes>, TransportError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.pop_front())
    }
}

/// A client of the open surface that speaks to the script.
pub(crate) fn open_client(script: &Arc<Script>) -> crate::open::Client {
    crate::open::Client::builder()
        .base_url("https://api.example/base")
        .api_key(crate::Secret::new("canary-key").unwrap())
        .transport(Arc::new(Scripted(Arc::clone(script))))
        .seed(7)
        .build()
        .unwrap()
}

/// A client of the developer surface that speaks to the script.
pub(crate) fn developer_client(script: &Arc<Script>) -> crate::developer::Client {
    crate::developer::Client::builder()
        .base_url("https://developer.example")
        .api_key(crate::Secret::new("canary-key").unwrap())
        .transport(Arc::new(Scripted(Arc::clone(script))))
        .seed(7)
        .build()
        .unwrap()
}
