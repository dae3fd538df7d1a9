//! Request handling: a delivery is read, verified and stored before it is acknowledged.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{
    ALLOW, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, RETRY_AFTER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use serde::Deserialize;
use svc_webhook_inbox::{Inbox, InsertOutcome, NewEvent, StoreError, StoreErrorKind};
use svc_webhook_verify::{EventError, ReceiveError, VerifyError};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::event::{ListenEvent, Received};
use super::keys::Keys;
use crate::clock;

/// The maximum size of a body. The service sends receipts of up to 1 MiB plus an envelope.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// The maximum size that is read of a rejected body, so that the sender can read the response.
const MAX_DISCARDED_BYTES: usize = 8 * 1024 * 1024;
/// The size up to which a body needs no permit.
const SMALL_BODY_BYTES: usize = 64 * 1024;
/// The maximum number of concurrent larger bodies.
const MAX_LARGE_BODIES: usize = 16;
/// The timeout for a body. The service waits ten seconds for the response.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// The `retry-after` of a delivery that could not be stored.
const RETRY_AFTER_30_SECONDS: HeaderValue = HeaderValue::from_static("30");
/// Headers that belong to a single connection. They are neither stored nor forwarded.
const HOP_BY_HOP: [HeaderName; 11] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The request handler, shared by all connections.
#[derive(Debug)]
pub(super) struct Receiver {
    keys: Arc<Keys>,
    inbox: Inbox,
    events: mpsc::Sender<ListenEvent>,
    large_bodies: Semaphore,
}

type HttpResponse = Response<Empty<Bytes>>;

/// The reason why a request is rejected.
enum Rejection {
    NotPost,
    TooLarge,
    Incomplete,
    Unverified(VerifyError),
    NotAnEvent(EventError),
    StoreError(StoreError),
}

impl Receiver {
    pub(super) fn new(keys: Arc<Keys>, inbox: Inbox, events: mpsc::Sender<ListenEvent>) -> Self {
        Self {
            keys,
            inbox,
            events,
            large_bodies: Semaphore::new(MAX_LARGE_BODIES),
        }
    }

    /// Handles a request.
    pub(super) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<HttpResponse, Infallible> {
        let (head, body) = request.into_parts();
        let accepted =
            match timeout(BODY_TIMEOUT, self.read(&head.method, &head.headers, body)).await {
                Ok(Ok(body)) => self.accept(&head.headers, body).await,
                Ok(Err(rejection)) => Err(rejection),
                Err(_) => Err(Rejection::Incomplete),
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

    /// Reads the body if the headers are those of a delivery. Otherwise the body is discarded,
    /// because a sender that is still writing would not read the response.
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
            rejection = Some(Rejection::Unverified(reject));
        }
        // With `expect: 100-continue` the sender waits for the response before it sends the body.
        if rejection.is_some() && headers.contains_key(http::header::EXPECT) {
            return Err(rejection.unwrap_or(Rejection::Incomplete));
        }
        let (mut buffer, mut discarded) = (BytesMut::new(), 0_usize);
        let mut permit = None;
        while !body.is_end_stream()
            && let Some(frame) = body.frame().await
        {
            let Ok(data) = frame.map_err(|_| Rejection::Incomplete)?.into_data() else {
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

    /// Verifies and stores a delivery, and returns the status of the response.
    async fn accept(&self, headers: &HeaderMap, body: Bytes) -> Result<StatusCode, Rejection> {
        let webhook = self.keys.verify(headers, body).await?;
        if let Some(warning) = self.keys.warning(&webhook) {
            self.emit(ListenEvent::Warning(warning)).await;
        }
        let event = webhook.event().map_err(Rejection::NotAnEvent)?;
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
            fingerprint: webhook.fingerprint().to_string(),
            bytes: webhook.body().len(),
        };
        let labels: Labels = serde_json::from_slice(webhook.body()).unwrap_or_default();
        (line.status, line.outcome) = (labels.status, labels.outcome);
        let new_event = NewEvent::new(&event, end_to_end_headers(headers), webhook.into_body());
        let inserted = self.inbox.store().insert(new_event).await;
        let inserted = inserted.map_err(Rejection::StoreError)?;
        line.duplicate = inserted == InsertOutcome::Duplicate;
        let status = match line.known {
            true => StatusCode::OK,
            false => StatusCode::NO_CONTENT,
        };
        self.emit(ListenEvent::Received(Box::new(line))).await;
        Ok(status)
    }

    async fn emit(&self, event: ListenEvent) {
        // The receiver is dropped only when the listener ends.
        let _ = self.events.send(event).await;
    }
}

/// Fields of the body that are only reported.
#[derive(Default, Deserialize)]
struct Labels {
    status: Option<String>,
    outcome: Option<String>,
}

impl From<ReceiveError> for Rejection {
    fn from(error: ReceiveError) -> Self {
        match error {
            ReceiveError::Verify(error) => Self::Unverified(error),
            ReceiveError::InvalidEvent(error) => Self::NotAnEvent(error),
            _ => Self::Incomplete,
        }
    }
}

impl Rejection {
    fn response(&self) -> HttpResponse {
        let status = match self {
            Self::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete | Self::NotAnEvent(_) => StatusCode::BAD_REQUEST,
            Self::Unverified(reject) if reject.status() == 400 => StatusCode::BAD_REQUEST,
            Self::Unverified(_) => StatusCode::UNAUTHORIZED,
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
                "the method must be POST".to_owned(),
            ),
            Self::TooLarge => (
                "payload_too_large",
                "the body is larger than 2 MiB".to_owned(),
            ),
            Self::Incomplete => ("unreadable", "the body is incomplete".to_owned()),
            Self::Unverified(reject) => (reject.code(), reject.to_string()),
            Self::NotAnEvent(error) => ("not_an_event", error.to_string()),
            Self::StoreError(error) => match error.kind() {
                StoreErrorKind::Full => (
                    "store_full",
                    "too many events are waiting to be forwarded; pass --store FILE to keep them on disk".to_owned(),
                ),
                StoreErrorKind::Broken => return ListenEvent::Stopped(error.to_string()),
                _ => {
                    return ListenEvent::Warning(format!(
                        "cannot store a delivery: {error}; the service will retry it"
                    ));
                }
            },
        };
        ListenEvent::Rejected { code, why }
    }
}

fn end_to_end_headers(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
    headers
}

fn empty_response(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
