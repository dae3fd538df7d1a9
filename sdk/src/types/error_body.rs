//! The `error` object, on the wire and inside failed jobs and runs.

use serde::{Deserialize, Serialize};

use super::{Extra, RequestId};
use crate::contract::{ErrorCategory, ErrorCode, NextAction};

/// An `error` object of the service.
///
/// The open surface sends `code`, `message` and `request_id`; the developer surface sends the
/// other fields too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorBody {
    /// The stable code: branch on this.
    pub code: ErrorCode,
    /// Text for people; it may change.
    #[serde(default)]
    pub message: String,
    /// The request that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// A coarse label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<ErrorCategory>,
    /// Where it failed, a coarse label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// A coarse label that may be shown to the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_reason: Option<String>,
    /// Whether sending the same again can succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Seconds to wait before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<f64>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_action: Option<NextAction>,
    /// Particulars of the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Extra>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ErrorBody {
    /// What to do: the body's word, else the catalogue's.
    #[must_use]
    pub fn advice(&self) -> Option<NextAction> {
        self.next_action
            .clone()
            .or_else(|| Some(self.code.entry()?.next_action))
    }

    /// The detail of that name as a `T`.
    #[must_use]
    pub fn detail<T: serde::de::DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.details.as_ref()?.field(name)
    }
}
