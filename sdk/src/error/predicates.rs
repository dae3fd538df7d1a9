//! Questions that a caller can ask an error.

use crate::contract::{ErrorCategory, ErrorCode, JobStatus, RetryClass, RunStatus};
use crate::types::ErrorBody;

use super::failure_class::{self, FailureClass};
use super::{Error, Kind};

impl Error {
    /// Returns whether the configuration of the client is not valid, such as its URL, key or TLS
    /// certificates. Nothing was sent.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        match self.kind() {
            Kind::Configuration(_) => true,
            Kind::Transport(error) => error.is_setup(),
            _ => false,
        }
    }

    /// Returns whether the request is not valid. Nothing was sent.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self.kind(), Kind::Invalid(_) | Kind::Schema(_))
    }

    /// Returns whether the request may have reached the service.
    #[must_use]
    pub fn may_have_been_sent(&self) -> bool {
        match self.kind() {
            Kind::Configuration(_)
            | Kind::KeyProvider { .. }
            | Kind::Invalid(_)
            | Kind::Schema(_)
            | Kind::RateLimitExhausted { .. } => false,
            Kind::Transport(error) => error.may_have_been_sent(),
            Kind::Timeout { sent, .. } => *sent,
            _ => true,
        }
    }

    /// Returns whether it is unknown if a submit was carried out: it may have arrived, and no response
    /// of the service says what became of it.
    ///
    /// A read, and a write that can be repeated without harm, is never ambiguous.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        let is_repeatable = matches!(
            self.inner.retry_class,
            Some(RetryClass::Safe | RetryClass::Idempotent)
        );
        !is_repeatable && self.failure_class() == FailureClass::Ambiguous
    }

    /// Returns whether the same call can succeed later, and making it again cannot pay twice.
    ///
    /// A submit is retryable only if the failure proves that nothing ran. The error of a wait is not
    /// retryable: what was waited for is paid for, so wait for it again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        if self.inner.ended_wait {
            return false;
        }
        match self.kind() {
            Kind::JobEnded { body, .. } => body
                .as_ref()
                .and_then(|body| body.retryable)
                .unwrap_or(false),
            Kind::RunEnded { receipt } => receipt.error.as_ref().is_some_and(run_is_retryable),
            Kind::Api { body, .. } if body.retryable == Some(false) => false,
            // The service says that nothing ran. Whether a call is retried automatically is another
            // question: a job that is still running is polled.
            Kind::Api { body, .. }
                if body.retryable == Some(true)
                    && self.inner.retry_class != Some(RetryClass::Never) =>
            {
                true
            }
            _ => match (self.failure_class(), self.inner.retry_class) {
                (FailureClass::Ambiguous, None | Some(RetryClass::Key)) => false,
                (failure, class) => {
                    failure_class::allows_retry(class.unwrap_or(RetryClass::Unsent), failure)
                }
            },
        }
    }

    fn failure_class(&self) -> FailureClass {
        match self.kind() {
            Kind::Timeout { sent: true, .. } | Kind::Decode { .. } => FailureClass::Ambiguous,
            Kind::Timeout { .. } | Kind::RateLimitExhausted { .. } => FailureClass::NotSent,
            _ => failure_class::classify(self),
        }
    }

    /// Returns whether no response came: there was no connection, or it broke.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        match self.kind() {
            Kind::Transport(error) => !error.is_setup(),
            Kind::Timeout { last, .. } => last.as_ref().is_none_or(|last| last.is_unreachable()),
            _ => self.cause().is_some_and(Self::is_unreachable),
        }
    }

    /// Returns whether the response could not be decoded: it is not JSON, or JSON of another shape.
    #[must_use]
    pub fn is_decode(&self) -> bool {
        matches!(self.kind(), Kind::NotJson { .. } | Kind::Decode { .. })
    }

    /// Returns whether the service rejected the API key (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// Returns whether the API key lacks a permission (403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status() == Some(403)
    }

    /// Returns whether what was asked for does not exist (404).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Returns whether the balance or the wallet does not cover the price.
    #[must_use]
    pub fn is_insufficient_funds(&self) -> bool {
        self.status() == Some(402) || self.category() == Some(ErrorCategory::Funds)
    }

    /// Returns whether there were too many requests, or too many jobs at once.
    #[must_use]
    pub fn is_rate_limited(&self) -> bool {
        let own = matches!(self.kind(), Kind::RateLimitExhausted { .. });
        own || self.status() == Some(429) || self.category() == Some(ErrorCategory::RateLimit)
    }

    /// Returns whether the service, or a gateway in front of it, is overloaded (502, 503, 504).
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        matches!(self.status(), Some(502..=504))
    }

    /// Returns whether the idempotency key was used for another request before.
    #[must_use]
    pub fn is_idempotency_conflict(&self) -> bool {
        self.code() == Some(&ErrorCode::IdempotencyConflict)
    }

    /// Returns whether the job failed, as the service says. The charge is refunded.
    #[must_use]
    pub fn is_job_failed(&self) -> bool {
        matches!(self.kind(), Kind::JobEnded { status, .. } if *status != JobStatus::Canceled)
    }

    /// Returns whether the job was canceled. The charge is refunded.
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

    /// Returns whether the run failed.
    ///
    /// What it did before is billed, and its files are in [`run_receipt`](Self::run_receipt). Start it
    /// again with a new key, or continue it with `previous_run_id`.
    #[must_use]
    pub fn is_run_failed(&self) -> bool {
        let ended = self.run_ended();
        ended.is_some() && !self.is_run_canceled() && !self.is_run_skipped()
    }

    /// Returns whether the run was canceled. What it did before is billed.
    #[must_use]
    pub fn is_run_canceled(&self) -> bool {
        self.run_ended() == Some(&RunStatus::Canceled)
    }

    /// Returns whether the run was skipped. It costs nothing.
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

    /// Returns whether the time limit of a wait passed. The job goes on, and can be waited for again.
    #[must_use]
    pub fn is_wait_timeout(&self) -> bool {
        matches!(self.kind(), Kind::WaitTimeout { .. })
    }

    /// Returns whether a wait ended because the status could not be read. That says nothing about the
    /// job.
    #[must_use]
    pub fn is_poll_failure(&self) -> bool {
        matches!(self.kind(), Kind::PollFailed { .. })
    }

    /// Returns whether the time limit of the call or of the download passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self.kind() {
            Kind::Timeout { .. } => true,
            Kind::Download {
                source: Some(source),
                ..
            } => source.is_timeout(),
            Kind::IncompleteDownload { errors, .. } => errors.iter().any(Self::is_timeout),
            _ => false,
        }
    }

    /// Returns whether files could not be downloaded or written. The result is still there, so
    /// download it again.
    ///
    /// [`downloaded_files`](Self::downloaded_files) has the other files of the same result.
    #[must_use]
    pub fn is_download(&self) -> bool {
        matches!(
            self.kind(),
            Kind::Download { .. }
                | Kind::IncompleteDownload { .. }
                | Kind::File { .. }
                | Kind::Write { .. }
        )
    }

    /// Returns the status of a top-up that ended without being paid.
    #[must_use]
    pub fn top_up_status(&self) -> Option<&str> {
        match self.kind() {
            Kind::TopUpEnded { status } => Some(status),
            _ => None,
        }
    }

    fn category(&self) -> Option<ErrorCategory> {
        Some(self.code()?.defaults()?.category)
    }
}

