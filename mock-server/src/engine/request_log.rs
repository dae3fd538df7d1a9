//! The request log: a ring buffer of the newest requests, for inspection by tests.

use std::collections::VecDeque;
use std::sync::Arc;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{FaultKind, Host, Time};

/// The maximum number of stored requests.
const MAX_ENTRIES: usize = 10_000;
/// The maximum number of characters stored of a header value or a path.
const MAX_TEXT_CHARS: usize = 1_024;
/// The maximum number of headers stored of a request.
const MAX_HEADERS: usize = 64;
/// The replacement for credentials.
const REDACTED: &str = "[redacted]";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoggedRequest {
    pub(crate) seq: u64,
    pub(crate) at: Time,
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) path: String,
    pub(crate) surface: Host,
    pub(crate) operation: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    /// The id of the presented key, also if it is revoked or not valid for the host.
    #[serde(default)]
    pub(crate) key: Option<Arc<str>>,
    /// The workspace of that key, or of the file or checkout page that is requested without one.
    #[serde(default)]
    pub(crate) workspace: Option<Arc<str>>,
    pub(crate) request_id: String,
    /// The status of the response; `None` if none was sent.
    pub(crate) status: Option<u16>,
    /// The error code of the response.
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
        headers.find(|(name, _)| name == "idempotency-key").map(|(_, value)| value.as_str())
    }

    pub(crate) fn view(&self) -> Value {
        let headers: serde_json::Map<String, Value> =
            self.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "seq": self.seq,
            "at": self.at.to_string(),
            "method": self.method,
            "path": self.path,
            "surface": self.surface,
            "operation": self.operation,
            "headers": headers,
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

    /// Removes the requests up to a time.
    pub(crate) fn remove_until(&mut self, until: Time) {
        while self.entries.front().is_some_and(|entry| entry.at <= until) {
            self.entries.pop_front();
        }
    }

    /// Returns the sequence number of the last request.
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

/// Returns the headers to store, with credentials redacted and long values truncated. The values
/// of repeated headers are joined.
pub(crate) fn redact_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let stored_value = |name: &http::HeaderName| {
        if *name == http::header::AUTHORIZATION
            || name == "x-api-key"
            || *name == http::header::COOKIE
        {
            return REDACTED.to_owned();
        }
        let mut values =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let first = values.next().unwrap_or_default();
        match values.next() {
            None => truncate_text(&first),
            Some(second) => {
                let values: Vec<_> = [first, second].into_iter().chain(values).collect();
                truncate_text(&values.join(", "))
            }
        }
    };
    headers
        .keys()
        .take(MAX_HEADERS)
        .map(|name| (name.as_str().to_owned(), stored_value(name)))
        .collect()
}

/// Truncates a text to the maximum stored length.
pub(crate) fn truncate_text(text: &str) -> String {
    // A text has at most as many characters as bytes.
    match text.len() <= MAX_TEXT_CHARS {
        true => text.to_owned(),
        false => text.chars().take(MAX_TEXT_CHARS).collect(),
    }
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
}
