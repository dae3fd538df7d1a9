//! A transport for tests, which answers from a script and records the requests.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::response::Builder;
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};

use super::{Body, ResponseFuture, Transport, TransportError};
use crate::call::clock::{self, Instant};
use crate::surface::{Developer, Open, Surface};

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

pub(crate) fn json(status: u16, body: &str) -> Step {
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
        match self {
            Step::ConnectionRefused => Err(TransportError::not_sent("connection refused")),
            Step::ConnectionReset => Err(TransportError::maybe_sent("connection reset")),
            Step::NoResponse => std::future::pending().await,
            Step::Response(status, headers, body) => {
                let head = response_head(status, &headers, body.len());
                let body = Full::new(body).map_err(|never| match never {});
                Ok(head.body(body.boxed_unsync()).unwrap())
            }
            Step::Truncated(step, bytes) => {
                let Step::Response(status, headers, body) = *step else {
                    panic!("only a response can be truncated")
                };
                let head = response_head(status, &headers, body.len());
                let frames = stream::iter([
                    Ok(Frame::data(body.slice(..bytes))),
                    Err(TransportError::maybe_sent("connection reset")),
                ]);
                Ok(head.body(StreamBody::new(frames).boxed_unsync()).unwrap())
            }
            Step::Stalled(step, bytes) => {
                let Step::Response(status, headers, body) = *step else {
                    panic!("only a response can stall")
                };
                let head = response_head(status, &headers, body.len());
                let frames = stream::iter([Ok(Frame::data(body.slice(..bytes)))]);
                let frames = frames.chain(stream::pending());
                Ok(head.body(StreamBody::new(frames).boxed_unsync()).unwrap())
            }
        }
    }
}

fn response_head(status: u16, headers: &[(&'static str, String)], length: usize) -> Builder {
    let builder = http::Response::builder()
        .status(status)
        .header("content-length", length);
    headers.iter().fold(builder, |builder, (name, value)| {
        builder.header(*name, value)
    })
}

#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    /// The time since the script was created.
    pub(crate) at: Duration,
    pub(crate) url: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
    /// How many times the transport was told to reconnect before.
    pub(crate) reconnects: usize,
}

impl RecordedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A sequence of steps, of which the last is repeated, and the requests that they answered.
#[derive(Debug)]
pub(crate) struct Script {
    steps: Mutex<VecDeque<Step>>,
    requests: Mutex<Vec<RecordedRequest>>,
    created_at: Instant,
    latency: Duration,
    in_flight: Mutex<InFlight>,
    reconnects: AtomicUsize,
}

#[derive(Debug, Default)]
struct InFlight {
    current: usize,
    max: usize,
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
            requests: Mutex::default(),
            created_at: clock::now(),
            latency,
            in_flight: Mutex::default(),
            reconnects: AtomicUsize::new(0),
        })
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the times of the requests in milliseconds since the script was created.
    pub(crate) fn request_times(&self) -> Vec<u128> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|sent| sent.at.as_millis()).collect()
    }

    /// Returns the maximum number of requests that were in flight at the same time.
    pub(crate) fn max_in_flight(&self) -> usize {
        self.in_flight.lock().unwrap().max
    }

    fn record(&self, request: http::Request<Bytes>) {
        let (head, body) = request.into_parts();
        self.requests.lock().unwrap().push(RecordedRequest {
            at: clock::now() - self.created_at,
            url: head.uri.to_string(),
            headers: head.headers,
            body,
            reconnects: self.reconnects(),
        });
    }

    /// Returns how many times the transport was told to reconnect.
    pub(crate) fn reconnects(&self) -> usize {
        self.reconnects.load(Ordering::SeqCst)
    }

    fn next_step(&self) -> Step {
        let mut steps = self.steps.lock().unwrap();
        if steps.len() > 1 {
            steps.pop_front().unwrap()
        } else {
            steps.front().unwrap().clone()
        }
    }

    async fn wait_for_latency(&self) {
        {
            let mut in_flight = self.in_flight.lock().unwrap();
            in_flight.current += 1;
            in_flight.max = in_flight.max.max(in_flight.current);
        }
        clock::sleep(self.latency).await;
        self.in_flight.lock().unwrap().current -= 1;
    }
}

#[derive(Clone)]
pub(crate) struct ScriptedTransport(pub(crate) Arc<Script>);

impl Transport for ScriptedTransport {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let script = Arc::clone(&self.0);
        Box::pin(async move {
            script.record(request);
            let step = script.next_step();
            script.wait_for_latency().await;
            step.into_result().await
        })
    }

    fn reconnect(&self) {
        self.0.reconnects.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns a client of the open surface that uses the script.
pub(crate) fn open_client(script: &Arc<Script>) -> crate::Client<Open> {
    client(script, "https://api.example/base")
}

/// Returns a client of the developer surface that uses the script.
pub(crate) fn developer_client(script: &Arc<Script>) -> crate::Client<Developer> {
    client(script, "https://developer.example")
}

fn client<S: Surface>(script: &Arc<Script>, base_url: &str) -> crate::Client<S> {
    crate::Client::builder()
        .base_url(base_url)
        .api_key(crate::ApiKey::new("canary-key").unwrap())
        .transport(Arc::new(ScriptedTransport(Arc::clone(script))))
        .seed(7)
        .build()
        .unwrap()
}