/// Whether a new run can succeed: as the error says, or its details, or the documentation.
fn run_is_retryable(error: &ErrorBody) -> bool {
    error
        .retryable
        .or_else(|| error.details().retryable)
        .unwrap_or_else(|| {
            error
                .code
                .defaults()
                .is_some_and(|defaults| defaults.retryable)
        })
}

#[cfg(test)]
mod tests {
    use super::super::tests::api;
    use super::*;
    use crate::transport::TransportError;

    #[test]
    fn the_service_decides_what_is_retryable_then_the_code_then_the_status() {
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
    fn ambiguity_depends_on_the_failure_and_on_the_operation() {
        use crate::call::Request;
        use crate::contract::Operation;

        let reset = || Error::from(TransportError::maybe_sent("reset"));
        let refused = || Error::from(TransportError::not_sent("refused"));
        let no_tls = Error::from(TransportError::setup("no certificates"));
        assert!(no_tls.is_configuration() && !no_tls.is_unreachable() && !no_tls.is_retryable());
        let server_error = || api(500, serde_json::json!({"code": "x"}));
        let gateway_timeout = || api(504, serde_json::json!({"code": "x"}));
        let busy = || api(503, serde_json::json!({"code": "database_busy"}));
        let page = || {
            Error::new(Kind::NoEnvelope {
                status: 502,
                snippet: "<html>".into(),
                retry_after: None,
            })
        };
        // (operation, error, is ambiguous, is retryable)
        let (submit, key) = (Operation::Music1Generate, Operation::VideoGenerate);
        let (read, cancel) = (Operation::Me, Operation::OpenEstimate);
        let rows = [
            (submit, reset(), true, false),
            (submit, server_error(), true, false),
            (submit, gateway_timeout(), true, false),
            (submit, page(), true, false),
            (submit, refused(), false, true),
            (submit, busy(), false, true),
            (key, reset(), true, false),
            (key, gateway_timeout(), true, false),
            (key, busy(), false, true),
            (read, reset(), false, true),
            (read, server_error(), false, true),
            (cancel, reset(), false, true),
            (Operation::SigningSecretRotate, busy(), false, false),
            (Operation::SigningSecretRotate, reset(), true, false),
        ];
        for (operation, error, is_ambiguous, is_retryable) in rows {
            let error = Request::new::<&str>(operation, &[])
                .unwrap()
                .annotate(error);
            assert_eq!(error.is_ambiguous(), is_ambiguous, "{operation}: {error}");
            assert_eq!(error.is_retryable(), is_retryable, "{operation}: {error}");
        }
        let ended_wait = busy().into_poll_failure().with_ended_wait();
        assert!(!ended_wait.is_retryable(), "the job is paid for");
    }

    #[test]
    fn the_error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
