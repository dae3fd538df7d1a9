//! Events: the type and the IDs in the body of a delivery.

use core::fmt;
use std::format;
use std::string::String;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::dedupe_key::DedupeKey;

/// The event in the body of a delivery: its type and the IDs that identify it.
///
/// ```
/// use svc_webhook_verify::{Event, EventType};
///
/// let event = Event::parse(br#"{"event":"job.completed","job_id":"job_1","payload":{}}"#)?;
/// assert_eq!(event.event_type(), &EventType::JobCompleted);
/// assert_eq!(event.job_id(), Some("job_1"));
///
/// let event = Event::parse(br#"{"event":"job.paused","job_id":"job_1"}"#)?;
/// assert!(!event.event_type().is_known()); // answer 204
/// # Ok::<(), svc_webhook_verify::EventError>(())
/// ```
///
/// Parse an event only after the delivery has been verified. It contains what routing and
/// deduplication need. [`parse_as`](Event::parse_as) reads the other fields, such as the
/// artifacts of a job or the receipt of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    event_type: EventType,
    request_id: Option<String>,
    job_id: Option<String>,
    run_id: Option<String>,
    result_url: Option<String>,
}

impl Event {
    /// Parses the body of a delivery.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not a JSON object, if its `event` is missing, or if
    /// an ID is not a string. An unknown event name is not an error.
    pub fn parse(body: impl AsRef<[u8]>) -> Result<Self, EventError> {
        let body: Body<'_> = parse_object(body.as_ref())?;
        let payload: Payload = parse_optional_object(body.payload)?;
        let error: ErrorDetails = parse_optional_object(body.error)?;
        Ok(Self {
            event_type: EventType::from(body.event),
            request_id: body.request_id,
            job_id: body.job_id,
            run_id: body.run_id.or(payload.run_id),
            result_url: error.result_url,
        })
    }

    /// Parses the body of a delivery as another type, such as the `WebhookEvent` of the
    /// `svc-sdk` crate, which has all fields. This crate does not depend on it, so that a
    /// receiver need not build it.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not a JSON object, or not a `T`.
    pub fn parse_as<T: DeserializeOwned>(body: impl AsRef<[u8]>) -> Result<T, EventError> {
        parse_object(body.as_ref())
    }

    /// Returns the type of the event.
    #[must_use]
    pub fn event_type(&self) -> &EventType {
        &self.event_type
    }

    /// Returns the ID of the request that caused the event.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Returns the ID of the job that ended, for job events.
    #[must_use]
    pub fn job_id(&self) -> Option<&str> {
        self.job_id.as_deref()
    }

    /// Returns the ID of the run that ended, for run events. It is read from the body, or
    /// from the receipt in its payload.
    ///
    /// A run event without a receipt may have no run ID, see
    /// [`result_url`](Event::result_url).
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    /// Returns the URL of a receipt that was too large to be included.
    #[must_use]
    pub fn result_url(&self) -> Option<&str> {
        self.result_url.as_deref()
    }

    /// Returns the key that all deliveries of this event share.
    ///
    /// It consists of the event name and the first of these that is present: the job ID,
    /// the run ID, the URL of a receipt that was too large, the request ID. It is `None`
    /// if there are none of these, and for `webhook.test`, which is never a duplicate.
    ///
    /// An event of an unknown type has a key as well. Do not record it as handled, because a
    /// later version of the receiver may know the type.
    #[must_use]
    pub fn dedupe_key(&self) -> Option<DedupeKey> {
        if self.event_type == EventType::WebhookTest {
            return None;
        }
        let ids = [
            ("job", self.job_id()),
            ("run", self.run_id()),
            ("result", self.result_url()),
            ("request", self.request_id()),
        ];
        let (prefix, id) = ids
            .into_iter()
            .find_map(|(prefix, id)| Some((prefix, id.filter(|id| !id.is_empty())?)))?;
        Some(DedupeKey::new(self.event_type.as_str(), format!("{prefix}:{id}")))
    }
}

macro_rules! event_types {
    ($($variant:ident $name:literal,)+) => {
        /// The type of an event.
        ///
        /// The service may add types. They are parsed as [`EventType::Unknown`].
        ///
        /// `WebhookEventType` in the `svc-sdk` crate has the same variants, with `Other` in place of
        /// `Unknown`.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum EventType {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
            /// A type that this version of the crate does not know. Answer `204`.
            Unknown(String),
        }

        impl EventType {
            /// Returns the name of the event, as in the body of a delivery.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Unknown(name) => name,
                }
            }
        }

        impl From<String> for EventType {
            fn from(name: String) -> Self {
                match name.as_str() {
                    $($name => Self::$variant,)+
                    _ => Self::Unknown(name),
                }
            }
        }
    };
}

