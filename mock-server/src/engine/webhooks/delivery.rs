//! Webhook delivery attempts and their outcomes.

use bytes::Bytes;

use crate::engine::Time;

/// A webhook delivery attempt that is to be made now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The id of the attempt.
    pub id: DeliveryId,
    /// The workspace whose secret signs it.
    pub workspace: String,
    /// The event, such as `job.completed`.
    pub event: String,
    /// The destination URL.
    pub url: String,
    /// The request headers, without `host`.
    pub headers: Vec<(String, String)>,
    /// The request body. It must be sent unchanged because the signature covers it.
    pub body: Bytes,
    /// The service time of the attempt.
    pub at: Time,
    /// The wall-clock time that the timestamp shows; `None` if it shows the service time.
    pub(crate) wall_time: Option<Time>,
}

/// The id of a delivery attempt. Outcomes of attempts from before a reset or restore are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId {
    pub(crate) generation: u64,
    pub(crate) number: u64,
}

/// The outcome of a delivery attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver responded. Any `2xx` status is a success; redirects are not followed.
    Answered {
        /// The response status.
        status: u16,
        /// The `Retry-After` header, which is used for the statuses 429 and 503.
        retry_after: Option<String>,
        /// The beginning of the response's body, which is shown with the attempt.
        body: String,
    },
    /// There was no response. The text is the value of `last_error`, such as `timeout`.
    Failed(String),
}

impl DeliveryOutcome {
    /// Creates the outcome of a response without `Retry-After` and without a body.
    #[must_use]
    pub fn answered(status: u16) -> Self {
        Self::Answered { status, retry_after: None, body: String::new() }
    }

    /// Creates the outcome of an attempt without a response.
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

    /// Returns the beginning of the response's body, if there was a response.
    pub(crate) fn response_body(&self) -> Option<&str> {
        match self {
            Self::Answered { body, .. } => Some(body),
            Self::Failed(_) => None,
        }
    }

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
