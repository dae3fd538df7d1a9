//! The `error` object, on the wire and inside failed jobs and runs.

use serde::de::{self, DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Extra, RequestId};
use crate::contract::{ErrorCategory, ErrorCode, NextAction};

/// An `error` object of the service.
///
/// The open surface sends `code`, `message` and `request_id`; the developer surface sends the
/// other fields too. Only `code` must be there: another field of another shape than this build
/// knows is kept in `extra`, so that an error is never lost over its particulars.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ErrorBody {
    /// The stable code: branch on this.
    pub code: ErrorCode,
    /// Text for people; it may change.
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
    #[serde(skip_serializing_if = "Option::is_none")]
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
        let mut fields = Map::deserialize(deserializer)?;
        let code = match fields.remove("code") {
            Some(Value::String(code)) => code.into(),
            Some(_) => return Err(de::Error::custom("the code is no string")),
            None => return Err(de::Error::missing_field("code")),
        };
        Ok(Self {
            code,
            message: take(&mut fields, "message").unwrap_or_default(),
            request_id: take(&mut fields, "request_id"),
            category: take(&mut fields, "category"),
            stage: take(&mut fields, "stage"),
            public_reason: take(&mut fields, "public_reason"),
            retryable: take(&mut fields, "retryable"),
            retry_after_seconds: take(&mut fields, "retry_after_seconds"),
            next_action: take(&mut fields, "next_action"),
            details: take(&mut fields, "details"),
            extra: fields.into(),
        })
    }
}

/// Takes out the field where it is a `T`, or says nothing.
fn take<T: DeserializeOwned>(fields: &mut Map<String, Value>, name: &str) -> Option<T> {
    let value = Option::<T>::deserialize(fields.get(name)?).ok()?;
    fields.remove(name);
    value
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
    pub fn detail<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.details.as_ref()?.field(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
