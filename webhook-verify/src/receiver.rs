//! Receiving a delivery over HTTP: headers first, then the body as it arrives.

use core::fmt;
use core::pin::pin;
use std::boxed::Box;
use std::error::Error;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError};

use crate::clock;
use crate::event::{Event, EventError};
use crate::reject::Reject;
use crate::verify::{Verified, Verifier};

/// What a server keeps to receive deliveries: a [`Verifier`] and a clock.
///
/// It is cheap to clone. The axum extractor wants one in the router's state, the tower
/// layer takes one; other servers call [`receive`](Receiver::receive).
#[derive(Clone)]
pub struct Receiver {
    verifier: Arc<Verifier>,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Receiver {
    /// Makes a receiver that goes by the system's clock.
    #[must_use]
    pub fn new(verifier: Verifier) -> Self {
        Self {
            verifier: Arc::new(verifier),
            clock: Arc::new(clock::unix_seconds),
        }
    }

    /// Sets where the time comes from, in Unix seconds. For tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The verifier in use.
    #[must_use]
    pub fn verifier(&self) -> &Verifier {
        &self.verifier
    }

    /// Reads a delivery and verifies it.
    ///
    /// A delivery with bad headers is refused before its body is read. The body is kept
    /// whole, so it has to come with a limit: `http_body_util::Limited`, or that of a
    /// framework.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the status to answer.
    pub async fn receive<B>(&self, headers: &HeaderMap, body: B) -> Result<Webhook, Refused>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let received_at = (self.clock)();
        let mut verification = self.verifier.begin_headers(headers)?;
        verification.check_fresh(received_at)?;
        let mut body = pin!(body);
        let mut pieces = Pieces::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refused::of_body(error.into().as_ref()))?;
            if let Ok(piece) = frame.into_data() {
                verification.update(&piece);
                pieces.push(piece);
            }
        }
        Ok(Webhook {
            verified: verification.finish(received_at)?,
            received_at,
            body: pieces.join(),
        })
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("verifier", &self.verifier)
            .finish_non_exhaustive()
    }
}

/// A delivery that is genuine and fresh, with its raw body.
#[derive(Clone)]
pub struct Webhook {
    verified: Verified,
    received_at: u64,
    body: Bytes,
}

impl Webhook {
    /// What the verification showed.
    #[must_use]
    pub fn verified(&self) -> Verified {
        self.verified
    }

    /// When its headers arrived, in Unix seconds.
    #[must_use]
    pub fn received_at(&self) -> u64 {
        self.received_at
    }

    /// The raw body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The raw body, by value.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// Which event it is.
    ///
    /// # Errors
    ///
    /// [`EventError`] when the body, though genuine, is not an event. As a [`Refused`]
    /// that is a `400`.
    pub fn event(&self) -> Result<Event, EventError> {
        Event::parse(&self.body)
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("verified", &self.verified)
            .field("received_at", &self.received_at)
            .field("body_len", &self.body.len())
            .finish()
    }
}

/// Why a delivery is not taken, and what to answer.
///
/// As a response it has a status and no body: the sender has no use for the reason. It
/// is put into the response's extensions, where the receiver's own log can find it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The headers or the signature are not good: `400` or `401`, see
    /// [`Reject::status`].
    Rejected(Reject),
    /// The body is larger than the route allows: `413`.
    TooLarge,
    /// The body broke off: `400`.
    Unreadable,
    /// The body is genuine, and not an event: `400`.
    NotAnEvent(EventError),
    /// Another delivery of the same event is being handled and may yet fail: `503` with
    /// `Retry-After`, so that the sender comes again.
    InProgress {
        /// In how many seconds the other one's lease ends, at least 1.
        retry_after: u64,
    },
    /// The store of handled events does not answer: `503`, as the event may be new.
    Store(Arc<dyn Error + Send + Sync>),
    /// A `DedupeLayer` stands where no `VerifyLayer` comes before it: `500`.
    NotVerified,
}

impl Refused {
    /// The status to answer with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Rejected(reject) if reject.status() == 400 => StatusCode::BAD_REQUEST,
            Self::Rejected(_) => StatusCode::UNAUTHORIZED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable | Self::NotAnEvent(_) => StatusCode::BAD_REQUEST,
            Self::InProgress { .. } | Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotVerified => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The response to answer with.
    #[must_use]
    pub fn response<R: Default>(self) -> http::Response<R> {
        let mut response = http::Response::new(R::default());
        *response.status_mut() = self.status();
        if let Self::InProgress { retry_after } = self {
            let headers = response.headers_mut();
            headers.insert(http::header::RETRY_AFTER, retry_after.into());
        }
        response.extensions_mut().insert(self);
        response
    }

    /// A limit may be wrapped in the errors of those who passed it on.
    fn of_body(error: &(dyn Error + 'static)) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if error.is::<LengthLimitError>() {
                return Self::TooLarge;
            }
            cause = error.source();
        }
        Self::Unreadable
    }
}

impl From<Reject> for Refused {
    fn from(reject: Reject) -> Self {
        Self::Rejected(reject)
    }
}

impl From<EventError> for Refused {
    fn from(error: EventError) -> Self {
        Self::NotAnEvent(error)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(reject) => reject.fmt(f),
            Self::TooLarge => f.write_str(
                "the body is larger than the route allows: \
                 the service sends a little over 1 MiB at most",
            ),
            Self::Unreadable => {
                f.write_str("the body broke off: the service delivers the event again")
            }
            Self::NotAnEvent(error) => error.fmt(f),
            Self::InProgress { retry_after } => write!(
                f,
                "another delivery of this event is being handled: \
                 come again in {retry_after} s"
            ),
            Self::Store(_) => f.write_str(
                "the store of handled events does not answer: the service delivers the event again",
            ),
            Self::NotVerified => f.write_str(
                "the delivery was not verified: put a VerifyLayer outside the DedupeLayer",
            ),
        }
    }
}

impl Error for Refused {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

/// A body that came in one piece is not copied.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    all: BytesMut,
}

impl Pieces {
    fn push(&mut self, piece: Bytes) {
        if self.all.is_empty() && self.first.is_empty() {
            self.first = piece;
        } else {
            if self.all.is_empty() {
                self.all.extend_from_slice(&self.first);
            }
            self.all.extend_from_slice(&piece);
        }
    }

    fn join(self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            self.all.freeze()
        }
    }
}
