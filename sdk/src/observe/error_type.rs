//! The value of `error.type`: one of few words for each kind of failure.

use std::borrow::Cow;

use crate::error::{Error, Kind};

pub(crate) fn error_type(error: &Error) -> Cow<'static, str> {
    let word = match error.variant() {
        Kind::Api { status, .. } | Kind::NoEnvelope { status, .. } => {
            return Cow::Owned(status.to_string());
        }
        Kind::PollFailed { source } => return error_type(source),
        Kind::Download { source: Some(source), .. } => return error_type(source),
        Kind::Configuration(_) => "configuration",
        Kind::KeyProvider { .. } => "key_unavailable",
        Kind::Invalid(_) | Kind::Schema(_) => "invalid_request",
        Kind::Transport(error) if error.is_setup() => "configuration",
        Kind::Transport(error) if error.has_timed_out() => "timeout",
        Kind::Transport(error) if error.may_have_been_sent() => "connection_lost",
        Kind::Transport(_) => "connection_failed",
        Kind::NotJson { .. } | Kind::Decode { .. } | Kind::RepeatedCursor { .. } => {
            "invalid_response"
        }
        Kind::Journal(_) => "journal",
        Kind::RateLimitExhausted { .. } => "rate_limit_exhausted",
        Kind::Timeout { .. } => "timeout",
        Kind::JobEnded { .. }
        | Kind::RunEnded { .. }
        | Kind::TopUpEnded { .. }
        | Kind::QueueEnded { .. }
        | Kind::NotFinished { .. } => "not_completed",
        Kind::WaitTimeout { .. } => "wait_timeout",
        Kind::Download { source: None, .. } | Kind::IncompleteDownload { .. } => "download_failed",
        Kind::File { .. } | Kind::Write { .. } => "file",
    };
    Cow::Borrowed(word)
}
