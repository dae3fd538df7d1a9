//! The `error` object of responses and of failed jobs and runs.

use std::time::Duration;

use serde_json::Value;

use super::response::response_body;
use super::{ErrorDetails, Extra, RequestId};
use crate::contract::{ErrorCategory, ErrorCode, NextAction};

response_body! {
    /// An `error` object.
    ///
    /// The open surface sends `code`, `message` and `request_id`; the developer surface also sends
    /// the other fields.
    pub struct ErrorBody {
        /// The stable error code, to branch on.
        required code: ErrorCode,
        /// A description for people. It may change.
        text message: String,
        /// The request that failed.
        optional request_id: RequestId,
        /// A coarse category.
        optional category: ErrorCategory,
        /// A coarse label of the stage that failed.
        optional stage: String,
        /// A coarse reason that may be shown to the public.
        optional public_reason: String,
        /// Whether sending the same request again can succeed.
        optional retryable: bool,
        /// How long to wait before sending the request again, in seconds.
        seconds retry_after as "retry_after_seconds": Duration,
        /// The recommended next action.
        optional next_action: NextAction,
        /// Information specific to the code. See [`details`](Self::details).
        optional details: Box<ErrorDetails>,
    }
}

impl ErrorBody {
    /// Reads an error that is not an object with a code: its text, or its JSON, becomes the message, and
    /// the code is empty. Returns `None` if there is nothing in it.
    pub(super) fn from_other_form(json: &Value) -> Option<Self> {
        let message = match json {
            Value::String(text) => text.clone(),
            Value::Null => return None,
            Value::Array(items) if items.is_empty() => return None,
            Value::Object(fields) if fields.is_empty() => return None,
            other => match other.get("message").and_then(Value::as_str) {
                Some(message) => message.to_owned(),
                None => other.to_string(),
            },
        };
        (!message.is_empty()).then(|| Self {
            code: ErrorCode::Other(String::new()),
            message,
            request_id: None,
            category: None,
            stage: None,
            public_reason: None,
            retryable: None,
            retry_after: None,
            next_action: None,
            details: None,
            extra: Extra::default(),
        })
    }

    /// Returns the recommended next action: the one in the body, or else the default of the code.
    #[must_use]
    pub fn next_action(&self) -> Option<NextAction> {
        self.next_action.clone().or_else(|| Some(self.code.defaults()?.next_action))
    }

    /// Returns the information specific to the code. It is empty if the body has none.
    ///
    /// ```
    /// use svc_sdk::types::ErrorBody;
    ///
    /// let json = r#"{"code": "incomplete_assembly", "details": {"pending_job_count": 1}}"#;
    /// let error: ErrorBody = serde_json::from_str(json)?;
    /// assert_eq!(error.details().pending_job_count, Some(1));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn details(&self) -> &ErrorDetails {
        self.details.as_deref().unwrap_or(ErrorDetails::empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_in_another_form_is_the_message() {
        let read = |json: serde_json::Value| {
            let body = ErrorBody::from_other_form(&json);
            body.map(|body| body.message)
        };
        assert_eq!(read(json!("boom")).unwrap(), "boom");
        assert_eq!(read(json!({"code": 7, "message": "boom"})).unwrap(), "boom");
        assert_eq!(read(json!({"code": 7})).unwrap(), r#"{"code":7}"#);
        for nothing in [json!(null), json!(""), json!([]), json!({})] {
            assert_eq!(read(nothing), None);
        }
    }

    #[test]
    fn unexpected_fields_do_not_hide_the_code() {
        let json = json!({
            "code": "insufficient_funds", "message": null, "details": ["too", "little"],
            "retryable": "no", "next_action": "add_funds", "retry_after_seconds": -1
        });
        let error: ErrorBody = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(error.code, ErrorCode::InsufficientFunds);
        assert_eq!(error.next_action(), Some(NextAction::AddFunds));
        assert_eq!((error.message.as_str(), error.retryable), ("", None));
        assert_eq!((error.retry_after, error.details().index), (None, None));
        assert_eq!(serde_json::to_value(&error).unwrap(), json);
        for invalid in [r#"{"message": "x"}"#, r#"{"code": 7}"#, r#""nsfw""#] {
            assert!(serde_json::from_str::<ErrorBody>(invalid).is_err());
        }
    }
}
