//! What a caller can ask an error.

use crate::contract::{ErrorCategory, ErrorCode, JobStatus, RunStatus};
use crate::types::ErrorBody;

use super::{Error, Kind};

impl Error {
    /// The client is set up wrongly: a URL, a key, the TLS certificates. Nothing was sent.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        matches!(self.kind(), Kind::Configuration(_))
    }

    /// The request can never be right, which was found before it was sent.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self.kind(), Kind::Invalid(_) | Kind::Schema(_))
    }

    /// Whether the request may have reached the service.
    #[must_use]
    pub fn may_have_been_sent(&self) -> bool {
        match self.kind() {
            Kind::Configuration(_)
            | Kind::Invalid(_)
            | Kind::Schema(_)
            | Kind::BudgetSpent { .. } => false,
            Kind::Transport(error) => error.may_have_been_sent(),
            Kind::Deadline { sent, .. } => *sent,
            _ => true,
        }
    }

    /// Whether it is unknown if the request was carried out: it may have arrived, and no answer of
    /// the service says what became of it.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        match self.kind() {
            Kind::Transport(error) => error.may_have_been_sent(),
            Kind::NoEnvelope { status, .. } => *status >= 500,
            Kind::Unreadable { .. } | Kind::Decode { .. } => true,
            Kind::Deadline { sent, .. } => *sent,
            _ => false,
        }
    }

    /// Whether sending the same again can succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self.kind() {
            Kind::Transport(_)
            | Kind::Unreadable { .. }
            | Kind::Deadline { .. }
            | Kind::BudgetSpent { .. } => true,
            Kind::NoEnvelope { status, .. } => *status == 429 || *status >= 500,
            Kind::Api { status, body, .. } => {
                body.retryable.unwrap_or_else(|| match body.code.entry() {
                    Some(entry) => entry.retryable,
                    None => matches!(status, 429 | 502 | 503),
                })
            }
            Kind::JobEnded { body, .. } => body
                .as_ref()
                .and_then(|body| body.retryable)
                .unwrap_or(false),
            Kind::RunEnded { receipt } => receipt.error.as_ref().is_some_and(run_is_retryable),
            Kind::PollUnreachable { source } => source.is_retryable(),
            _ => false,
        }
    }

    /// No answer came at all: no connection, or it broke.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        match self.kind() {
            Kind::Transport(_) => true,
            Kind::Deadline { last, .. } => last.as_ref().is_none_or(|last| last.is_unreachable()),
            _ => self.cause().is_some_and(Self::is_unreachable),
        }
    }

    /// The answer could not be read: no JSON, or JSON of another shape.
    #[must_use]
    pub fn is_decode(&self) -> bool {
        matches!(self.kind(), Kind::Unreadable { .. } | Kind::Decode { .. })
    }

    /// The service does not know the key (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// The key may not do this (403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status() == Some(403)
    }

    /// There is no such thing (404).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// The balance or the wallet cannot pay for it.
    #[must_use]
    pub fn is_insufficient_funds(&self) -> bool {
        self.status() == Some(402) || self.category() == Some(ErrorCategory::Funds)
    }

    /// Too many requests, or too many jobs at once.
    #[must_use]
    pub fn is_rate_limited(&self) -> bool {
        let own = matches!(self.kind(), Kind::BudgetSpent { .. });
        own || self.status() == Some(429) || self.category() == Some(ErrorCategory::RateLimit)
    }

    /// The service, or something before it, is overloaded (502, 503, 504).
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        matches!(self.status(), Some(502..=504))
    }

    /// The idempotency key was used for another request.
    #[must_use]
    pub fn is_idempotency_conflict(&self) -> bool {
        self.code() == Some(&ErrorCode::IdempotencyConflict)
    }

    /// The job failed: the service says so. The charge is refunded.
    #[must_use]
    pub fn is_job_failed(&self) -> bool {
        matches!(self.kind(), Kind::JobEnded { status, .. } if *status != JobStatus::Canceled)
    }

    /// The job was canceled. The charge is refunded.
    #[must_use]
    pub fn is_job_canceled(&self) -> bool {
        matches!(
            self.kind(),
            Kind::JobEnded {
                status: JobStatus::Canceled,
                ..
            }
        )
    }

    /// The run failed. What it did before that is billed, and its files are in
    /// [`run_receipt`](Self::run_receipt). Start it again with a new key, or continue it with
    /// `previous_run_id`.
    #[must_use]
    pub fn is_run_failed(&self) -> bool {
        let ended = self.run_ended();
        ended.is_some() && !self.is_run_canceled() && !self.is_run_skipped()
    }

    /// The run was canceled. What it did before that is billed.
    #[must_use]
    pub fn is_run_canceled(&self) -> bool {
        self.run_ended() == Some(&RunStatus::Canceled)
    }

    /// The run was skipped: it costs nothing.
    #[must_use]
    pub fn is_run_skipped(&self) -> bool {
        self.run_ended() == Some(&RunStatus::Skipped)
    }

    fn run_ended(&self) -> Option<&RunStatus> {
        match self.kind() {
            Kind::RunEnded { receipt } => Some(&receipt.status),
            _ => None,
        }
    }

    /// The wait was given up at its deadline: the job goes on, and can be waited for again.
    #[must_use]
    pub fn is_wait_deadline(&self) -> bool {
        matches!(self.kind(), Kind::WaitDeadline { .. })
    }

    /// How the job stands could not be read: that says nothing about the job.
    #[must_use]
    pub fn is_poll_unreachable(&self) -> bool {
        matches!(self.kind(), Kind::PollUnreachable { .. })
    }

    /// The call's deadline passed.
    #[must_use]
    pub fn is_deadline(&self) -> bool {
        matches!(self.kind(), Kind::Deadline { .. })
    }

    /// A file of a result could not be fetched or written. The result is there: download again.
    #[must_use]
    pub fn is_download(&self) -> bool {
        matches!(self.kind(), Kind::Download { .. } | Kind::File { .. })
    }

    /// A top-up ended unpaid, with this status.
    #[must_use]
    pub fn top_up_status(&self) -> Option<&str> {
        match self.kind() {
            Kind::TopUpEnded { status } => Some(status),
            _ => None,
        }
    }

    fn category(&self) -> Option<ErrorCategory> {
        Some(self.code()?.entry()?.category)
    }
}

