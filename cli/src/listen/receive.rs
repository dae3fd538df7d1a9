//! One delivery: read, verified, kept, and only then acknowledged.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ALLOW, CONTENT_LENGTH, HeaderMap, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use serde::Deserialize;
use svc_webhook_verify::{Event, EventError, Reject};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::delivery::Delivery;
use super::event::{News, Received};
use super::forward::Forwarder;
use super::keys::{Checked, Keys};
use super::store::{self, NotKept, Shared, Taken};
use crate::clock;

/// The service sends receipts of up to 1 MiB, and something around them.
const LARGEST: usize = 2 * 1024 * 1024;
/// What of a body that is too large is still read, so that its sender gets to read the answer.
const DISCARDED: usize = 8 * 1024 * 1024;
/// A body up to this size needs no leave to be held.
const SMALL: usize = 64 * 1024;
/// So many larger ones are held at once.
const LARGE_ONES: usize = 16;
/// For a body: the service itself waits ten seconds for the answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// When the service is to come again where nothing could be kept.
const COME_AGAIN: HeaderValue = HeaderValue::from_static("30");

/// What all connections have in common.
#[derive(Debug)]
pub(super) struct Desk {
    keys: Arc<Keys>,
    store: Shared,
    forwarder: Option<Arc<Forwarder>>,
    news: mpsc::Sender<News>,
    large: Semaphore,
}

type Answer = Response<Empty<Bytes>>;

/// Why a request is not acknowledged.
enum Refused {
    NotPost,
    TooLarge,
    Unreadable,
    Rejected(Reject),
    NotAnEvent(EventError),
    NotKept(NotKept),
}

impl Desk {
    pub(super) fn new(
        keys: Arc<Keys>,
        store: Shared,
        forwarder: Option<Arc<Forwarder>>,
        news: mpsc::Sender<News>,
    ) -> Self {
        Self {
            keys,
            store,
            forwarder,
            news,
            large: Semaphore::new(LARGE_ONES),
        }
    }

