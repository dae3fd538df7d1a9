//! A plain HTTP client for the tests of the frontends, which compare raw bytes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

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
        let mut fields = self.parts().0.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
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

/// Opens a connection, and sends its first bytes.
pub(crate) async fn begin(url: &str, bytes: &str) -> TcpStream {
    let mut stream = connect(url).await;
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream
}

/// Reads until the connection is closed or reset.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> RawMessage {
    let mut bytes = Vec::new();
    let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes)).await;
    let _ = read.unwrap();
    RawMessage(bytes)
}

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

/// The public origin of the webhooks of [`submit_with_webhook`].
pub(crate) const RECEIVER_ORIGIN: &str = "https://hooks.example.com";

/// Submits an image job with a webhook and returns the job's ID.
pub(crate) async fn submit_with_webhook(url: &str) -> String {
    let mut body = image("webhook");
    body["webhook_url"] = json!(format!("{RECEIVER_ORIGIN}/svc?a=b"));
    let receipt = post(url, "/v1/image-router/generate", body).await.json();
    receipt["data"]["job"]["id"].as_str().unwrap().to_owned()
}
