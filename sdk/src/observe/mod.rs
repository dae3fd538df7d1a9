//! Observability: traces, metrics, and headers for each request.
//!
//! A client reports what it does in two ways. Neither costs anything while it is not used. Traces never
//! contain secrets: API keys, signing secrets and the queries of URLs (which sign downloads) are
//! redacted at every level. An [`Observer`] sees requests without their credentials, but bodies and
//! responses as they are: do not log them unredacted.
//!
//! # Traces
//!
//! Spans and events go to [`tracing`](https://docs.rs/tracing), with the names of OpenTelemetry's
//! semantic conventions for HTTP. Without a subscriber, nothing is formatted.
//!
//! | span | target | level | what it covers |
//! |---|---|---|---|
//! | `svc.call` | `svc_sdk::call` | `INFO` | a call, with its retries and its waits for the rate limit |
//! | `svc.wait` | `svc_sdk::wait` | `INFO` | a wait for a job, a run, a bulk queue or a top-up |
//! | `svc.download` | `svc_sdk::download` | `INFO` | a download of all files of a result |
//!
//! | event | target | level | when |
//! |---|---|---|---|
//! | attempt | `svc_sdk::attempt` | `DEBUG` | after each attempt of a call, and each request of a download |
//! | retry | `svc_sdk::retry` | `INFO` | before the pause that precedes a retry |
//! | rate limit | `svc_sdk::rate_limit` | `DEBUG` | before a pause for the key's rate limit |
//! | poll | `svc_sdk::wait` | `DEBUG` | after each poll of a wait |
//! | headers | `svc_sdk::headers` | `TRACE` | before a request is sent, and when its response begins |
//! | journal failure | `svc_sdk::journal` | `ERROR` | when a receipt or an outcome could not be written |
//! | body | `svc_sdk::body` | `TRACE` | with the JSON body of a request or a response, redacted |
//!
//! | field | on | meaning |
//! |---|---|---|
//! | `http.request.method`, `url.template` | `svc.call` | such as `GET` and `/v1/jobs/{job_id}`; no template for a path that this build does not know |
//! | `http.request.method`, `url.path`, `url.full` | attempt, headers | the path of a call, or the URL of a download without its query |
//! | `http.response.status_code` | `svc.call`, attempt, retry | the status; on the span that of the last attempt |
//! | `http.request.resend_count` | `svc.call`, attempt | the number of retries so far; absent on the first attempt |
//! | `http.request.body.size`, `http.response.body.size` | attempt | sizes in bytes |
//! | `server.address`, `server.port` | `svc.call`, attempt | the host |
//! | `error.type` | spans, attempt, retry, poll | the status of an error response, or one of the words below |
//! | `otel.name`, `otel.kind`, `otel.status_code` | spans | for `tracing-opentelemetry` |
//! | `svc.operation` | `svc.call`, attempt, retry | the [operation](crate::contract::Operation::name) |
//! | `svc.attempt`, `svc.max_attempts` | attempt, retry | the attempt, counted from 1; for a retry the next one |
//! | `svc.request_id` | `svc.call`, attempt | the id that the service gave the request |
//! | `svc.error_code` | retry | the service's error code |
//! | `svc.job_id`, `svc.run_id`, `svc.queue_id`, `svc.top_up_id` | spans | what the call is about, or submitted |
//! | `svc.duration_ms`, `svc.delay_ms` | attempt; retry, rate limit, poll | in milliseconds |
//! | `svc.poll_count` | `svc.wait`, poll | the number of polls |
//! | `svc.files` | `svc.download` | the number of files |
//!
//! The words of `error.type` are `timeout`, `connection_failed` (nothing was sent),
//! `connection_lost`, `invalid_response`, `rate_limit_exhausted`, `invalid_request`, `configuration`,
//! `key_unavailable` (the key provider failed), `journal` (the journal failed, or kept a submit from being
//! sent), `canceled` (the future was dropped), and for waits and downloads `not_completed`,
//! `wait_timeout`, `download_failed` and `file`.
//!
//! # Metrics and headers
//!
//! With the feature `opentelemetry`, `OpenTelemetryMetrics` records metrics with OpenTelemetry. Other
//! metrics, and headers of requests such as `traceparent`, are the program's: an [`Observer`] is called
//! at the beginning and the end of each call and of each attempt, and when the journal could not be
//! written:
//!
//! ```no_run
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use svc_sdk::observe::{AttemptEnd, Observer};
//!
//! #[derive(Default)]
//! struct Attempts(AtomicU64);
//!
//! impl Observer for Attempts {
//!     fn on_attempt_end(&self, attempt: &AttemptEnd<'_>) {
//!         let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
//!         println!("{count}: {} {:?} in {:?}", attempt.request.path, attempt.status(), attempt.duration);
//!     }
//! }
//!
//! # fn run() -> svc_sdk::Result<()> {
//! let client = svc_sdk::open::Client::builder()
//!     .base_url("https://api.example.com")
//!     .observer(Attempts::default())
//!     .build()?;
//! # Ok(())
//! # }
//! ```

pub(crate) mod call;
mod observer;
#[cfg(feature = "opentelemetry")]
mod open_telemetry;
pub(crate) mod redact;
pub(crate) mod trace;

pub use self::observer::{
    AttemptEnd, AttemptStart, CallEnd, CallOutcome, CallStart, JournalFailure, Observer,
};
#[cfg(feature = "opentelemetry")]
pub use self::open_telemetry::OpenTelemetryMetrics;

#[cfg(test)]
mod tests;