event_types! {
    JobCompleted "job.completed",
    JobFailed "job.failed",
    JobCanceled "job.canceled",
    ActionRunTerminal "action.run.terminal",
    FormatRunTerminal "format.run.terminal",
    AgentRunTerminal "agent.run.terminal",
    WebhookTest "webhook.test",
}

impl EventType {
    /// Returns `true` unless the type is [`Unknown`](EventType::Unknown).
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a body that is not a valid event, with the position of the problem.
///
/// Its message does not quote the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventError {
    line: usize,
    column: usize,
    reason: &'static str,
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, reason } = self;
        write!(f, "body is not a valid event: {reason} at line {line} column {column}")
    }
}

impl core::error::Error for EventError {}

#[derive(Deserialize)]
struct Body<'a> {
    event: String,
    request_id: Option<String>,
    job_id: Option<String>,
    run_id: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Payload {
    run_id: Option<String>,
}

#[derive(Default, Deserialize)]
struct ErrorDetails {
    result_url: Option<String>,
}

fn parse_object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, EventError> {
    // Serde would accept an array and assign its items to the fields by position.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(EventError { line: 1, column: 1, reason: "expected a JSON object" });
    }
    serde_json::from_slice(json).map_err(|error| EventError {
        line: error.line(),
        column: error.column(),
        // Only the category, because the full message quotes the body.
        reason: match error.classify() {
            Category::Syntax => "invalid JSON",
            Category::Eof => "unexpected end of JSON",
            _ => "missing or invalid field",
        },
    })
}

fn parse_optional_object<'a, T: Default + Deserialize<'a>>(
    json: Option<&'a RawValue>,
) -> Result<T, EventError> {
    match json {
        Some(json) if json.get().starts_with('{') => parse_object(json.get().as_bytes()),
        _ => Ok(T::default()),
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    fn dedupe_key(body: &str) -> Option<std::string::String> {
        let key = Event::parse(body).unwrap().dedupe_key()?;
        Some(format!("{} {}", key.event(), key.resource_id()))
    }

    #[test]
    fn the_dedupe_key_is_the_event_and_its_most_specific_id() {
        let rows = [
            (
                r#"{"event":"job.completed","job_id":"job_1","request_id":"req_1"}"#,
                Some("job.completed job:job_1"),
            ),
            (
                r#"{"event":"format.run.terminal","run_id":"run_1","payload":{"run_id":"run_2"}}"#,
                Some("format.run.terminal run:run_1"),
            ),
            (
                r#"{"event":"agent.run.terminal","payload":{"run_id":"run_2"},"request_id":"req_1"}"#,
                Some("agent.run.terminal run:run_2"),
            ),
            (
                r#"{"event":"action.run.terminal","payload":null,"request_id":"req_1",
                    "error":{"code":"payload_too_large","result_url":"https://a/b"}}"#,
                Some("action.run.terminal result:https://a/b"),
            ),
            (
                r#"{"event":"action.run.terminal","payload":null,"request_id":"req_1"}"#,
                Some("action.run.terminal request:req_1"),
            ),
            (
                r#"{"event":"job.completed","job_id":"","request_id":"req_1"}"#,
                Some("job.completed request:req_1"),
            ),
            (r#"{"event":"job.paused","job_id":"job_1"}"#, Some("job.paused job:job_1")),
            (r#"{"event":"webhook.test","request_id":"req_1"}"#, None),
            (r#"{"event":"webhook.test","job_id":"job_1"}"#, None),
            (r#"{"event":"job.completed","job_id":null}"#, None),
        ];
        for (body, expected) in rows {
            assert_eq!(dedupe_key(body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn unknown_events_and_payloads_of_any_type_are_accepted() {
        let event =
            Event::parse(r#"{"event":"x","payload":["run_1"],"error":"y","new":{}}"#).unwrap();
        assert_eq!(event.event_type(), &EventType::Unknown("x".into()));
        assert_eq!(event.event_type().to_string(), "x");
        assert_eq!(event.run_id(), None);
    }

    #[test]
    fn errors_of_invalid_events_do_not_quote_the_body() {
        let deep = "[".repeat(100_000);
        let deep = format!(r#"{{"event":"x","payload":{deep}"#);
        let rows = [
            "",
            " ",
            "null",
            "[]",
            r#"["job.completed"]"#,
            "{",
            "{}",
            r#"{"event":null}"#,
            r#"{"event":5}"#,
            r#"{"event":"job.completed","job_id":5}"#,
            r#"{"event":"job.completed","payload":{"run_id":5}}"#,
            r#"{"event":"job.completed","event":"job.failed"}"#,
            r#"{"event":"job.completed"} whsec"#,
            &deep,
        ];
        for body in rows {
            let message = Event::parse(body).unwrap_err().to_string();
            assert!(message.starts_with("body is not a valid event: "), "{message}");
            assert!(!message.contains("whsec"), "{message}");
        }
        assert!(Event::parse(b"{\"event\":\"\xff\"}").is_err());
    }
}
