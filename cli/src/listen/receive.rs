//! Request handling: a delivery is read, verified and stored, as an event, before it is acknowledged.

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
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use svc_webhook_inbox::{EventStoreError, EventStoreErrorKind, Inbox, InsertOutcome, NewEvent};
use svc_webhook_verify::{EventError, ReceiveError, VerifyError};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::clock;
use crate::error::{Failure, Result};
use crate::output::{Printer, write_stdout};
use crate::text::sanitize;
use crate::webhook::Keys;

/// The maximum size of a body. The service sends receipts of up to 1 MiB plus an envelope.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// The maximum size that is read of a rejected body, so that the sender can read the response.
const MAX_DISCARDED_BYTES: usize = 8 * 1024 * 1024;
const SMALL_BODY_BYTES: usize = 64 * 1024;
pub(super) const MAX_LARGE_BODIES: usize = 16;
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// The `retry-after` of a delivery that could not be stored.
const RETRY_AFTER_30_SECONDS: HeaderValue = HeaderValue::from_static("30");
const STORE_FULL: &str = "too many events are waiting to be forwarded; without --store memory they are \
    kept on disk";
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

pub(super) struct Receiver {
    pub(super) keys: Arc<Keys>,
    pub(super) inbox: Inbox,
    /// Whether events count as handled when they are stored, because nothing forwards them.
    pub(super) is_handling: bool,
    pub(super) events: mpsc::Sender<ListenEvent>,
    pub(super) large_bodies: Semaphore,
}

type HttpResponse = Response<Empty<Bytes>>;

enum Rejection {
    NotPost,
    TooLarge,
    Incomplete,
    Unverified(VerifyError),
    NotAnEvent(EventError),
    StoreError(EventStoreError),
}

impl Receiver {
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

    /// Discards other bodies: a sender that is still writing would not read the response.
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
            let Ok(data) = frame.map_err(|_| Rejection::Incomplete)?.into_data() else { continue };
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
        let store = self.inbox.store();
        let inserted = match self.is_handling {
            true => store.insert_handled(new_event).await,
            false => store.insert(new_event).await,
        };
        let inserted = inserted.map_err(Rejection::StoreError)?;
        line.duplicate = inserted == InsertOutcome::Duplicate;
        let status = if line.known { StatusCode::OK } else { StatusCode::NO_CONTENT };
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
            Self::NotPost => response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST")),
            Self::StoreError(_) => {
                response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_30_SECONDS)
            }
            _ => None,
        };
        response
    }

    fn event(self) -> ListenEvent {
        let (code, why) = match self {
            Self::NotPost => ("method_not_allowed", "the method must be POST".to_owned()),
            Self::TooLarge => ("payload_too_large", "the body is larger than 2 MiB".to_owned()),
            Self::Incomplete => ("unreadable", "the body is incomplete".to_owned()),
            Self::Unverified(reject) => (reject.code(), reject.to_string()),
            Self::NotAnEvent(error) => ("not_an_event", error.to_string()),
            Self::StoreError(error) => match error.kind() {
                EventStoreErrorKind::Full => ("store_full", STORE_FULL.to_owned()),
                EventStoreErrorKind::Broken => return ListenEvent::Stopped(error.to_string()),
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

#[derive(Debug)]
pub(super) enum ListenEvent {
    Received(Box<Received>),
    Rejected { code: &'static str, why: String },
    Note(String),
    Warning(String),
    Stopped(String),
}

#[derive(Debug, Serialize)]
pub(super) struct Received {
    pub(super) event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<String>,
    /// `OK` or `ERROR`, from the body.
    pub(super) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<String>,
    /// Whether the event was received before. Duplicates are not forwarded.
    pub(super) duplicate: bool,
    pub(super) known: bool,
    pub(super) at: Timestamp,
    pub(super) fingerprint: String,
    pub(super) bytes: usize,
}

pub(super) fn report(printer: &Printer, event: ListenEvent) -> Result<Option<String>> {
    match event {
        ListenEvent::Received(line) => {
            return printer.format_line(&*line, Received::sentence).map(Some);
        }
        ListenEvent::Rejected { code, why } => {
            printer.note(&format!("rejected ({code}): {}", sanitize(&why)));
        }
        ListenEvent::Note(text) => printer.note(&sanitize(&text)),
        ListenEvent::Warning(text) => printer.warn(&sanitize(&text)),
        ListenEvent::Stopped(why) => {
            return Err(Failure::other(format!("can no longer receive: {why}")));
        }
    }
    Ok(None)
}

/// A writer of standard output that does not block the connections if the reader is slow.
#[derive(Debug, Default)]
pub(super) struct StdoutWriter(Option<JoinHandle<Result>>);

impl StdoutWriter {
    /// Starts to write a text. The previous write must have been flushed.
    pub(super) fn write(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.0 = Some(tokio::task::spawn_blocking(move || write_stdout(text.as_bytes())));
        }
    }

    pub(super) fn is_writing(&self) -> bool {
        self.0.is_some()
    }

    pub(super) async fn flush(&mut self) -> Result {
        let Some(writing) = &mut self.0 else { return Ok(()) };
        let written = writing.await;
        self.0 = None;
        match written {
            // A closed pipe is an error here: otherwise events would be lost without notice.
            Ok(Err(failure)) if failure.is_silent() => {
                Err(Failure::other("the reader has closed standard output"))
            }
            Ok(written) => written,
            Err(error) => Err(Failure::other(error.to_string())),
        }
    }
}

impl Received {
    fn sentence(&self) -> String {
        let id = self.job_id.as_ref().or(self.run_id.as_ref());
        // `ERROR` would read as if the delivery had failed.
        let status = match self.event.strip_prefix("job.") {
            Some(status) if self.known => Some(status.to_owned()),
            _ => self.outcome.clone().or_else(|| self.status.as_ref().map(|it| it.to_lowercase())),
        };
        let words = [
            Some(self.event.clone()),
            id.cloned(),
            status,
            self.duplicate.then(|| "(duplicate)".to_owned()),
            (!self.known).then(|| "(unknown event type)".to_owned()),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join("  ")
    }
}
