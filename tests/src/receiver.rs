//! Someone who is told by webhooks: a small server that keeps what it is sent and answers as it is
//! told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::signature::{fingerprint, signature};

/// How long to wait for what should have been sent already.
const PATIENCE: Duration = Duration::from_secs(10);

/// A delivery as it arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    request: http::Request<Bytes>,
}

impl Delivery {
    /// The path that it was sent to, with its query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.request
            .uri()
            .path_and_query()
            .map_or("", |path| path.as_str())
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.request.method().as_str()
    }

    /// A header, which has to be there once.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let values: Vec<_> = self.request.headers().get_all(name).iter().collect();
        let [value] = values.as_slice() else {
            panic!("{} times {name} in {self:?}", values.len())
        };
        value.to_str().unwrap()
    }

    /// The bytes that were sent.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        self.request.body()
    }

    /// The bytes as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(self.body()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// When it was signed, in Unix seconds.
    #[track_caller]
    pub fn timestamp(&self) -> u64 {
        let text = self.header("x-svc-webhook-timestamp");
        text.parse()
            .unwrap_or_else(|_| panic!("{text:?} is no time"))
    }

    /// Asserts that it is signed with exactly these secrets, newest first, over its own bytes.
    #[track_caller]
    pub fn is_signed_with(&self, secrets: &[&str]) {
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

/// How a receiver answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// With a status.
    Status(u16),
    /// With a status and a header.
    With(u16, &'static str, String),
    /// By closing the connection.
    Close,
    /// Never.
    Hang,
}

#[derive(Debug, Default)]
struct Shared {
    arrived: Mutex<Vec<Delivery>>,
    replies: Mutex<VecDeque<Reply>>,
    news: Notify,
}

/// A running receiver. It ends when it is dropped.
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
    /// Starts one that answers `204` unless it is told otherwise.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let port = listener.local_addr().expect("a bound listener").port();
        let shared = Arc::new(Shared::default());
        let server = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self {
            shared,
            port,
            server,
        }
    }

    /// Where it listens on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers the next deliveries so, in this order; the last reply is repeated for ever.
    pub fn answers(&self, replies: impl IntoIterator<Item = Reply>) {
        *self.shared.replies.lock().unwrap() = replies.into_iter().collect();
    }

    /// All that has arrived so far.
    #[must_use]
    pub fn arrived(&self) -> Vec<Delivery> {
        self.shared.arrived.lock().unwrap().clone()
    }

    /// Waits until `count` deliveries have arrived, and gives them all.
    ///
    /// # Panics
    ///
    /// Where they do not come, or more do.
    pub async fn expect(&self, count: usize) -> Vec<Delivery> {
        let arrived = async {
            loop {
                let news = self.shared.news.notified();
                if self.arrived().len() >= count {
                    break;
                }
                news.await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, arrived).await;
        let arrived = self.arrived();
        assert!(
            in_time.is_ok(),
            "{} deliveries and not {count}",
            arrived.len()
        );
        assert_eq!(arrived.len(), count, "{arrived:?}");
        arrived
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, Arc::clone(&shared)));
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| answer(request, &shared));
    // An error here is a sender that went away, or `Reply::Close`.
    drop(
        http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await,
    );
}

async fn answer(
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
            _ => replies.pop_front().expect("there are two"),
        }
    };
    shared.arrived.lock().unwrap().push(Delivery { request });
    shared.news.notify_waiters();
    let response = http::Response::builder();
    let response = match reply {
        Reply::Status(status) => response.status(status),
        Reply::With(status, name, value) => response.status(status).header(name, value),
        Reply::Hang => std::future::pending().await,
        Reply::Close => return Err("closed, as it was told to".into()),
    };
    Ok(response.body(Full::default())?)
}
