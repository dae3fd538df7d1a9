//! A plain client for the tests of the faces: what is on the wire is what is looked at.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::service::Service;
use crate::webhook_route::WebhookRoute;

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

/// A program that receives webhooks, and keeps them as they came.
pub(crate) struct Hooks {
    pub(crate) route: WebhookRoute,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Hooks {
    /// Answers the requests with these in turn, the last one for ever; an empty one is no answer.
    pub(crate) async fn answering(answers: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let route = format!("{HOOKS}=http://{address}").parse().unwrap();
        let requests: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let (kept, answers) = (Arc::clone(&requests), answers.to_vec());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = whole_request(&mut stream).await;
                let answer = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(request);
                    answers[(kept.len() - 1).min(answers.len() - 1)]
                };
                tokio::spawn(async move {
                    if answer.is_empty() {
                        sleep(Duration::from_secs(60)).await;
                    }
                    let head = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
                    let _ = stream.write_all(head.as_bytes()).await;
                });
            }
        });
        Self { route, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Got> {
        let requests = self.requests.lock().unwrap();
        requests.iter().cloned().map(Got).collect()
    }
}

async fn whole_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..read]);
        let ended = bytes.windows(4).any(|bytes| bytes == b"\r\n\r\n");
        let got = Got(bytes.clone());
        let length = ended.then(|| got.header("content-length").unwrap().parse().unwrap());
        if read == 0 || length.is_some_and(|length: usize| got.body().len() >= length) {
            return bytes;
        }
    }
}

/// The public origin of what a [`Hooks`] receives.
pub(crate) const HOOKS: &str = "https://hooks.example.com";

/// An image job that tells its end there.
pub(crate) async fn submit_hooked(url: &str) -> String {
    let mut body = image("webhook");
    body["webhook_url"] = json!(format!("{HOOKS}/svc?a=b"));
    let receipt = post(url, "/v1/image-router/generate", body).await.json();
    receipt["data"]["job"]["id"].as_str().unwrap().to_owned()
}
