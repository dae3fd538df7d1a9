//! A pause in the middle of a response body, for the fault `stall`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Sleep, sleep};

/// The second half of a body, which is sent after a pause.
pub(super) struct Stall {
    /// The pause, which begins when the first half has been sent.
    pause: Option<Pin<Box<Sleep>>>,
    duration: Duration,
    rest: Bytes,
}

impl Stall {
    /// Removes the second half from a body, to send it after `duration`.
    pub(super) fn new(bytes: &mut Bytes, duration: Duration) -> Self {
        Self { pause: None, duration, rest: bytes.split_off(bytes.len() / 2) }
    }

    pub(super) fn rest_len(&self) -> usize {
        self.rest.len()
    }

    /// Waits for the end of the pause, then takes the second half.
    pub(super) fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        let duration = self.duration;
        let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(duration)));
        ready!(pause.as_mut().poll(context));
        Poll::Ready(std::mem::take(&mut self.rest))
    }
}
