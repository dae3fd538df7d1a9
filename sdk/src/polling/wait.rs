//! Waiting for a result.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::{Updates, WebhookNotifier, wait_options};
use crate::error::Result;
use crate::handle::Resource;

/// A wait for the result of a job, a run, a bulk queue or a top-up.
///
/// Returned by [`Handle::wait`](crate::handle::Handle::wait). It begins when it is first polled; options
/// that are set later have no effect.
///
/// After the [computer slept](crate::ClientBuilder#sleep-and-network-changes), it polls at once.
#[must_use = "a wait does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Wait<R: Resource> {
    // Boxed, as what holds it would else be large.
    updates: Box<Updates<R>>,
}

wait_options!(Wait, updates.options);

impl<R: Resource> Wait<R> {
    pub(crate) fn new(updates: Updates<R>) -> Self {
        let updates = Box::new(updates);
        Self { updates }
    }
}

impl<R: Resource> Future for Wait<R> {
    type Output = Result<R::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(update) = ready!(self.updates.poll_update(context)) {
            update?;
        }
        self.updates.poll_result(context)
    }
}
