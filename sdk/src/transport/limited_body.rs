//! The body of a request whose first byte has a time limit.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::Full;

use super::{SendLimit, TransportError};

/// The body of a request. hyper asks for it when it has a connection, right before it writes the first
/// byte of the request, and writes nothing if it fails.
pub(super) struct LimitedBody {
    body: Full<Bytes>,
    limit: Option<SendLimit>,
}

impl LimitedBody {
    /// Takes the limit from the request.
    pub(super) fn of(mut request: http::Request<Bytes>) -> http::Request<Self> {
        let limit = request.extensions_mut().remove::<SendLimit>();
        request.map(|body| Self { body: Full::new(body), limit })
    }
}

impl http_body::Body for LimitedBody {
    type Data = Bytes;
    type Error = SendLimitPassed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SendLimitPassed>>> {
        // After the first time, the request is being sent.
        if self.limit.take().is_some_and(|limit| limit.has_passed()) {
            return Poll::Ready(Some(Err(SendLimitPassed)));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        frame.map_err(|never: Infallible| match never {})
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The error of a request that was not sent, as its limit had passed.
#[derive(Debug)]
pub(super) struct SendLimitPassed;

impl SendLimitPassed {
    /// Returns the error of a request that failed because of it.
    pub(super) fn find(error: &(dyn std::error::Error + 'static)) -> Option<TransportError> {
        let mut next = Some(error);
        while let Some(error) = next {
            if error.is::<Self>() {
                return Some(TransportError::not_sent(Self));
            }
            next = error.source();
        }
        None
    }
}

impl fmt::Display for SendLimitPassed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time limit for the first byte passed before the request was sent")
    }
}

impl std::error::Error for SendLimitPassed {}