/// Whether a new run can succeed: the error's word, then that of its details, then the catalogue's.
fn run_is_retryable(error: &ErrorBody) -> bool {
    error
        .retryable
        .or(error.details().retryable)
        .unwrap_or_else(|| error.code.entry().is_some_and(|entry| entry.retryable))
}

#[cfg(test)]
mod tests {
    use super::super::tests::api;
    use super::*;
    use crate::transport::TransportError;

    #[test]
    fn retryability_is_the_services_word_then_the_catalogues_then_the_statuss() {
        let rows = [
            (
                503,
                serde_json::json!({"code": "database_busy", "retryable": false}),
                false,
            ),
            (
                400,
                serde_json::json!({"code": "brand_new", "retryable": true}),
                true,
            ),
            (503, serde_json::json!({"code": "database_busy"}), true),
            (
                503,
                serde_json::json!({"code": "stripe_not_configured"}),
                false,
            ),
            (503, serde_json::json!({"code": "brand_new"}), true),
            (500, serde_json::json!({"code": "brand_new"}), false),
        ];
        for (status, json, retryable) in rows {
            assert_eq!(
                api(status, json.clone()).is_retryable(),
                retryable,
                "{status} {json}"
            );
        }
    }

    #[test]
    fn what_the_service_refused_is_not_ambiguous_and_what_it_never_answered_is() {
        assert!(!api(500, serde_json::json!({"code": "x"})).is_ambiguous());
        assert!(Error::from(TransportError::perhaps_sent("reset")).is_ambiguous());
        assert!(!Error::from(TransportError::not_sent("refused")).is_ambiguous());
        let html = Kind::NoEnvelope {
            status: 502,
            snippet: "<html>".into(),
            retry_after: None,
        };
        assert!(Error::new(html).is_ambiguous());
    }

    #[test]
    fn the_error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
