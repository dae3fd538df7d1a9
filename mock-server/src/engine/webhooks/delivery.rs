//! What goes out of the engine and what comes back: an attempt to deliver a webhook, and how it
//! went.

use bytes::Bytes;

use crate::engine::Time;

/// An attempt to deliver a webhook, for a face to make now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Which attempt it is.
    pub id: DeliveryId,
    /// What has happened, such as `job.completed`.
    pub event: String,
    /// Where it goes.
    pub url: String,
    /// The request's headers but for `host`.
    pub headers: Vec<(String, String)>,
    /// The request's body, byte by byte what the signature is of.
    pub body: Bytes,
    /// Its moment.
    pub at: Time,
}

/// Names an attempt; what is told of one from before a reset or a restore is not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId {
    pub(crate) generation: u64,
    pub(crate) number: u64,
}

/// How an attempt went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver answered. Any `2xx` says that it has the event; redirects are not followed.
    Answered {
        /// The answer's status.
        status: u16,
        /// Its `Retry-After`, which counts with `429` and `503`.
        retry_after: Option<String>,
    },
    /// There was no answer; the text is what `last_error` says, such as `timeout`.
    Failed(String),
}

impl DeliveryOutcome {
    /// An answer with that status and without `Retry-After`.
    #[must_use]
    pub fn answered(status: u16) -> Self {
        Self::Answered {
            status,
            retry_after: None,
        }
    }

    /// No answer, because of that.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed(error.into())
    }

    pub(crate) fn is_success(&self) -> bool {
        matches!(self, Self::Answered { status, .. } if (200..300).contains(status))
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Answered { status, .. } => Some(*status),
            Self::Failed(_) => None,
        }
    }

    /// What `last_error` says of it.
    pub(crate) fn error(&self) -> Option<String> {
        match self {
            Self::Answered { status, .. } => match status {
                200..300 => None,
                300..400 => Some("redirect".to_owned()),
                _ => Some("http_error".to_owned()),
            },
            Self::Failed(error) => Some(error.clone()),
        }
    }
}
