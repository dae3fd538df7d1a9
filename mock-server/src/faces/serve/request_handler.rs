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
use svc_sdk::contract::limits::REQUEST_BODY_BYTES;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::socket::AbortHandle;
use crate::control::STATE_BYTES;
use crate::engine::{Call, Host, Wire};
use crate::service::Service;

/// A body up to this size needs no leave.
const SMALL: usize = 64 * 1024;
/// What of a body that is too large is still read, so that its sender gets to read the answer.
const DISCARDED: usize = 32 * 1024 * 1024;

/// What the requests of one listener have in common.
#[derive(Clone)]
pub(super) struct RequestHandler {
    host: Host,
    service: Service,
    limit: usize,
    /// Leave to hold a large body in memory.
    large: Arc<Semaphore>,
    patience: Duration,
}

/// Why a connection ends without an answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The client broke off, or was too slow.
    Unread,
    /// The answer is that there is none.
    Closed,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unread => "the request did not arrive whole",
            Self::Closed => "the connection is closed in the place of an answer",
        })
    }
}

impl std::error::Error for Unanswered {}

impl RequestHandler {
    pub(super) fn new(host: Host, service: Service, patience: Duration) -> Self {
        let (limit, at_once) = match host {
            Host::Control => (STATE_BYTES, 1),
            Host::Open | Host::Developer | Host::Media => (REQUEST_BODY_BYTES, 64),
        };
        let large = Arc::new(Semaphore::new(at_once));
        Self {
            host,
            service,
            limit,
            large,
            patience,
        }
    }

    pub(super) async fn answer(
        self,
        peer: IpAddr,
        cut: AbortHandle,
        request: hyper::Request<Incoming>,
    ) -> Result<hyper::Response<Payload>, Unanswered> {
        let (parts, body) = request.into_parts();
        let body = timeout(self.patience, self.read(body))
            .await
            .map_err(|_| Unanswered::Unread)??;
        let call = Call {
            host: self.host,
            peer,
            request: http::Request::from_parts(parts, body),
        };
        let answer = self.service.call(call).await;
        match answer.wire {
            Wire::Close => Err(Unanswered::Closed),
            Wire::Whole => Ok(answer.response.map(Payload::whole)),
            Wire::Truncate => Ok(answer.response.map(|body| Payload::cut(body, cut))),
        }
    }

    /// The body, up to one byte more than is allowed: that byte tells the engine that it is too
    /// large.
    async fn read(&self, mut body: Incoming) -> Result<Bytes, Unanswered> {
        let mut kept = BytesMut::new();
        let mut discarded = 0;
        let mut leave = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Unanswered::Unread)?;
            let Ok(mut data) = frame.into_data() else {
                continue;
            };
            if leave.is_none() && kept.len() + data.len() > SMALL {
                leave = self.large.acquire().await.ok();
            }
            let room = (self.limit + 1).saturating_sub(kept.len());
            if data.len() > room {
                discarded += data.len() - room;
                data.truncate(room);
            }
            kept.extend_from_slice(&data);
            if discarded > DISCARDED {
                break;
            }
        }
        Ok(kept.freeze())
    }
}

/// An answer's body, or the half of it after which the connection breaks.
pub(super) struct Payload {
    bytes: Bytes,
    announced: u64,
    cut: Option<AbortHandle>,
}

impl Payload {
    fn whole(bytes: Bytes) -> Self {
        Self {
            announced: bytes.len() as u64,
            bytes,
            cut: None,
        }
    }

    fn cut(mut bytes: Bytes, cut: AbortHandle) -> Self {
        let announced = bytes.len() as u64;
        bytes.truncate(bytes.len() / 2);
        Self {
            bytes,
            announced,
            cut: Some(cut),
        }
    }
}

impl Body for Payload {
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
        match &self.cut {
            None => Poll::Ready(None),
            // What comes next is hyper's flush, where the socket breaks off.
            Some(cut) => {
                cut.now();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && (self.cut.is_none() || self.announced == 0)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.cut {
            None => SizeHint::with_exact(self.bytes.len() as u64),
            Some(_) => SizeHint::with_exact(self.announced),
        }
    }
}
