//! The `error` object, on the wire and inside failed jobs and runs.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};

use super::received::Fields;
use super::{Extra, RequestId};
use crate::contract::{ErrorCategory, ErrorCode, NextAction};

/// An `error` object of the service.
///
/// The open surface sends `code`, `message` and `request_id`; the developer surface sends the
/// other fields too. Only `code` must be there: another field of another shape than this build
/// knows is kept in `extra`, so that an error is never lost over its particulars.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorBody {
    /// The stable code: branch on this.
    pub code: ErrorCode,
    /// Text for people; it may change.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The request that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// A coarse label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<ErrorCategory>,
    /// Where it failed, a coarse label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// A coarse label that may be shown to the public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_reason: Option<String>,
    /// Whether sending the same again can succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Seconds to wait before that.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "super::seconds::serialize"
    )]
    pub retry_after_seconds: Option<f64>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_action: Option<NextAction>,
    /// Particulars of the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Extra>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl<'de> Deserialize<'de> for ErrorBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Fields::deserialize(deserializer)?;
        Ok(Self {
            code: fields.need("code")?,
            message: fields.take_text("message"),
            request_id: fields.take("request_id"),
            category: fields.take("category"),
            stage: fields.take("stage"),
            public_reason: fields.take("public_reason"),
            retryable: fields.take("retryable"),
            retry_after_seconds: fields.take("retry_after_seconds"),
            next_action: fields.take("next_action"),
            details: fields.take("details"),
            extra: fields.rest(),
        })
    }
}

impl ErrorBody {
    /// What to do: the body's word, else the catalogue's.
    #[must_use]
    pub fn advice(&self) -> Option<NextAction> {
        self.next_action
            .clone()
            .or_else(|| Some(self.code.defaults()?.next_action))
    }

    /// The detail of that name as a `T`.
    #[must_use]
    pub fn detail<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.details.as_ref()?.field(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_comes_back_as_it_was() {
        let json = serde_json::json!({
            "code": "database_busy", "message": "", "retry_after_seconds": 2, "stage": null
        });
        let error: ErrorBody = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(error.retry_after_seconds, Some(2.0));
        assert_eq!(serde_json::to_value(&error).unwrap(), json);
    }

    #[test]
    fn an_error_is_not_lost_over_its_particulars() {
        let json = serde_json::json!({
            "code": "insufficient_funds", "message": null, "details": ["too", "little"],
            "retryable": "no", "next_action": "add_funds"
        });
        let error: ErrorBody = serde_json::from_value(json).unwrap();
        assert_eq!(error.code, ErrorCode::InsufficientFunds);
        assert_eq!(error.next_action, Some(NextAction::AddFunds));
        assert_eq!((error.message.as_str(), error.retryable), ("", None));
        let written = serde_json::to_value(&error).unwrap();
        assert_eq!(written["details"], serde_json::json!(["too", "little"]));
        for bad in [r#"{"message": "x"}"#, r#"{"code": 7}"#, r#""nsfw""#] {
            assert!(serde_json::from_str::<ErrorBody>(bad).is_err(), "{bad}");
        }
    }
}
