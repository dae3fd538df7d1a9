//! The request log: a ring buffer of the newest requests, for inspection by tests.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderValue, Method};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::credential::X_API_KEY;
use super::{FaultKind, Host, Time};

const MAX_ENTRIES: usize = 10_000;
/// The maximum number of characters stored of a header value or a path.
const MAX_TEXT_CHARS: usize = 1_024;
const MAX_HEADERS: usize = 64;
const REDACTED: &str = "[redacted]";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoggedRequest {
    pub(crate) seq: u64,
    pub(crate) at: Time,
    pub(crate) method: Cow<'static, str>,
    /// The path with the query.
    pub(crate) path: String,
    pub(crate) surface: Host,
    pub(crate) operation: Option<Cow<'static, str>>,
    pub(crate) headers: LoggedHeaders,
    /// The id of the presented key, also if it is revoked or not valid for the host.
    #[serde(default)]
    pub(crate) key: Option<Arc<str>>,
    /// The workspace of that key, or of the file or checkout page that is requested without one.
    #[serde(default)]
    pub(crate) workspace: Option<Arc<str>>,
    pub(crate) request_id: String,
    /// The status of the response; `None` if none was sent.
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) code: Option<String>,
    pub(crate) fault: Option<FaultKind>,
    /// The id of the rule that the fault comes from.
    #[serde(default)]
    pub(crate) fault_id: Option<String>,
}

impl LoggedRequest {
    pub(crate) fn idempotency_key(&self) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(name, _)| *name == "idempotency-key").map(|(_, value)| value)
    }

    pub(crate) fn view(&self) -> Value {
        json!({
            "seq": self.seq,
            "at": self.at.to_string(),
            "method": self.method,
            "path": self.path,
            "surface": self.surface,
            "operation": self.operation,
            "headers": self.headers.view(),
            "key": self.key,
            "workspace": self.workspace,
            "request_id": self.request_id,
            "status": self.status,
            "code": self.code,
            "idempotency_key": self.idempotency_key(),
            "fault": self.fault,
            "fault_id": self.fault_id,
        })
    }
}

/// The newest requests, up to a limit. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestLog {
    entries: VecDeque<Arc<LoggedRequest>>,
    last_seq: u64,
}

impl RequestLog {
    /// Appends a request and returns its sequence number, starting at 1.
    pub(crate) fn write(&mut self, mut entry: LoggedRequest) -> u64 {
        self.last_seq = self.last_seq.saturating_add(1);
        entry.seq = self.last_seq;
        while self.entries.len() >= MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(Arc::new(entry));
        self.last_seq
    }

    /// Sets the response status of a request whose response was pending.
    pub(crate) fn set_status(&mut self, seq: u64, status: Option<u16>) {
        let index = self.entries.binary_search_by_key(&seq, |entry| entry.seq);
        if let Some(entry) = index.ok().and_then(|index| self.entries.get_mut(index)) {
            Arc::make_mut(entry).status = status;
        }
    }

    pub(crate) fn remove_until(&mut self, until: Time) {
        while self.entries.front().is_some_and(|entry| entry.at <= until) {
            self.entries.pop_front();
        }
    }

    pub(crate) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Returns the request with the sequence number, if it is still stored.
    pub(crate) fn get(&self, seq: u64) -> Option<&LoggedRequest> {
        let index = self.entries.binary_search_by_key(&seq, |entry| entry.seq);
        self.entries.get(index.ok()?).map(|entry| &**entry)
    }

    /// Returns the stored requests, newest first.
    #[cfg(feature = "dashboard")]
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Arc<LoggedRequest>> {
        self.entries.iter().rev()
    }

    /// Returns the requests after the sequence number, oldest first.
    pub(crate) fn since(&self, seq: u64) -> Vec<Value> {
        self.after(seq).map(LoggedRequest::view).collect()
    }

    /// Returns the requests after the sequence number, oldest first.
    pub(crate) fn after(&self, seq: u64) -> impl Iterator<Item = &LoggedRequest> {
        let start = self.entries.partition_point(|entry| entry.seq <= seq);
        self.entries.range(start..).map(|entry| &**entry)
    }
}

/// Headers as they are stored: one text with a line `name: value` for each.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<(String, String)>")]
pub(crate) struct LoggedHeaders(Box<str>);

