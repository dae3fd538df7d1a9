//! The socket of a connection, with timeouts and the ability to abort the connection.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::Timeouts;

pub(super) struct Socket {
    inner: TokioIo<TcpStream>,
    abort: AbortHandle,
    /// Whether a request is handled, so that what is read does not begin another one.
    in_request: Arc<AtomicBool>,
    timeouts: Timeouts,
    stalled: Option<Pin<Box<Sleep>>>,
    /// Ends when the head of a request that has begun must be complete.
    head_deadline: Option<Pin<Box<Sleep>>>,
    /// The rest of the response to a request that could not be parsed.
    error: Bytes,
}

/// Aborts a connection after all written bytes have been passed to the system.
#[derive(Clone, Default)]
pub(super) struct AbortHandle(Arc<AtomicBool>);

impl AbortHandle {
    pub(super) fn abort(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_aborted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Socket {
    pub(super) fn new(
        stream: TcpStream,
        abort: AbortHandle,
        in_request: Arc<AtomicBool>,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            inner: TokioIo::new(stream),
            abort,
            in_request,
            timeouts,
            stalled: None,
            head_deadline: None,
            error: Bytes::new(),
        }
    }

    /// Writes bytes, and the response to a request that could not be parsed as JSON.
    fn write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.error.is_empty() {
            match json_error(bytes) {
                Some(error) => self.error = error,
                None => return Pin::new(&mut self.inner).poll_write(cx, bytes),
            }
        }
        while !self.error.is_empty() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.error))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.error.advance(written);
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn with_write_timeout<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let write_timeout = self.timeouts.write;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_timeout)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if self.in_request.load(Ordering::Acquire) {
            self.head_deadline = None;
        } else if read.is_ready() {
            let limit = self.timeouts.head;
            self.head_deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        } else if let Some(deadline) = &mut self.head_deadline {
            ready!(deadline.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.write(cx, bytes);
        self.with_write_timeout(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.first().map_or(&[][..], |slice| slice);
        let written = match self.error.is_empty() && json_error(first).is_none() {
            true => Pin::new(&mut self.inner).poll_write_vectored(cx, slices),
            false => self.write(cx, first),
        };
        self.with_write_timeout(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    /// hyper flushes when its own buffer is empty, so an abort here loses no written bytes.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.abort.is_aborted() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Returns a response with a JSON body instead of the empty one that is sent to a request that could
/// not be parsed; `None` for any other bytes.
fn json_error(bytes: &[u8]) -> Option<Bytes> {
    let rest = bytes.strip_prefix(b"HTTP/1.1 ")?;
    let (code, message) = match rest.get(..3)? {
        b"400" => ("invalid_request", "the request is not valid HTTP"),
        b"414" => ("uri_too_long", "the URL of the request is too long"),
        b"431" => ("headers_too_large", "the headers of the request are too large"),
        _ => return None,
    };
    let head = std::str::from_utf8(bytes).ok()?.to_ascii_lowercase();
    // Responses to requests that could be parsed have a body or a type.
    if !head.contains("content-length: 0\r\n") || head.contains("content-type:") {
        return None;
    }
    let status = head.lines().next()?.split_once(' ')?.1.to_uppercase();
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    Some(response.into())
}
