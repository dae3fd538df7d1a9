//! A plain HTTP client and webhook receiver for the tests of the frontends, which compare raw bytes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::webhook_route::WebhookRoute;

/// The bytes of an HTTP message.
pub(crate) struct RawMessage(pub(crate) Vec<u8>);

impl RawMessage {
    fn parts(&self) -> (&str, &[u8]) {
        let end = self.0.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        (std::str::from_utf8(&self.0[..end]).unwrap(), &self.0[end + 4..])
    }

    pub(crate) fn status(&self) -> u16 {
        self.parts().0.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.parts().0.lines().filter_map(|line| line.split_once(": "));
        fields
            .into_iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.parts().1
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(self.body()).unwrap()
    }
}

pub(crate) async fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Reads until the connection is closed or reset.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> RawMessage {
    let mut bytes = Vec::new();
    let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes)).await;
    let _ = read.unwrap();
    RawMessage(bytes)
}

/// Sends one request on a new connection.
pub(crate) async fn send(url: &str, head: &str, body: &[u8]) -> RawMessage {
    let mut stream = connect(url).await;
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer svc_open_demo\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let mut request = request.into_bytes();
    request.extend_from_slice(body);
    // The server may respond and close the connection before it has read everything.
    let _ = stream.write_all(&request).await;
    read_to_end(&mut stream).await
}

pub(crate) async fn get(url: &str, path: &str) -> RawMessage {
    send(url, &format!("GET {path}"), b"").await
}

pub(crate) async fn post(url: &str, path: &str, body: Value) -> RawMessage {
    send(url, &format!("POST {path}"), body.to_string().as_bytes()).await
}

pub(crate) fn image(mode: &str) -> Value {
    json!({"model": "image-i", "prompt": "a fox", "mode": mode})
}

/// A server that receives webhooks and stores them.
pub(crate) struct TestReceiver {
    pub(crate) route: WebhookRoute,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl TestReceiver {
    /// Starts a receiver that gives the responses in order and repeats the last one. An empty
    /// response means that it does not respond.
    pub(crate) async fn start(responses: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let route = format!("{RECEIVER_ORIGIN}=http://{address}").parse().unwrap();
        let requests: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let (stored, responses) = (Arc::clone(&requests), responses.to_vec());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                let response = {
                    let mut stored = stored.lock().unwrap();
                    stored.push(request);
                    responses[(stored.len() - 1).min(responses.len() - 1)]
                };
                tokio::spawn(async move {
                    if response.is_empty() {
                        sleep(Duration::from_secs(60)).await;
                    }
                    let head = format!("HTTP/1.1 {response}\r\ncontent-length: 0\r\n\r\n");
                    let _ = stream.write_all(head.as_bytes()).await;
                });
            }
        });
        Self { route, requests }
    }

    pub(crate) fn requests(&self) -> Vec<RawMessage> {
        let requests = self.requests.lock().unwrap();
        requests.iter().cloned().map(RawMessage).collect()
    }
}

async fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..read]);
        let has_head = bytes.windows(4).any(|bytes| bytes == b"\r\n\r\n");
        let message = RawMessage(bytes.clone());
        let length = has_head.then(|| message.header("content-length").unwrap().parse().unwrap());
        if read == 0 || length.is_some_and(|length: usize| message.body().len() >= length) {
            return bytes;
        }
    }
}

/// The public origin of the webhooks that a [`TestReceiver`] receives.
pub(crate) const RECEIVER_ORIGIN: &str = "https://hooks.example.com";

/// Submits an image job with a webhook and returns the job's ID.
pub(crate) async fn submit_with_webhook(url: &str) -> String {
    let mut body = image("webhook");
    body["webhook_url"] = json!(format!("{RECEIVER_ORIGIN}/svc?a=b"));
    let receipt = post(url, "/v1/image-router/generate", body).await.json();
    receipt["data"]["job"]["id"].as_str().unwrap().to_owned()
}
