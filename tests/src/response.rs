//! An HTTP response, and the assertions that hold for every response of the service.

use std::fmt;

use bytes::Bytes;
use serde_json::Value;

/// The values that the developer surface allows for `next_action`.
const NEXT_ACTIONS: [&str; 7] = [
    "authenticate",
    "fix_input",
    "add_funds",
    "retry_later",
    "poll_status",
    "contact_support",
    "none",
];

/// A complete response, together with a description of its request for assertion messages.
#[derive(Clone)]
pub struct Response {
    request: String,
    response: http::Response<Bytes>,
}

/// Formats the request line, the status, the headers and the start of the body.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.request, self.response.status())?;
        write!(f, "{}\n{:.2000}", self.header_text(), self.text())
    }
}

impl Response {
    pub(crate) fn new(request: String, response: http::Response<Bytes>) -> Self {
        Self { request, response }
    }

    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn body(&self) -> &Bytes {
        self.response.body()
    }

    /// Returns the body as text, with invalid UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.body()).into_owned()
    }

    /// Returns the headers, one a line.
    pub fn header_text(&self) -> String {
        let headers = self.response.headers().iter();
        headers.fold(String::new(), |text, (name, value)| {
            text + &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()))
        })
    }

    /// Returns a header's value if it is present and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Returns the value of a required header that is a whole number.
    #[track_caller]
    pub fn int_header(&self, name: &str) -> u64 {
        let value = self.header(name);
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("header {name} is {value:?}, not an integer, in\n{self:?}"))
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(self.body())
            .unwrap_or_else(|error| panic!("the body is not JSON ({error}):\n{self:?}"))
    }

    pub fn is_json(&self) -> bool {
        serde_json::from_slice::<Value>(self.body()).is_ok()
    }

    /// Returns `data` of a successful response.
    #[track_caller]
    pub fn data(&self) -> Value {
        assert!(self.response.status().is_success(), "{self:?}");
        match self.json() {
            Value::Object(mut body) if body.contains_key("data") => body.remove("data").unwrap(),
            _ => panic!("`data` is missing in\n{self:?}"),
        }
    }

    /// Returns the items of a successful list response.
    #[track_caller]
    pub fn items(&self) -> Vec<Value> {
        match self.data() {
            Value::Array(items) => items,
            other => panic!("`data` is not an array: {other}"),
        }
    }

    /// Returns `error` of an error response.
    #[track_caller]
    pub fn error(&self) -> Value {
        let error = self.json()["error"].take();
        assert!(error.is_object(), "`error` is not an object in\n{self:?}");
        error
    }

    #[track_caller]
    pub fn code(&self) -> String {
        let error = self.error();
        let code = error["code"].as_str();
        code.unwrap_or_else(|| panic!("`code` is not a string in {error}")).to_owned()
    }

    /// Asserts the status and returns the response.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status(), status, "expected {status}, got\n{self:?}");
        self
    }

    /// Asserts a 2xx status and returns the response.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert!(self.response.status().is_success(), "{self:?}");
        self
    }

    /// Asserts the status and the error code, and returns the `error` object.
    #[track_caller]
    pub fn expect_error(&self, status: u16, code: &str) -> Value {
        let expected = format!("expected {status} {code}, got\n{self:?}");
        assert_eq!(self.status(), status, "{expected}");
        assert_eq!(self.code(), code, "{expected}");
        self.error()
    }

    /// Asserts what the specification requires of every response of the two surfaces.
    #[track_caller]
    pub(crate) fn check_conventions(&self, is_developer: bool, is_head: bool) {
        let request_id = self.header("x-svc-request-id").unwrap_or_default();
        assert!(!request_id.is_empty(), "x-svc-request-id in\n{self:?}");
        if is_head {
            assert!(self.body().is_empty(), "HEAD with a body:\n{self:?}");
            return;
        }
        if self.is_json() {
            self.check_seconds(&self.json()["data"]["next_poll_after_seconds"]);
            self.check_seconds(&self.json()["error"]["retry_after_seconds"]);
        }
        // Errors of the MCP protocol are JSON-RPC errors, which have no envelope.
        if self.status() < 300 || self.is_json() && self.json().get("jsonrpc").is_some() {
            return;
        }
        let error = self.error();
        let code = self.code();
        let is_token =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        assert!(!code.is_empty() && code.bytes().all(is_token), "code {code:?}");
        assert!(error["message"].is_string(), "message in {error}");
        assert_eq!(error["request_id"], request_id, "request_id in {error}");
        if is_developer {
            for name in ["category", "stage", "public_reason"] {
                assert!(error.get(name).is_some(), "{name} in {error}");
            }
            assert!(error["retryable"].is_boolean(), "retryable in {error}");
            let action = error["next_action"].as_str().unwrap_or_default();
            assert!(NEXT_ACTIONS.contains(&action), "next_action in {error}");
        }
    }

    /// Asserts that a number of seconds to wait, if there is one, is in whole milliseconds.
    #[track_caller]
    fn check_seconds(&self, seconds: &Value) {
        let millis = seconds.as_f64().unwrap_or_default() * 1_000.0;
        assert!((millis - millis.round()).abs() < 1e-6, "{seconds} seconds in\n{self:?}");
    }

    /// Asserts what the specification requires of every response to an authenticated request.
    #[track_caller]
    pub(crate) fn check_rate_limit_headers(&self) {
        let limit = self.int_header("ratelimit-limit");
        assert!(self.int_header("ratelimit-remaining") <= limit, "{self:?}");
        assert!(self.int_header("ratelimit-reset") <= 60, "{self:?}");
        if self.status() == 429 {
            self.int_header("retry-after");
        }
    }
}
