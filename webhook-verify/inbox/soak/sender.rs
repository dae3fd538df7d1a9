//! The sender: signs deliveries, sends them in random order, and again until they are answered, as
//! the service does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use svc_webhook_verify::{KeySet, SignatureHeaders, Signer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::processes::{COUNT, SECRET};

const CONCURRENCY: usize = 32;
/// The time for which the service waits for the answer.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(crate) struct Sender {
    /// The ports of the receivers.
    ports: Arc<[AtomicU16; COUNT]>,
    /// The events in the order of their deliveries.
    order: Arc<Vec<usize>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    sent: AtomicUsize,
    answered: AtomicUsize,
    failed: AtomicUsize,
}

impl Sender {
    /// Creates a sender of `deliveries` deliveries, of which the first of each event come first
    /// only by chance.
    pub(crate) fn new(ports: Arc<[AtomicU16; COUNT]>, events: usize, deliveries: usize) -> Self {
        let mut order: Vec<usize> = (0..deliveries).map(|number| number % events).collect();
        let mut random = fastrand::Rng::with_seed(7);
        random.shuffle(&mut order);
        Self { ports, order: Arc::new(order), counts: Arc::default() }
    }

    /// Returns the number of deliveries that were answered with 2xx.
    pub(crate) fn answered(&self) -> usize {
        self.counts.answered.load(Ordering::Relaxed)
    }

    /// Returns the number of attempts that were not answered, or not with 2xx.
    pub(crate) fn failed(&self) -> usize {
        self.counts.failed.load(Ordering::Relaxed)
    }

    /// Sends all deliveries.
    pub(crate) async fn run(self) {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..CONCURRENCY {
            let sender = self.clone();
            tasks.spawn(async move {
                let mut connection = None;
                loop {
                    let number = sender.counts.sent.fetch_add(1, Ordering::Relaxed);
                    let Some(event) = sender.order.get(number) else { return };
                    sender.deliver(number, *event, &mut connection).await;
                }
            });
        }
        tasks.join_all().await;
    }

    async fn deliver(&self, number: usize, event: usize, connection: &mut Option<TcpStream>) {
        for attempt in 0.. {
            let port = self.ports[(number % 32 + attempt) % COUNT].load(Ordering::Relaxed);
            match timeout(TIMEOUT, send(port, event, connection)).await {
                Ok(Ok(200)) => {
                    self.counts.answered.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                _ => {
                    *connection = None;
                    self.counts.failed.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Sends a delivery over the connection, or over a new one. Returns the status of the answer.
async fn send(port: u16, event: usize, connection: &mut Option<TcpStream>) -> std::io::Result<u16> {
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            stream.set_nodelay(true)?;
            stream
        }
    };
    stream.write_all(&request(event)).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let text = String::from_utf8_lossy(&answer);
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    *connection = Some(stream);
    Ok(status.unwrap_or_default())
}

/// Returns the signed headers and the body of a delivery, with about 512 bytes.
pub(crate) fn delivery(event: usize) -> (SignatureHeaders, String) {
    let filler = "x".repeat(430);
    let body = format!(
        r#"{{"event":"job.completed","job_id":"job_{event}","status":"OK","payload":{{"text":"{filler}"}}}}"#
    );
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let signer = Signer::new(KeySet::new([SECRET]).unwrap());
    (signer.sign(now, &body), body)
}

/// Returns a delivery as a request.
fn request(event: usize) -> Vec<u8> {
    let (headers, body) = delivery(event);
    let lines = headers.pairs().map(|(name, value)| format!("{name}: {value}\r\n")).concat();
    let length = body.len();
    format!(
        "POST /webhooks HTTP/1.1\r\nhost: soak\r\n{lines}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