    /// Answers a request.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Answer, Infallible> {
        let (head, body) = request.into_parts();
        let taken = match timeout(PATIENCE, self.read(&head.method, &head.headers, body)).await {
            Ok(Ok(body)) => self.take(&head.headers, body).await,
            Ok(Err(refused)) => Err(refused),
            Err(_) => Err(Refused::Unreadable),
        };
        Ok(match taken {
            Ok(status) => answer(status),
            Err(refused) => {
                let answer = refused.answer();
                self.tell(refused.news()).await;
                answer
            }
        })
    }

    /// The body, if the headers are those of a delivery. What else comes is read and let go: a
    /// sender that still writes would not read the answer.
    async fn read(
        &self,
        method: &Method,
        headers: &HeaderMap,
        mut body: Incoming,
    ) -> Result<Bytes, Refused> {
        let mut refused = None;
        if method != Method::POST {
            refused = Some(Refused::NotPost);
        } else if announced(headers).is_some_and(|length| length > LARGEST) {
            refused = Some(Refused::TooLarge);
        } else if let Err(reject) = self.keys.check_headers(headers) {
            refused = Some(Refused::Rejected(reject));
        }
        // Who waits to be asked for the body is answered without it.
        if refused.is_some() && headers.contains_key(http::header::EXPECT) {
            return Err(refused.unwrap_or(Refused::Unreadable));
        }
        let (mut kept, mut discarded) = (BytesMut::new(), 0_usize);
        let mut leave = None;
        while !body.is_end_stream()
            && let Some(frame) = body.frame().await
        {
            let Ok(data) = frame.map_err(|_| Refused::Unreadable)?.into_data() else {
                continue;
            };
            if refused.is_none() && kept.len() + data.len() > LARGEST {
                (refused, kept, leave) = (Some(Refused::TooLarge), BytesMut::new(), None);
            }
            if refused.is_some() {
                discarded += data.len();
                if discarded > DISCARDED {
                    break;
                }
                continue;
            }
            if leave.is_none() && kept.len() + data.len() > SMALL {
                leave = self.large.acquire().await.ok();
            }
            kept.extend_from_slice(&data);
        }
        match refused {
            Some(refused) => Err(refused),
            None => Ok(kept.freeze()),
        }
    }

    /// Verifies it, keeps it, and says what to answer.
    async fn take(&self, headers: &HeaderMap, body: Bytes) -> Result<StatusCode, Refused> {
        let now = clock::unix_seconds();
        let checked = self.keys.check(headers, &body, now).await;
        let Checked {
            outcome,
            fingerprint,
            stranger,
        } = checked;
        if let Some(stranger) = stranger {
            self.tell(News::Warning(stranger)).await;
        }
        outcome.map_err(Refused::Rejected)?;
        let event = Event::parse(&body).map_err(Refused::NotAnEvent)?;
        let mut line = Received {
            event: event.kind().to_string(),
            job_id: event.job_id().map(str::to_owned),
            run_id: event.run_id().map(str::to_owned),
            request_id: event.request_id().map(str::to_owned),
            status: None,
            outcome: None,
            duplicate: false,
            known: event.kind().is_known(),
            at: clock::now(),
            fingerprint: fingerprint.map(|print| print.to_string()),
            bytes: body.len(),
        };
        let labels: Labels = serde_json::from_slice(&body).unwrap_or_default();
        (line.status, line.outcome) = (labels.status, labels.outcome);
        let id = event.job_id().or_else(|| event.run_id());
        let name = format!("{} {}", event.kind(), id.unwrap_or("-"));
        let delivery = Delivery::new(now, event.dedupe_key(), name, headers, &body);
        let taken = self.keep(delivery).await.map_err(Refused::NotKept)?;
        line.duplicate = taken == Taken::Duplicate;
        let status = match line.known {
            true => StatusCode::OK,
            false => StatusCode::NO_CONTENT,
        };
        self.tell(News::Received(Box::new(line))).await;
        if let (Some(forwarder), Taken::New(id)) = (&self.forwarder, taken) {
            forwarder.take_up(id);
        }
        Ok(status)
    }

    /// Keeps it, off the thread that the connections are on: a disk takes its time.
    async fn keep(&self, delivery: Delivery) -> Result<Taken, NotKept> {
        let store = Arc::clone(&self.store);
        let kept = tokio::task::spawn_blocking(move || store::lock(&store).take(delivery)).await;
        kept.unwrap_or_else(|error| Err(NotKept::Unwritten(std::io::Error::other(error))))
    }

    async fn tell(&self, news: News) {
        // It is gone only when the listener ends.
        let _ = self.news.send(news).await;
    }
}

/// What is told of an event, and no receiver needs.
#[derive(Default, Deserialize)]
struct Labels {
    status: Option<String>,
    outcome: Option<String>,
}

impl Refused {
    fn answer(&self) -> Answer {
        let status = match self {
            Self::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable | Self::NotAnEvent(_) => StatusCode::BAD_REQUEST,
            Self::Rejected(reject) if reject.status() == 400 => StatusCode::BAD_REQUEST,
            Self::Rejected(_) => StatusCode::UNAUTHORIZED,
            Self::NotKept(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut answer = answer(status);
        match self {
            Self::NotPost => answer
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("POST")),
            Self::NotKept(_) => answer.headers_mut().insert(RETRY_AFTER, COME_AGAIN),
            _ => None,
        };
        answer
    }

    fn news(self) -> News {
        let (code, why) = match self {
            Self::NotPost => (
                "method_not_allowed",
                "deliveries are POST requests".to_owned(),
            ),
            Self::TooLarge => (
                "payload_too_large",
                "the body is larger than 2 MiB".to_owned(),
            ),
            Self::Unreadable => ("unreadable", "the body did not arrive whole".to_owned()),
            Self::Rejected(reject) => (reject.code(), reject.to_string()),
            Self::NotAnEvent(error) => ("not_an_event", error.to_string()),
            Self::NotKept(NotKept::Full) => (
                "store_full",
                "too much waits to be forwarded; --store FILE keeps it on disk".to_owned(),
            ),
            Self::NotKept(NotKept::Unwritten(error)) => {
                return News::Warning(format!(
                    "a delivery could not be stored ({error}); the service comes again"
                ));
            }
            Self::NotKept(NotKept::Broken(error)) => {
                return News::Over(format!("the store cannot be written ({error})"));
            }
        };
        News::Refused { code, why }
    }
}

fn answer(status: StatusCode) -> Answer {
    let mut answer = Response::new(Empty::new());
    *answer.status_mut() = status;
    answer
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
