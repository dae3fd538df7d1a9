//! What a delivery is about: its event, and the ids by which it is recognized.

use core::fmt;
use std::format;
use std::string::String;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The parts of a delivery's body by which it is routed and recognized.
///
/// ```
/// use svc_webhook_verify::{Event, EventKind};
///
/// let event = Event::parse(br#"{"event":"job.completed","job_id":"job_1","payload":{}}"#)?;
/// assert_eq!(event.kind(), &EventKind::JobCompleted);
/// assert_eq!(event.job_id(), Some("job_1"));
///
/// let event = Event::parse(br#"{"event":"job.paused","job_id":"job_1"}"#)?;
/// assert!(!event.kind().is_known()); // answer 204
/// # Ok::<(), svc_webhook_verify::EventError>(())
/// ```
///
/// Parse it after the delivery was verified, and not before. All else that the body
/// holds is left to the caller's own types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    kind: EventKind,
    request_id: Option<String>,
    job_id: Option<String>,
    run_id: Option<String>,
    result_url: Option<String>,
}

impl Event {
    /// Reads the body of a delivery.
    ///
    /// # Errors
    ///
    /// [`EventError`] when the body is no JSON object, has no `event`, or has an id
    /// that is no string. An event of an unknown name is not an error.
    pub fn parse(body: impl AsRef<[u8]>) -> Result<Self, EventError> {
        let body: Body<'_> = read(body.as_ref())?;
        let payload: Payload = read_if_object(body.payload)?;
        let error: Problem = read_if_object(body.error)?;
        Ok(Self {
            kind: EventKind::from(body.event),
            request_id: body.request_id,
            job_id: body.job_id,
            run_id: body.run_id.or(payload.run_id),
            result_url: error.result_url,
        })
    }

    /// Which event it is.
    #[must_use]
    pub fn kind(&self) -> &EventKind {
        &self.kind
    }

    /// The request that the event goes back to.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The job that ended, in job events.
    #[must_use]
    pub fn job_id(&self) -> Option<&str> {
        self.job_id.as_deref()
    }

    /// The run that ended, in run events: as the body has it, or the receipt in it.
    ///
    /// A run event need not have one: see [`result_url`](Event::result_url).
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    /// Where to fetch a receipt that was too large to be sent along.
    #[must_use]
    pub fn result_url(&self) -> Option<&str> {
        self.result_url.as_deref()
    }

    /// What makes this delivery the same as another one, if anything does.
    ///
    /// It is the event together with the first of these that there is: the job's id,
    /// the run's id, the URL of a result too large to send, the request's id. Test
    /// deliveries have none: each is meant to arrive.
    #[must_use]
    pub fn dedupe_key(&self) -> Option<DedupeKey> {
        if self.kind == EventKind::WebhookTest {
            return None;
        }
        let subjects = [
            ("job", self.job_id()),
            ("run", self.run_id()),
            ("result", self.result_url()),
            ("request", self.request_id()),
        ];
        let (kind, id) = subjects
            .into_iter()
            .find_map(|(kind, id)| Some((kind, id.filter(|id| !id.is_empty())?)))?;
        Some(DedupeKey::new(self.kind.as_str(), format!("{kind}:{id}")))
    }
}

/// The name of an event. The set is open: new ones may appear.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// `job.completed`
    JobCompleted,
    /// `job.failed`
    JobFailed,
    /// `job.canceled`
    JobCanceled,
    /// `action.run.terminal`
    ActionRunTerminal,
    /// `format.run.terminal`
    FormatRunTerminal,
    /// `agent.run.terminal`
    AgentRunTerminal,
    /// `webhook.test`
    WebhookTest,
    /// An event that this version does not know. Answer `204`.
    Other(String),
}

impl EventKind {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::JobCompleted => "job.completed",
            Self::JobFailed => "job.failed",
            Self::JobCanceled => "job.canceled",
            Self::ActionRunTerminal => "action.run.terminal",
            Self::FormatRunTerminal => "format.run.terminal",
            Self::AgentRunTerminal => "agent.run.terminal",
            Self::WebhookTest => "webhook.test",
            Self::Other(name) => name,
        }
    }

    /// Whether this version knows the event.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Other(_))
    }
}

impl From<String> for EventKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "job.completed" => Self::JobCompleted,
            "job.failed" => Self::JobFailed,
            "job.canceled" => Self::JobCanceled,
            "action.run.terminal" => Self::ActionRunTerminal,
            "format.run.terminal" => Self::FormatRunTerminal,
            "agent.run.terminal" => Self::AgentRunTerminal,
            "webhook.test" => Self::WebhookTest,
            _ => Self::Other(name),
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Two deliveries with the same key tell the same thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupeKey {
    event: String,
    subject: String,
}

impl DedupeKey {
    /// Makes the key of an event about a subject, which names its own kind: `job:…`.
    pub fn new(event: impl Into<String>, subject: impl Into<String>) -> Self {
        let (event, subject) = (event.into(), subject.into());
        Self { event, subject }
    }

    /// The event's name.
    #[must_use]
    pub fn event(&self) -> &str {
        &self.event
    }

    /// What the event is about, such as `job:job_1`.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }
}

/// The body of a delivery is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventError {
    line: usize,
    column: usize,
    reason: String,
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            reason,
        } = self;
        write!(
            f,
            "the body is not an event ({reason}, at line {line} column {column}): \
             see what the sender posts to this address"
        )
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
struct Problem {
    result_url: Option<String>,
}

fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, EventError> {
    // Serde would read the fields of an array by their places.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(EventError {
            line: 1,
            column: 1,
            reason: "no JSON object".into(),
        });
    }
    serde_json::from_slice(json).map_err(|error| EventError {
        line: error.line(),
        column: error.column(),
        // The kind and no more: the rest of serde's message quotes the body.
        reason: format!("{:?} error", error.classify()).to_lowercase(),
    })
}

fn read_if_object<'a, T: Default + Deserialize<'a>>(
    json: Option<&'a RawValue>,
) -> Result<T, EventError> {
    match json {
        Some(json) if json.get().starts_with('{') => read(json.get().as_bytes()),
        _ => Ok(T::default()),
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    fn key_of(body: &str) -> Option<std::string::String> {
        let key = Event::parse(body).unwrap().dedupe_key()?;
        Some(format!("{} {}", key.event(), key.subject()))
    }

    #[test]
    fn a_delivery_is_recognized_by_its_event_and_the_nearest_id() {
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
            (
                r#"{"event":"job.paused","job_id":"job_1"}"#,
                Some("job.paused job:job_1"),
            ),
            (r#"{"event":"webhook.test","request_id":"req_1"}"#, None),
            (r#"{"event":"webhook.test","job_id":"job_1"}"#, None),
            (r#"{"event":"job.completed","job_id":null}"#, None),
        ];
        for (body, expected) in rows {
            assert_eq!(key_of(body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn unknown_events_and_fields_are_values_and_payloads_of_any_shape_are_let_be() {
        let event =
            Event::parse(r#"{"event":"x","payload":["run_1"],"error":"y","new":{}}"#).unwrap();
        assert_eq!(event.kind(), &EventKind::Other("x".into()));
        assert_eq!(event.kind().to_string(), "x");
        assert_eq!(event.run_id(), None);
    }

    #[test]
    fn what_is_no_event_is_an_error_that_quotes_nothing() {
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
            let line = Event::parse(body).unwrap_err().to_string();
            assert!(line.starts_with("the body is not an event ("), "{line}");
            assert!(!line.contains("whsec"), "{line}");
        }
        assert!(Event::parse(b"{\"event\":\"\xff\"}").is_err());
    }
}
