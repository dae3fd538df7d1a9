//! Waiting for a result.

use std::future::IntoFuture;
use std::time::Duration;

use super::{Updates, WebhookNotifier, wait_options};
use crate::call::CallFuture;
use crate::error::Result;
use crate::handle::Resource;

/// A wait for the result of a job, a run, a bulk queue or a top-up.
///
/// Returned by [`Handle::wait`](crate::handle::Handle::wait). It begins when it is awaited.
///
/// After the [computer slept](crate::ClientBuilder#sleep-and-network-changes), it polls at once.
#[must_use = "a wait does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Wait<R: Resource> {
    // Boxed, as a task that awaits it would else keep it twice: here and in the future.
    updates: Box<Updates<R>>,
}

wait_options!(Wait, updates.options);

impl<R: Resource> Wait<R> {
    pub(crate) fn new(updates: Updates<R>) -> Self {
        let updates = Box::new(updates);
        Self { updates }
    }
}

impl<R: Resource> IntoFuture for Wait<R> {
    type Output = Result<R::Output>;
    type IntoFuture = CallFuture<R::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let mut updates = self.updates;
        CallFuture::new(async move {
            while let Some(update) = updates.next().await {
                update?;
            }
            // Boxed, as it is larger than what a wait keeps while it sleeps.
            Box::pin(updates.result()).await
        })
    }
}
