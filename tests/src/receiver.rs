//! A webhook receiver: an HTTP server that records deliveries and sends scripted replies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::signature::{fingerprint, signature};

/// How long to wait for deliveries.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// A received webhook request.
#[derive(Clone, Debug)]
pub struct Delivery {
    request: http::Request<Bytes>,
}

impl Delivery {
    /// Returns the value of a header that has to be present exactly once.
    #[track_caller]
    fn header(&self, name: &str) -> &str {
        let values: Vec<_> = self.request.headers().get_all(name).iter().collect();
        let [value] = values.as_slice() else {
            panic!("{} values of {name} in {self:?}", values.len())
        };
        value.to_str().unwrap()
    }

    fn body(&self) -> &Bytes {
        self.request.body()
    }

    /// Returns the headers and the body as a response, with headers for the method and the path.
    pub(crate) fn as_response(&self) -> http::Response<Bytes> {
        let mut response = http::Response::new(self.body().clone());
        *response.headers_mut() = self.request.headers().clone();
        let path = self.request.uri().path_and_query().map_or("", |path| path.as_str());
        for (name, value) in [("method", self.request.method().as_str()), ("path", path)] {
            let value = value.parse().expect("a method or a path");
            response.headers_mut().insert(name, value);
        }
        response
    }

    /// Returns the signature's timestamp in Unix seconds.
    #[track_caller]
    pub fn timestamp(&self) -> u64 {
        let text = self.header("x-svc-webhook-timestamp");
        text.parse().unwrap_or_else(|_| panic!("invalid timestamp {text:?}"))
    }

    /// Asserts that the body is signed with exactly these secrets, newest first.
    #[track_caller]
    pub(crate) fn assert_signed_with(&self, secrets: &[&str]) {
        let timestamp = self.header("x-svc-webhook-timestamp");
        let expected: Vec<_> = secrets
            .iter()
            .map(|secret| format!("svc-v1={}", signature(secret, timestamp, self.body())))
            .collect();
        let signatures = self.header("x-svc-webhook-signature");
        assert_eq!(signatures, expected.join(","), "{self:?}");
        let newest = fingerprint(secrets[0]);
        assert_eq!(self.header("x-svc-webhook-secret-fingerprint"), newest);
        assert_eq!(self.header("content-type"), "application/json");
    }
}

/// How a receiver replies to a delivery.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Status(u16),
    StatusWithHeader(u16, String, String),
    /// Close the connection without a response.
    Close,
    /// Never respond.
    Hang,
}

#[derive(Debug, Default)]
struct Shared {
    deliveries: Mutex<Vec<Delivery>>,
    replies: Mutex<VecDeque<Reply>>,
    received: Notify,
}

/// A running webhook receiver. It stops when it is dropped.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<Shared>,
    port: u16,
    server: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Receiver {
    /// Starts a receiver that replies with `204`.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("a bound listener").port();
        let shared = Arc::new(Shared::default());
        let server = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { shared, port, server }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets the replies to the next deliveries. The last reply is repeated.
    pub(crate) fn set_replies(&self, replies: impl IntoIterator<Item = Reply>) {
        *self.shared.replies.lock().unwrap() = replies.into_iter().collect();
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.shared.deliveries.lock().unwrap().clone()
    }

    /// Waits until `count` deliveries have been received.
    pub(crate) async fn wait_for(&self, count: usize) {
        let enough = async {
            loop {
                let received = self.shared.received.notified();
                if self.deliveries().len() >= count {
                    break;
                }
                received.await;
            }
        };
        // The comparison below reports a timeout as well.
        drop(tokio::time::timeout(DELIVERY_TIMEOUT, enough).await);
        let deliveries = self.deliveries();
        assert_eq!(deliveries.len(), count, "{deliveries:?}");
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, Arc::clone(&shared)));
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| reply(request, &shared));
    // An error means that the sender disconnected, or it is the one of `Reply::Close`.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

async fn reply(
    request: http::Request<Incoming>,
    shared: &Shared,
) -> Result<http::Response<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let request = http::Request::from_parts(head, body);
    let reply = {
        let mut replies = shared.replies.lock().unwrap();
        match replies.len() {
            0 => Reply::Status(204),
            1 => replies[0].clone(),
            _ => replies.pop_front().expect("at least two replies"),
        }
    };
    shared.deliveries.lock().unwrap().push(Delivery { request });
    shared.received.notify_waiters();
    let response = http::Response::builder();
    let response = match reply {
        Reply::Status(status) => response.status(status),
        Reply::StatusWithHeader(status, name, value) => response.status(status).header(name, value),
        Reply::Hang => std::future::pending().await,
        Reply::Close => return Err("closing the connection, as configured".into()),
    };
    Ok(response.body(Full::default())?)
}
