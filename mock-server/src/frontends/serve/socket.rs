//! The socket of a connection, with timeouts and the ability to abort the connection.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::StatusCode;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::Timeouts;
use super::connections::Activity;
use super::own_replies::OwnReplies;
use crate::clock::runtime_now;

pub(super) struct Socket {
    inner: TokioIo<TcpStream>,
    abort: AbortHandle,
    /// Says whether a request is handled: then what is read does not begin another one.
    activity: Arc<Activity>,
    timeouts: Timeouts,
    stalled: Option<Pin<Box<Sleep>>>,
    /// When the head of a request that has begun must be complete.
    head_deadline: Option<Instant>,
    /// Ends no later than the time for what the client is to send next. It is rarely set, as that takes
    /// longer than a short request.
    timer: Pin<Box<Sleep>>,
    own_replies: OwnReplies,
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
        activity: Arc<Activity>,
        timeouts: Timeouts,
        own_replies: OwnReplies,
    ) -> Self {
        Self {
            inner: TokioIo::new(stream),
            abort,
            activity,
            timeouts,
            stalled: None,
            head_deadline: None,
            timer: Box::pin(sleep(timeouts.idle)),
            own_replies,
            error: Bytes::new(),
        }
    }

    /// Writes bytes, and the response to a request that could not be parsed as JSON.
    fn write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.error.is_empty() {
            match parse_error(bytes) {
                Some(error) => self.error = self.json_error(error),
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

    /// Returns the response with a JSON body to a request that could not be parsed.
    fn json_error(&self, (status, code, message): ParseError) -> Bytes {
        let response = self.own_replies.unreadable(status, code.into(), message);
        let mut bytes = format!("HTTP/1.1 {status}\r\n").into_bytes();
        for (name, value) in response.headers() {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        let body = response.body();
        let end = format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        bytes.extend([end.as_bytes(), body].concat());
        bytes.into()
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
        let Timeouts { idle, head, .. } = self.timeouts;
        let deadline = if self.activity.is_in_request() {
            self.head_deadline = None;
            None
        } else if read.is_ready() || self.head_deadline.is_some() {
            Some(*self.head_deadline.get_or_insert_with(|| runtime_now() + head))
        } else {
            Some(self.activity.idle_since() + idle)
        };
        if read.is_ready() {
            return read;
        }
        if let Some(deadline) = deadline.filter(|deadline| self.timer.deadline() > *deadline) {
            self.timer.as_mut().reset(deadline);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = runtime_now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            // The timer may end while a request is handled. It is set again, so that the connection is
            // read once more when it is idle.
            self.timer.as_mut().reset(deadline.unwrap_or(now + idle));
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
        let written = match self.error.is_empty() && parse_error(first).is_none() {
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

/// The status, code and message of the error of a request that could not be parsed.
type ParseError = (StatusCode, &'static str, &'static str);

/// Returns the error if the bytes are hyper's empty response to a request that could not be parsed.
fn parse_error(bytes: &[u8]) -> Option<ParseError> {
    let rest = bytes.strip_prefix(b"HTTP/1.1 ")?;
    let error = match rest.get(..3)? {
        b"400" => (StatusCode::BAD_REQUEST, "invalid_request", "the request is not valid HTTP"),
        b"414" => (StatusCode::URI_TOO_LONG, "uri_too_long", "the URL of the request is too long"),
        b"431" => (
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "headers_too_large",
            "the headers of the request are too large",
        ),
        _ => return None,
    };
    let head = std::str::from_utf8(bytes).ok()?.to_ascii_lowercase();
    // Responses to requests that could be parsed have a body or a type.
    let is_empty = head.contains("content-length: 0\r\n") && !head.contains("content-type:");
    is_empty.then_some(error)
}
