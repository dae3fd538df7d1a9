//! Waiting for a job, a run, a bulk queue or a top-up.
//!
//! A poll is a single attempt: the next poll is its retry, so that no retry loop runs inside another.
//! Three outcomes are never mixed up: the resource ended without a result, its status could not be
//! read, and the time limit of the wait passed.

mod failures;
mod job_polls;
mod result_retry;
mod schedule;
mod updates;
mod wait;
mod webhook_notifier;

use std::fmt;
use std::time::Duration;

pub(crate) use self::job_polls::{JobPolls, poll as poll_job};
pub(crate) use self::result_retry::{REPLICA_POLL_INTERVAL, ResultRetry};
pub use self::updates::{Update, Updates};
pub use self::wait::Wait;
pub use self::webhook_notifier::WebhookNotifier;
use crate::sealed::Sealed;

const DEFAULT_POLL_FAILURE_TIMEOUT: Duration = Duration::from_secs(300);

/// The response to a poll.
///
/// This trait is sealed.
pub trait PollStatus: Sealed + Clone + fmt::Debug + Send + Sync + Unpin + 'static {
    /// Returns the status before the first poll, if no receipt has one.
    #[doc(hidden)]
    fn unknown() -> Self;

    /// Returns whether there is nothing left to wait for.
    fn is_finished(&self) -> bool;

    /// Returns how long the service asks to wait before the next poll.
    fn poll_after(&self) -> Option<Duration>;
}

/// What a poll says of a resource.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Polled<S, O> {
    pub(crate) status: S,
    /// The output of the wait, if the response contained it.
    pub(crate) output: Option<Box<O>>,
    /// Whether the status comes from a list, which has no poll hints.
    pub(crate) is_listed: bool,
}

impl<S, O> Polled<S, O> {
    pub(crate) fn new(status: S) -> Self {
        Self { status, output: None, is_listed: false }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct WaitOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) poll_failure_timeout: Duration,
    pub(crate) notifier: Option<WebhookNotifier>,
}

impl WaitOptions {
    fn new(timeout: Option<Duration>) -> Self {
        Self { timeout, poll_failure_timeout: DEFAULT_POLL_FAILURE_TIMEOUT, notifier: None }
    }
}

/// The setters that [`Wait`] and [`Updates`] share.
macro_rules! wait_options {
    ($type:ident, $($field:ident).+) => {
        impl<R: Resource> $type<R> {
            /// Sets the time limit of the wait. The resource itself goes on after it.
            ///
            /// The default is 20 minutes, and none for bulk queues. It begins with the first poll of the
            /// future or stream, and does not count the time that the
            /// [computer sleeps](crate::ClientBuilder#sleep-and-network-changes).
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.$($field).+.timeout = Some(timeout);
                self
            }

            /// Removes the time limit of the wait.
            pub fn no_timeout(mut self) -> Self {
                self.$($field).+.timeout = None;
                self
            }

            /// Sets for how long every poll may fail before the wait ends. The default is 5 minutes.
            pub fn poll_failure_timeout(mut self, timeout: Duration) -> Self {
                self.$($field).+.poll_failure_timeout = timeout;
                self
            }

            /// Polls as soon as a webhook event says that the resource has ended.
            pub fn webhook_notifier(mut self, notifier: &WebhookNotifier) -> Self {
                self.$($field).+.notifier = Some(notifier.clone());
                self
            }
        }
    };
}
use wait_options;

#[cfg(test)]
mod tests;
