//! A plain client for the tests of the faces: what is on the wire is what is looked at.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::service::Service;

/// What came back over a connection, until it was closed.
pub(crate) struct Got(pub(crate) Vec<u8>);

impl Got {
    fn parts(&self) -> (&str, &[u8]) {
        let end = self
            .0
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .unwrap();
        (
            std::str::from_utf8(&self.0[..end]).unwrap(),
            &self.0[end + 4..],
        )
    }

    pub(crate) fn status(&self) -> u16 {
        self.parts().0.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self
            .parts()
            .0
            .lines()
            .filter_map(|line| line.split_once(": "));
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
    TcpStream::connect(url.strip_prefix("http://").unwrap())
        .await
        .unwrap()
}

/// All that comes until the connection is closed, or reset.
pub(crate) async fn rest(stream: &mut TcpStream) -> Got {
    let mut bytes = Vec::new();
    let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes)).await;
    let _ = read.unwrap();
    Got(bytes)
}

/// One request on a connection of its own.
pub(crate) async fn send(url: &str, head: &str, body: &[u8]) -> Got {
    let mut stream = connect(url).await;
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: mock\r\nauthorization: Bearer svc_open_demo\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let mut request = request.into_bytes();
    request.extend_from_slice(body);
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(&request).await;
    rest(&mut stream).await
}

pub(crate) async fn get(url: &str, path: &str) -> Got {
    send(url, &format!("GET {path}"), b"").await
}

pub(crate) async fn post(url: &str, path: &str, body: Value) -> Got {
    send(url, &format!("POST {path}"), body.to_string().as_bytes()).await
}

/// An image job, whose answer waits for it.
pub(crate) async fn submit_sync(url: &str) -> Got {
    post(url, "/v1/image-router/generate", image("sync")).await
}

pub(crate) fn image(mode: &str) -> Value {
    json!({"model": "image-i", "prompt": "a fox", "mode": mode})
}

/// Until a job has been submitted.
pub(crate) async fn first_job(service: &Service) {
    let submitted = async {
        while service.jobs().is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(20), submitted).await.unwrap();
}
