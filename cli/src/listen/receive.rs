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
use svc_webhook_verify::{Event, EventError, VerifyError};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::delivery::Delivery;
use super::event::{ListenEvent, Received};
use super::forward::Forwarder;
use super::keys::{Checked, Keys};
use super::store::{self, Insert, Shared, StoreError};
use crate::clock;

/// The service sends receipts of up to 1 MiB, and something around them.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// What of a body that is too large is still read, so that its sender gets to read the response.
const MAX_DISCARDED_BYTES: usize = 8 * 1024 * 1024;
/// A body up to this size needs no leave to be held.
const SMALL_BODY_BYTES: usize = 64 * 1024;
/// So many larger ones are held at once.
const MAX_LARGE_BODIES: usize = 16;
/// For a body: the service itself waits ten seconds for the response.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// When the service is to come again where nothing could be kept.
const RETRY_AFTER_30_SECONDS: HeaderValue = HeaderValue::from_static("30");

/// What all connections have in common.
#[derive(Debug)]
pub(super) struct Receiver {
    keys: Arc<Keys>,
    store: Shared,
    forwarder: Option<Arc<Forwarder>>,
    events: mpsc::Sender<ListenEvent>,
    large_bodies: Semaphore,
}

type HttpResponse = Response<Empty<Bytes>>;

/// Why a request is not acknowledged.
enum Rejection {
    NotPost,
    TooLarge,
    Unreadable,
    Rejected(VerifyError),
    NotAnEvent(EventError),
    StoreError(StoreError),
}

impl Receiver {
    pub(super) fn new(
        keys: Arc<Keys>,
        store: Shared,
        forwarder: Option<Arc<Forwarder>>,
        events: mpsc::Sender<ListenEvent>,
    ) -> Self {
        Self {
            keys,
            store,
            forwarder,
            events,
            large_bodies: Semaphore::new(MAX_LARGE_BODIES),
        }
    }

    /// Answers a request.
    pub(super) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<HttpResponse, Infallible> {
        let (head, body) = request.into_parts();
        let accepted =
            match timeout(BODY_TIMEOUT, self.read(&head.method, &head.headers, body)).await {
                Ok(Ok(body)) => self.accept(&head.headers, body).await,
                Ok(Err(rejection)) => Err(rejection),
                Err(_) => Err(Rejection::Unreadable),
            };
        Ok(match accepted {
            Ok(status) => empty_response(status),
            Err(rejection) => {
                let response = rejection.response();
                self.emit(rejection.event()).await;
                response
            }
        })
    }

    /// The body, if the headers are those of a delivery. What else comes is read and let go: a
    /// sender that still writes would not read the response.
    async fn read(
        &self,
        method: &Method,
        headers: &HeaderMap,
        mut body: Incoming,
    ) -> Result<Bytes, Rejection> {
        let mut rejection = None;
        if method != Method::POST {
            rejection = Some(Rejection::NotPost);
        } else if content_length(headers).is_some_and(|length| length > MAX_BODY_BYTES) {
            rejection = Some(Rejection::TooLarge);
        } else if let Err(reject) = self.keys.check_headers(headers) {
            rejection = Some(Rejection::Rejected(reject));
        }
        // Who waits to be asked for the body is answered without it.
        if rejection.is_some() && headers.contains_key(http::header::EXPECT) {
            return Err(rejection.unwrap_or(Rejection::Unreadable));
        }
        let (mut buffer, mut discarded) = (BytesMut::new(), 0_usize);
        let mut permit = None;
        while !body.is_end_stream()
            && let Some(frame) = body.frame().await
        {
            let Ok(data) = frame.map_err(|_| Rejection::Unreadable)?.into_data() else {
                continue;
            };
            if rejection.is_none() && buffer.len() + data.len() > MAX_BODY_BYTES {
                (rejection, buffer, permit) = (Some(Rejection::TooLarge), BytesMut::new(), None);
            }
            if rejection.is_some() {
                discarded += data.len();
                if discarded > MAX_DISCARDED_BYTES {
                    break;
                }
                continue;
            }
            if permit.is_none() && buffer.len() + data.len() > SMALL_BODY_BYTES {
                permit = self.large_bodies.acquire().await.ok();
            }
            buffer.extend_from_slice(&data);
        }
        match rejection {
            Some(rejection) => Err(rejection),
            None => Ok(buffer.freeze()),
        }
    }