impl LoggedHeaders {
    /// Redacts credentials, truncates long values, and joins the values of repeated headers.
    pub(crate) fn new(headers: &HeaderMap) -> Self {
        // A line has three characters more than its name and value.
        let lengths = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 3);
        let mut text = String::with_capacity(lengths.sum());
        let mut stored = 0;
        let mut values = headers.iter().peekable();
        while let Some((name, value)) = values.next().filter(|_| stored < MAX_HEADERS) {
            stored += 1;
            let mut value = value_text(value);
            // The values of a header follow one another.
            while let Some((_, next)) = values.next_if(|(next, _)| *next == name) {
                let joined = value.to_mut();
                joined.extend([", ", &value_text(next)]);
            }
            let is_secret = *name == AUTHORIZATION || *name == COOKIE || *name == X_API_KEY;
            let shown = if is_secret { REDACTED } else { truncated(&value) };
            push_line(&mut text, name.as_str(), shown);
        }
        Self(text.into())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split_terminator('\n').filter_map(|line| line.split_once(": "))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn view(&self) -> Value {
        let headers = self.iter().map(|(name, value)| (name.to_owned(), json!(value)));
        Value::Object(Map::from_iter(headers))
    }
}

impl From<Vec<(String, String)>> for LoggedHeaders {
    fn from(headers: Vec<(String, String)>) -> Self {
        let mut text = String::new();
        for (name, value) in headers {
            push_line(&mut text, &name, &value.replace('\n', " "));
        }
        Self(text.into())
    }
}

impl Serialize for LoggedHeaders {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

fn value_text(value: &HeaderValue) -> Cow<'_, str> {
    // Nearly all values are ASCII, which takes less time to check.
    value.to_str().map_or_else(|_| String::from_utf8_lossy(value.as_bytes()), Cow::Borrowed)
}

fn push_line(text: &mut String, name: &str, value: &str) {
    text.extend([name, ": ", value, "\n"]);
}

/// Returns the name of a method, which is allocated for unusual ones only.
pub(crate) fn method_name(method: &Method) -> Cow<'static, str> {
    let known = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"];
    let known = known.into_iter().find(|known| *known == method.as_str());
    known.map_or_else(|| Cow::Owned(method.to_string()), Cow::Borrowed)
}

/// Truncates a text to the maximum stored length.
pub(crate) fn truncated(text: &str) -> &str {
    // A text has at most as many characters as bytes.
    if text.len() <= MAX_TEXT_CHARS {
        return text;
    }
    let end = text.char_indices().nth(MAX_TEXT_CHARS).map(|(end, _)| end);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> LoggedRequest {
        let entry = json!({
            "seq": 0, "at": 0, "method": "GET", "path": "/v1/jobs", "surface": "open",
            "operation": null, "headers": [], "request_id": "req_1", "status": 200, "fault": null,
        });
        serde_json::from_value(entry).unwrap()
    }

    #[test]
    fn only_the_newest_requests_are_stored() {
        let mut log = RequestLog::default();
        for _ in 0..10_005 {
            log.write(entry());
        }
        let all = log.since(0);
        assert_eq!(all.len(), 10_000);
        assert_eq!(all[0]["seq"], 6);
        assert_eq!(log.since(10_004).len(), 1);
        assert!(log.since(10_005).is_empty());
        assert!(log.since(u64::MAX).is_empty());
        log.set_status(10_005, Some(202));
        log.set_status(1, Some(202));
        assert_eq!(log.since(10_004)[0]["status"], 202);
    }

    #[test]
    fn stored_headers_are_joined_redacted_and_bounded() {
        let mut headers = HeaderMap::new();
        let long = "x".repeat(MAX_TEXT_CHARS + 1);
        for (name, value) in [
            ("accept", "a: b"),
            ("authorization", "Bearer secret"),
            ("x-api-key", "secret"),
            ("accept", "c"),
            ("x-empty", ""),
            ("x-long", &long),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let stored = LoggedHeaders::new(&headers);
        let view = stored.view();
        assert_eq!((&view["accept"], &view["x-empty"]), (&json!("a: b, c"), &json!("")));
        assert_eq!(
            (&view["authorization"], &view["x-api-key"]),
            (&json!(REDACTED), &json!(REDACTED))
        );
        assert_eq!(view["x-long"].as_str().unwrap().len(), MAX_TEXT_CHARS);
        let document = serde_json::to_value(&stored).unwrap();
        assert_eq!(document[0], json!(["accept", "a: b, c"]));
        assert_eq!(serde_json::from_value::<LoggedHeaders>(document).unwrap(), stored);

        headers = (0..100)
            .map(|number| (format!("x-{number}").parse().unwrap(), "1".parse().unwrap()))
            .collect();
        assert_eq!(LoggedHeaders::new(&headers).iter().count(), MAX_HEADERS);
    }
}
