//! Statuses: of jobs, top-ups, runs, queues and webhook deliveries.

use crate::open_enum::open_enum;

open_enum! {
    /// Where a job is in its life.
    pub enum JobStatus {
        /// Accepted, not started.
        Queued = "queued",
        /// Being worked on.
        Processing = "processing",
        /// Ended well; the result has artifacts.
        Completed = "completed",
        /// Ended with an error; the charge is refunded.
        Failed = "failed",
        /// Canceled before generation started; the charge is refunded.
        Canceled = "canceled",
    }
}

impl JobStatus {
    /// Whether a job in this status will never change again.
    ///
    /// A status that this build does not know is not terminal; the status payload's own
    /// `terminal` overrules this.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

open_enum! {
    /// What became of a top-up.
    pub enum TopUpStatus {
        /// The checkout is open.
        Pending = "pending",
        /// Paid; the dollars are in the balance.
        Paid = "paid",
        /// The payment failed; nothing was charged.
        Failed = "failed",
        /// The checkout was closed unpaid; a new top-up needs a new idempotency key.
        Expired = "expired",
    }
}

impl TopUpStatus {
    /// Whether the top-up will never change again.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Paid | Self::Failed | Self::Expired)
    }
}

open_enum! {
    /// Where a run of an Action, a Format or an Agent Completion is in its life.
    ///
    /// `completed`, `failed` and `skipped` are named by the specification; the others are assumed.
    pub enum RunStatus {
        /// Accepted, not started.
        Queued = "queued",
        /// At work.
        Running = "running",
        /// Ended well.
        Completed = "completed",
        /// Ended with an error.
        Failed = "failed",
        /// Not run; it costs nothing.
        Skipped = "skipped",
        /// Canceled.
        Canceled = "canceled",
    }
}

impl RunStatus {
    /// Whether a run in this status will never change again.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Skipped | Self::Canceled
        )
    }
}

open_enum! {
    /// Where a bulk queue is. The specification shows no values: these are assumed.
    pub enum QueueStatus {
        /// Items are waiting or at work.
        Running = "running",
        /// Every item has ended, in whatever way.
        Completed = "completed",
    }
}

open_enum! {
    /// What became of a webhook delivery. It never changes the status of its job or run.
    pub enum DeliveryStatus {
        /// The first attempt is to come. Assumed.
        Pending = "pending",
        /// The receiver has it. Assumed.
        Delivered = "delivered",
        /// An attempt failed; another follows.
        Retrying = "retrying",
        /// Given up.
        Failed = "failed",
        /// Given up after the last attempt.
        Exhausted = "exhausted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_status_survives_a_round_trip_and_is_not_terminal() {
        let status: JobStatus = serde_json::from_str("\"archived\"").unwrap();
        assert_eq!(status, JobStatus::Other("archived".into()));
        assert!(!status.is_terminal());
        assert_eq!(serde_json::to_string(&status).unwrap(), "\"archived\"");
    }

    #[test]
    fn an_escaped_known_value_is_known() {
        let status: JobStatus = serde_json::from_str("\"que\\u0075ed\"").unwrap();
        assert_eq!(status, JobStatus::Queued);
    }
}