    /// Verifies it, keeps it, and says what to response.
    async fn accept(&self, headers: &HeaderMap, body: Bytes) -> Result<StatusCode, Rejection> {
        let now = clock::unix_seconds();
        let checked = self.keys.check(headers, &body, now).await;
        let Checked {
            outcome,
            fingerprint,
            warning,
        } = checked;
        if let Some(warning) = warning {
            self.emit(ListenEvent::Warning(warning)).await;
        }
        outcome.map_err(Rejection::Rejected)?;
        let event = Event::parse(&body).map_err(Rejection::NotAnEvent)?;
        let mut line = Received {
            event: event.event_type().to_string(),
            job_id: event.job_id().map(str::to_owned),
            run_id: event.run_id().map(str::to_owned),
            request_id: event.request_id().map(str::to_owned),
            status: None,
            outcome: None,
            duplicate: false,
            known: event.event_type().is_known(),
            at: clock::now(),
            fingerprint: fingerprint.map(|print| print.to_string()),
            bytes: body.len(),
        };
        let labels: Labels = serde_json::from_slice(&body).unwrap_or_default();
        (line.status, line.outcome) = (labels.status, labels.outcome);
        let id = event.job_id().or_else(|| event.run_id());
        let name = format!("{} {}", event.event_type(), id.unwrap_or("-"));
        let delivery = Delivery::new(now, event.dedupe_key(), name, headers, &body);
        let inserted = self
            .store_delivery(delivery)
            .await
            .map_err(Rejection::StoreError)?;
        line.duplicate = inserted == Insert::Duplicate;
        let status = match line.known {
            true => StatusCode::OK,
            false => StatusCode::NO_CONTENT,
        };
        self.emit(ListenEvent::Received(Box::new(line))).await;
        if let (Some(forwarder), Insert::New(id)) = (&self.forwarder, inserted) {
            forwarder.spawn(id);
        }
        Ok(status)
    }

    /// Keeps it, off the thread that the connections are on: a disk takes its time.
    async fn store_delivery(&self, delivery: Delivery) -> Result<Insert, StoreError> {
        let store = Arc::clone(&self.store);
        let stored =
            tokio::task::spawn_blocking(move || store::lock(&store).insert(delivery)).await;
        stored.unwrap_or_else(|error| Err(StoreError::WriteFailed(std::io::Error::other(error))))
    }

    async fn emit(&self, event: ListenEvent) {
        // It is gone only when the listener ends.
        let _ = self.events.send(event).await;
    }
}

/// What is told of an event, and no receiver needs.
#[derive(Default, Deserialize)]
struct Labels {
    status: Option<String>,
    outcome: Option<String>,
}

impl Rejection {
    fn response(&self) -> HttpResponse {
        let status = match self {
            Self::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable | Self::NotAnEvent(_) => StatusCode::BAD_REQUEST,
            Self::Rejected(reject) if reject.status() == 400 => StatusCode::BAD_REQUEST,
            Self::Rejected(_) => StatusCode::UNAUTHORIZED,
            Self::StoreError(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut response = empty_response(status);
        match self {
            Self::NotPost => response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("POST")),
            Self::StoreError(_) => response
                .headers_mut()
                .insert(RETRY_AFTER, RETRY_AFTER_30_SECONDS),
            _ => None,
        };
        response
    }

    fn event(self) -> ListenEvent {
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
            Self::StoreError(StoreError::Full) => (
                "store_full",
                "too much waits to be forwarded; --store FILE keeps it on disk".to_owned(),
            ),
            Self::StoreError(StoreError::WriteFailed(error)) => {
                return ListenEvent::Warning(format!(
                    "a delivery could not be stored ({error}); the service comes again"
                ));
            }
            Self::StoreError(StoreError::Broken(error)) => {
                return ListenEvent::Stopped(format!("the store cannot be written ({error})"));
            }
        };
        ListenEvent::Refused { code, why }
    }
}

fn empty_response(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
