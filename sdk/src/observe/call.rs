//! Reporting of one call to observers and traces: its span, its attempts, its end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request as HttpRequest;
use tracing::Span;

use super::observer::{
    AttemptEnd, AttemptStart, CallEnd, CallOutcome, CallStart, Observer, error_type,
};
use super::trace;
use crate::call::base_url::BaseUrl;
use crate::call::clock::{self, Instant};
use crate::call::raw_response::RawResponse;
use crate::call::request::Request;
use crate::contract::Operation;
use crate::error::{Error, ResourceRef};
use crate::types::RequestId;

/// A call that is reported to the observers and to `tracing`.
pub(crate) struct ObservedCall<'a> {
    observers: &'a [Arc<dyn Observer>],
    base_url: &'a BaseUrl,
    request: &'a Request,
    span: Span,
    /// When it began, if there are observers.
    began: Option<Instant>,
    attempts: u32,
    max_attempts: u32,
    is_finished: bool,
}

/// An attempt, from the moment that it is sent.
#[derive(Debug, Default)]
pub(crate) struct ObservedAttempt {
    /// Whether the request may have left, also if the future of the attempt was dropped.
    pub(crate) sent: bool,
    began: Option<Instant>,
    response: Option<RawResponse>,
}

impl<'a> ObservedCall<'a> {
    pub(crate) fn start(
        observers: &'a [Arc<dyn Observer>],
        base_url: &'a BaseUrl,
        request: &'a Request,
        resource: Option<&ResourceRef>,
        max_retries: u32,
    ) -> Self {
        let span = trace::call_span(base_url, request);
        if let Some(resource) = resource {
            trace::record_resource(&span, resource);
        }
        for observer in observers {
            observer.on_call_start(&CallStart { request });
        }
        Self {
            observers,
            base_url,
            request,
            span,
            began: (!observers.is_empty()).then(clock::now),
            attempts: 0,
            max_attempts: max_retries.saturating_add(1),
            is_finished: false,
        }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Reports that a request is about to be sent. Observers may add headers to it.
    pub(crate) fn start_attempt(
        &mut self,
        message: &mut HttpRequest<Bytes>,
        now: Instant,
    ) -> ObservedAttempt {
        self.attempts += 1;
        for observer in self.observers {
            observer.on_attempt_start(&mut AttemptStart {
                request: self.request,
                attempt: self.attempts,
                headers: message.headers_mut(),
            });
        }
        ObservedAttempt { sent: true, began: Some(now), response: None }
    }

    /// Keeps the response of an attempt until its end, if that is reported.
    pub(crate) fn record_response(&self, attempt: &mut ObservedAttempt, response: &RawResponse) {
        if self.reports_attempts() {
            attempt.response = Some(response.clone());
        }
    }

    fn reports_attempts(&self) -> bool {
        !self.span.is_disabled()
            || !self.observers.is_empty()
            || tracing::enabled!(target: "svc_sdk::attempt", tracing::Level::DEBUG)
    }

    /// Reports the end of an attempt. An error before the attempt was sent is not reported.
    pub(crate) fn end_attempt(
        &self,
        attempt: &ObservedAttempt,
        error: Option<&Error>,
        retry_delay: Option<Duration>,
    ) {
        let Some(began) = attempt.began.filter(|_| self.reports_attempts()) else { return };
        let end = AttemptEnd {
            request: self.request,
            attempt: self.attempts,
            server_address: self.base_url.host(),
            server_port: self.base_url.port(),
            duration: clock::now().saturating_duration_since(began),
            response: attempt.response.as_ref(),
            error,
            retry_delay,
        };
        if !self.span.is_disabled() {
            self.record_attempt(&end);
        }
        self.trace_attempt(&end);
        for observer in self.observers {
            observer.on_attempt_end(&end);
        }
    }

    /// Reports a pause before the next attempt.
    pub(crate) fn trace_retry(&self, delay: Duration, error: &Error) {
        let next = self.attempts.saturating_add(1);
        let operation = self.request.operation;
        trace::retry(operation, error, next, self.max_attempts, delay);
    }

    /// Reports the end of the call.
    pub(crate) fn finish(&mut self, error: Option<&Error>) {
        self.is_finished = true;
        if let Some(error) = error {
            trace::record_error(&self.span, error);
        }
        self.end(error.map_or(CallOutcome::Success, CallOutcome::Failure));
    }

    fn record_attempt(&self, end: &AttemptEnd<'_>) {
        if let Some(status) = end.status() {
            self.span.record("http.response.status_code", status);
        }
        if let Some(retries) = trace::resend_count(end.attempt) {
            self.span.record("http.request.resend_count", retries);
        }
        if let Some(id) = end.request_id() {
            self.span.record("svc.request_id", id.as_str());
        }
    }

    fn trace_attempt(&self, end: &AttemptEnd<'_>) {
        let base_url = self.base_url;
        tracing::debug!(
            target: "svc_sdk::attempt",
            {
                svc.operation = self.request.operation.map(Operation::name),
                http.request.method = self.request.method.as_str(),
                url.path = format_args!("{}{}", base_url.path(), self.request.path),
                server.address = base_url.host(),
                server.port = base_url.port(),
                http.response.status_code = end.status(),
                http.request.resend_count = trace::resend_count(end.attempt),
                http.request.body.size = end.request_bytes(),
                http.response.body.size = end.response_bytes(),
                "error.type" = end.error.map(error_type).as_deref(),
                svc.attempt = end.attempt,
                svc.max_attempts = self.max_attempts,
                svc.request_id = end.request_id().as_ref().map(RequestId::as_str),
                svc.duration_ms = trace::millis(end.duration)
            },
            "attempt"
        );
    }

    fn end(&self, outcome: CallOutcome<'_>) {
        let Some(began) = self.began else { return };
        let _entered = self.span.enter();
        let end = CallEnd {
            request: self.request,
            attempts: self.attempts,
            duration: clock::now().saturating_duration_since(began),
            outcome,
        };
        for observer in self.observers {
            observer.on_call_end(&end);
        }
    }
}

impl Drop for ObservedCall<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            trace::record_error_type(&self.span, "canceled");
            self.end(CallOutcome::Canceled);
        }
    }
}
