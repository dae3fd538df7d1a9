//! Statuses of jobs, top-ups, runs, queues and webhook deliveries.

use crate::open_enum::open_enum;

open_enum! {
    /// The status of a job.
    pub enum JobStatus {
        /// Accepted, but not started.
        Queued = "queued",
        /// Being processed.
        Processing = "processing",
        /// Succeeded; the result has artifacts.
        Completed = "completed",
        /// Failed; the charge is refunded.
        Failed = "failed",
        /// Canceled before generation started; the charge is refunded.
        Canceled = "canceled",
    }
}

impl JobStatus {
    /// Returns whether the status is final.
    ///
    /// Unknown statuses are not. The `terminal` field of a status payload takes precedence.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

open_enum! {
    /// The status of a top-up.
    pub enum TopUpStatus {
        /// The checkout is open.
        Pending = "pending",
        /// Paid; the amount was added to the balance.
        Paid = "paid",
        /// The payment failed; nothing was charged.
        Failed = "failed",
        /// The checkout expired unpaid; a new top-up needs a new idempotency key.
        Expired = "expired",
    }
}

impl TopUpStatus {
    /// Returns whether the status is final.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Paid | Self::Failed | Self::Expired)
    }
}

open_enum! {
    /// The status of a run of an Action, a Format or an Agent Completion.
    ///
    /// `completed`, `failed` and `skipped` are named by the specification; the others are assumed.
    pub enum RunStatus {
        /// Accepted, but not started.
        Queued = "queued",
        /// Running.
        Running = "running",
        /// Succeeded.
        Completed = "completed",
        /// Failed.
        Failed = "failed",
        /// Skipped, at no charge.
        Skipped = "skipped",
        /// Canceled.
        Canceled = "canceled",
    }
}

impl RunStatus {
    /// Returns whether the status is final.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Skipped | Self::Canceled)
    }
}

open_enum! {
    /// The status of a bulk queue. The specification shows no values: these are assumed.
    pub enum QueueStatus {
        /// Some items have not ended.
        Running = "running",
        /// All items have ended, whether they succeeded or not.
        Completed = "completed",
    }
}

open_enum! {
    /// The status of a webhook delivery, which does not affect the status of its job or run.
    pub enum DeliveryStatus {
        /// Not attempted yet. Assumed.
        Pending = "pending",
        /// Accepted by the receiver. Assumed.
        Delivered = "delivered",
        /// An attempt failed; another one follows.
        Retrying = "retrying",
        /// Failed without further attempts.
        Failed = "failed",
        /// Failed after the last attempt.
        Exhausted = "exhausted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_status_round_trips_and_is_not_terminal() {
        let status: JobStatus = serde_json::from_str("\"archived\"").unwrap();
        assert_eq!(status, JobStatus::Other("archived".into()));
        assert!(!status.is_terminal());
        assert_eq!(serde_json::to_string(&status).unwrap(), "\"archived\"");
    }

    #[test]
    fn known_value_with_an_escape_is_recognized() {
        let status: JobStatus = serde_json::from_str("\"que\\u0075ed\"").unwrap();
        assert_eq!(status, JobStatus::Queued);
    }
}
