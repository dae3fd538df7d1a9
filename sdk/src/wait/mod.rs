//! Waiting for a job, a run or a bulk queue: when to ask, what to make of the answers, and when to stop.
//!
//! Three outcomes are never mixed up: the job ended without a result, we could not ask, we gave up
//! waiting. A poll is one attempt; what fails is asked again at the next poll, so that no retry
//! loop runs inside another.

mod handle;
mod inbox;
mod schedule;
mod trouble;
mod updates;
pub(crate) mod watched;

use std::time::Duration;

pub use self::handle::JobHandle;
pub use self::inbox::Inbox;
pub(crate) use self::trouble::Trouble;
pub use self::updates::{Update, Updates};
pub use self::watched::{Standing, Watched};
use crate::contract::limits::SUGGESTED_VIDEO_TIMEOUT;

/// How long to wait.
///
/// ```
/// use std::time::Duration;
/// use svc_sdk::WaitOptions;
///
/// let options = WaitOptions::default().deadline(Duration::from_secs(300));
/// assert_eq!(options.deadline, Some(Duration::from_secs(300)));
/// assert_eq!(WaitOptions::default().no_deadline().deadline, None);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaitOptions {
    /// When to give up; the job goes on. Default: 20 minutes, which the service suggests for a
    /// video.
    pub deadline: Option<Duration>,
    /// For how long polls may fail one after the other. Default: 5 minutes.
    pub patience: Duration,
    /// Where webhook events come in: whichever is first, event or poll, ends the wait.
    pub events: Option<Inbox>,
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            deadline: Some(SUGGESTED_VIDEO_TIMEOUT),
            patience: Duration::from_secs(300),
            events: None,
        }
    }
}

impl WaitOptions {
    /// Gives up after that time.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Never gives up.
    #[must_use]
    pub fn no_deadline(mut self) -> Self {
        self.deadline = None;
        self
    }

    /// Bears that much time in which every poll fails.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Listens for the end in that inbox too.
    #[must_use]
    pub fn events(mut self, inbox: &Inbox) -> Self {
        self.events = Some(inbox.clone());
        self
    }
}

#[cfg(test)]
mod tests;
