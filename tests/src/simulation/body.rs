//! Response bodies that may end too early.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use svc_sdk::transport::TransportError;

/// How many bytes arrive at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// A body of which a part may be missing.
pub(super) struct CutBody {
    bytes: Bytes,
    is_cut: bool,
}

impl CutBody {
    /// Creates a body, or the first half of one after which the connection breaks.
    pub(super) fn new(mut bytes: Bytes, is_cut: bool) -> Self {
        if is_cut {
            bytes.truncate(bytes.len() / 2);
        }
        Self { bytes, is_cut }
    }
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let length = self.bytes.len().min(CHUNK_BYTES);
        Poll::Ready(match length {
            0 if self.is_cut => {
                self.is_cut = false;
                Some(Err(TransportError::maybe_sent("connection reset")))
            }
            0 => None,
            _ => Some(Ok(Frame::data(self.bytes.split_to(length)))),
        })
    }
}
