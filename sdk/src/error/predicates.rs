//! Predicates of errors, such as whether a retry can succeed.

use crate::contract::{ErrorCategory, RetryClass};
use crate::journal::error::JournalError;
use crate::types::ErrorBody;

use super::failure_class::{self, FailureClass};
use super::{Error, Kind};

impl Error {
    /// Returns whether the request may have reached the service.
    #[must_use]
    pub fn may_have_been_sent(&self) -> bool {
        match self.variant() {
            Kind::Configuration(_)
            | Kind::KeyProvider { .. }
            | Kind::Invalid(_)
            | Kind::Schema(_)
            | Kind::RateLimitExhausted { .. } => false,
            Kind::Journal(error) => matches!(error, JournalError::Undecided(_)),
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
        let is_repeatable =
            matches!(self.inner.retry_class, Some(RetryClass::Safe | RetryClass::Idempotent));
        let is_unknown =
            matches!(self.failure_class(), FailureClass::Ambiguous | FailureClass::Unanswered);
        !is_repeatable && (is_unknown || self.inner.has_unsettled_attempt)
    }

    /// Returns whether a new attempt can succeed.
    ///
    /// A submit is retryable only if the failure proves that nothing ran, so that submitting it again
    /// cannot pay twice. If a wait failed, this is `false`: wait again, as what was waited for is paid
    /// for. For a job or run that failed it is what the service says of a new submit, which is charged
    /// anew; what a failed run spent is charged as well.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        if self.inner.ended_wait {
            return false;
        }
        match self.variant() {
            Kind::JobEnded { body, .. } => {
                body.as_ref().and_then(|body| body.retryable).unwrap_or(false)
            }
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
        match self.variant() {
            Kind::Timeout { sent: true, .. } | Kind::Decode { .. } => FailureClass::Ambiguous,
            Kind::Timeout { .. } | Kind::RateLimitExhausted { .. } => FailureClass::NotSent,
            _ => failure_class::classify(self),
        }
    }

    /// Returns whether no response came: there was no connection, or it broke.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        match self.variant() {
            Kind::Transport(error) => !error.is_setup(),
            Kind::Timeout { last, .. } => last.as_ref().is_none_or(|last| last.is_unreachable()),
            _ => self.cause().is_some_and(Self::is_unreachable),
        }
    }

    /// Returns whether a web page, such as that of a proxy, came in place of a response of the API.
    #[must_use]
    pub fn is_web_page(&self) -> bool {
        self.snippet().is_some_and(super::display::is_web_page)
    }

    /// Returns whether the service rejected the API key (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
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
        let own = matches!(self.variant(), Kind::RateLimitExhausted { .. });
        own || self.status() == Some(429) || self.category() == Some(ErrorCategory::RateLimit)
    }

    /// Returns whether the time limit of a wait passed. The job goes on, and can be waited for again.
    #[must_use]
    pub fn is_wait_timeout(&self) -> bool {
        matches!(self.variant(), Kind::WaitTimeout { .. })
    }

    /// Returns whether the time limit of the call or of the download passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self.variant() {
            Kind::Timeout { .. } => true,
            Kind::Download { source: Some(source), .. } => source.is_timeout(),
            Kind::IncompleteDownload { errors, .. } => errors.iter().any(Self::is_timeout),
            _ => false,
        }
    }

    fn category(&self) -> Option<ErrorCategory> {
        Some(self.code()?.defaults()?.category)
    }
}

/// Returns whether a new run can succeed, according to the error, its details, or the
/// documentation.
fn run_is_retryable(error: &ErrorBody) -> bool {
    error
        .retryable
        .or_else(|| error.details().retryable)
        .unwrap_or_else(|| error.code.defaults().is_some_and(|defaults| defaults.retryable))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::ErrorKind;
    use super::super::tests::api;
    use super::*;
    use crate::transport::TransportError;

    #[test]
    fn the_service_decides_what_is_retryable_then_the_code_then_the_status() {
        let rows = [
            (503, serde_json::json!({"code": "database_busy", "retryable": false}), false),
            (400, serde_json::json!({"code": "brand_new", "retryable": true}), true),
            (503, serde_json::json!({"code": "database_busy"}), true),
            (503, serde_json::json!({"code": "stripe_not_configured"}), false),
            (503, serde_json::json!({"code": "brand_new"}), true),
            (500, serde_json::json!({"code": "brand_new"}), false),
        ];
        for (status, json, retryable) in rows {
            assert_eq!(api(status, json.clone()).is_retryable(), retryable, "{status} {json}");
        }
    }

    #[test]
    fn ambiguity_depends_on_the_failure_and_on_the_operation() {
        use crate::call::Request;
        use crate::contract::Operation;

        let reset = || Error::from(TransportError::maybe_sent("reset"));
        let refused = || Error::from(TransportError::not_sent("refused"));
        let no_tls = Error::from(TransportError::setup("no certificates"));
        assert_eq!(no_tls.kind(), ErrorKind::Configuration);
        assert!(!no_tls.is_unreachable() && !no_tls.is_retryable());
        let busy = || api(503, serde_json::json!({"code": "database_busy"}));
        // (operation, error, is ambiguous, is retryable)
        let (submit, key) = (Operation::Music1Generate, Operation::VideoGenerate);
        let (read, cancel) = (Operation::Me, Operation::OpenEstimate);
        let rows = [
            (submit, reset(), true, false),
            (submit, refused(), false, true),
            (submit, busy(), false, true),
            (key, reset(), true, false),
            (key, busy(), false, true),
            (read, reset(), false, true),
            (cancel, reset(), false, true),
            (Operation::SigningSecretRotate, busy(), false, false),
            (Operation::SigningSecretRotate, reset(), true, false),
        ];
        for (operation, error, is_ambiguous, is_retryable) in rows {
            let error = Request::new::<&str>(operation, &[]).unwrap().annotate(error);
            assert_eq!(error.is_ambiguous(), is_ambiguous, "{operation}: {error}");
            assert_eq!(error.is_retryable(), is_retryable, "{operation}: {error}");
        }
        let ended_wait = Error::poll_failure(Arc::new(busy())).with_ended_wait();
        assert!(!ended_wait.is_retryable(), "the job is paid for");
    }

    #[test]
    fn an_error_is_as_small_as_a_pointer() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
