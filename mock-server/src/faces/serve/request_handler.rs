//! One request read from a connection and its answer written to it.

use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use svc_sdk::contract::limits::MAX_REQUEST_BODY_BYTES;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::socket::AbortHandle;
use crate::control::MAX_STATE_BYTES;
use crate::engine::{Call, Host, Transmission};
use crate::service::Service;

/// A body up to this size needs no leave.
const SMALL_BODY_BYTES: usize = 64 * 1024;
/// What of a body that is too large is still read, so that its sender gets to read the answer.
const MAX_DISCARDED_BYTES: usize = 32 * 1024 * 1024;

/// What the requests of one listener have in common.
#[derive(Clone)]
pub(super) struct RequestHandler {
    host: Host,
    service: Service,
    limit: usize,
    /// Leave to hold a large body in memory.
    large_bodies: Arc<Semaphore>,
    body_timeout: Duration,
}

/// Why a connection ends without an answer.
#[derive(Debug)]
pub(super) enum NoResponse {
    /// The client broke off, or was too slow.
    Incomplete,
    /// The answer is that there is none.
    Closed,
}

impl fmt::Display for NoResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Incomplete => "the request did not arrive whole",
            Self::Closed => "the connection is closed in the place of an answer",
        })
    }
}

impl std::error::Error for NoResponse {}

impl RequestHandler {
    pub(super) fn new(host: Host, service: Service, body_timeout: Duration) -> Self {
        let (limit, at_once) = match host {
            Host::Control => (MAX_STATE_BYTES, 1),
            Host::Open | Host::Developer | Host::Media => (MAX_REQUEST_BODY_BYTES, 64),
        };
        let large_bodies = Arc::new(Semaphore::new(at_once));
        Self {
            host,
            service,
            limit,
            large_bodies,
            body_timeout,
        }
    }

    pub(super) async fn answer(
        self,
        peer: IpAddr,
        abort: AbortHandle,
        request: hyper::Request<Incoming>,
    ) -> Result<hyper::Response<ResponseBody>, NoResponse> {
        let (parts, body) = request.into_parts();
        let body = timeout(self.body_timeout, self.read(body))
            .await
            .map_err(|_| NoResponse::Incomplete)??;
        let call = Call {
            host: self.host,
            peer,
            request: http::Request::from_parts(parts, body),
        };
        let answer = self.service.call(call).await;
        match answer.transmission {
            Transmission::Close => Err(NoResponse::Closed),
            Transmission::Complete => Ok(answer.response.map(ResponseBody::complete)),
            Transmission::Truncate => Ok(answer
                .response
                .map(|body| ResponseBody::truncated(body, abort))),
        }
    }

    /// The body, up to one byte more than is allowed: that byte tells the engine that it is too
    /// large.
    async fn read(&self, mut body: Incoming) -> Result<Bytes, NoResponse> {
        let mut received = BytesMut::new();
        let mut discarded = 0;
        let mut permit = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| NoResponse::Incomplete)?;
            let Ok(mut data) = frame.into_data() else {
                continue;
            };
            if permit.is_none() && received.len() + data.len() > SMALL_BODY_BYTES {
                permit = self.large_bodies.acquire().await.ok();
            }
            let remaining = (self.limit + 1).saturating_sub(received.len());
            if data.len() > remaining {
                discarded += data.len() - remaining;
                data.truncate(remaining);
            }
            received.extend_from_slice(&data);
            if discarded > MAX_DISCARDED_BYTES {
                break;
            }
        }
        Ok(received.freeze())
    }
}

/// An answer's body, or the half of it after which the connection breaks.
pub(super) struct ResponseBody {
    bytes: Bytes,
    announced: u64,
    abort: Option<AbortHandle>,
}

impl ResponseBody {
    fn complete(bytes: Bytes) -> Self {
        Self {
            announced: bytes.len() as u64,
            bytes,
            abort: None,
        }
    }

    fn truncated(mut bytes: Bytes, abort: AbortHandle) -> Self {
        let announced = bytes.len() as u64;
        bytes.truncate(bytes.len() / 2);
        Self {
            bytes,
            announced,
            abort: Some(abort),
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match &self.abort {
            None => Poll::Ready(None),
            // What comes next is hyper's flush, where the socket breaks off.
            Some(abort) => {
                abort.abort();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && (self.abort.is_none() || self.announced == 0)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.abort {
            None => SizeHint::with_exact(self.bytes.len() as u64),
            Some(_) => SizeHint::with_exact(self.announced),
        }
    }
}
