//! An answer, and what holds for every answer of the service.

use std::fmt;

use bytes::Bytes;
use serde_json::Value;

/// A whole answer.
#[derive(Clone)]
pub struct Answer {
    response: http::Response<Bytes>,
}

/// Head and body as text, for a test that fails.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.response.status())?;
        for (name, value) in self.response.headers() {
            writeln!(f, "{name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        let body = String::from_utf8_lossy(self.response.body());
        let shown: String = body.chars().take(2_000).collect();
        write!(f, "\n{shown}")
    }
}

impl Answer {
    pub(crate) fn new(response: http::Response<Bytes>) -> Self {
        Self { response }
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        self.response.body()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.response.body()).into_owned()
    }

    /// A header's value, where it is there and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// A header's value, which has to be there and be a whole number.
    #[track_caller]
    pub fn number(&self, name: &str) -> u64 {
        let value = self
            .header(name)
            .unwrap_or_else(|| panic!("no header {name} in\n{self:?}"));
        value
            .parse()
            .unwrap_or_else(|_| panic!("header {name} is {value:?}, no whole number"))
    }

    /// The body, which has to be JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(self.body())
            .unwrap_or_else(|error| panic!("the body is no JSON ({error}):\n{self:?}"))
    }

    /// Whether the body is JSON.
    #[must_use]
    pub fn is_json(&self) -> bool {
        serde_json::from_slice::<Value>(self.body()).is_ok()
    }

    /// What a successful body has under `data`.
    #[track_caller]
    pub fn data(&self) -> Value {
        assert!(
            self.response.status().is_success(),
            "expected a success:\n{self:?}"
        );
        match self.json() {
            Value::Object(mut body) if body.contains_key("data") => body.remove("data").unwrap(),
            other => panic!("no `data` in {other}"),
        }
    }

    /// The items of a list.
    #[track_caller]
    pub fn items(&self) -> Vec<Value> {
        match self.data() {
            Value::Array(items) => items,
            other => panic!("`data` is no list: {other}"),
        }
    }

    /// What a refusal has under `error`.
    #[track_caller]
    pub fn error(&self) -> Value {
        let body = self.json();
        let error = body
            .get("error")
            .unwrap_or_else(|| panic!("no `error` in\n{self:?}"));
        assert!(error.is_object(), "`error` is no object: {error}");
        error.clone()
    }

    /// The refusal's code.
    #[track_caller]
    pub fn code(&self) -> String {
        let error = self.error();
        error["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no code in {error}"))
            .to_owned()
    }

    /// Asserts the status and gives the answer on.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status(), status, "expected {status}, got\n{self:?}");
        self
    }

    /// Asserts a refusal with that status and code, and gives its `error`.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(
            self.status(),
            status,
            "expected {status} {code}, got\n{self:?}"
        );
        assert_eq!(self.code(), code, "expected {status} {code}, got\n{self:?}");
        self.error()
    }

    /// Asserts what the specification says of every answer of the two surfaces.
    #[track_caller]
    pub(crate) fn follows_the_conventions(&self, developer: bool, head: bool) {
        let request_id = self
            .header("x-svc-request-id")
            .unwrap_or_else(|| panic!("an answer without x-svc-request-id:\n{self:?}"));
        assert!(
            !request_id.is_empty(),
            "an empty x-svc-request-id:\n{self:?}"
        );
        if head {
            assert!(
                self.body().is_empty(),
                "an answer to HEAD with a body:\n{self:?}"
            );
            return;
        }
        // What MCP refuses of a message is an error of JSON-RPC.
        if self.status() < 300 || self.is_json() && self.json().get("jsonrpc").is_some() {
            return;
        }
        let error = self.error();
        let code = self.code();
        let token = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        assert!(
            !code.is_empty() && code.bytes().all(token),
            "code {code:?} is no token"
        );
        assert!(error["message"].is_string(), "no message in {error}");
        assert_eq!(
            error["request_id"], request_id,
            "another request id in {error}"
        );
        if developer {
            self.has_developer_fields(&error);
        }
    }

    /// Asserts what the specification says of every answer to an authenticated request.
    #[track_caller]
    pub(crate) fn tells_the_budget(&self) {
        let limit = self.number("ratelimit-limit");
        let remaining = self.number("ratelimit-remaining");
        assert!(remaining <= limit, "more left than there was:\n{self:?}");
        assert!(
            self.number("ratelimit-reset") <= 60,
            "a window is a minute:\n{self:?}"
        );
        if self.status() == 429 {
            self.number("retry-after");
        }
    }

    #[track_caller]
    fn has_developer_fields(&self, error: &Value) {
        for name in [
            "category",
            "stage",
            "public_reason",
            "retryable",
            "next_action",
        ] {
            assert!(error.get(name).is_some(), "no {name} in {error}");
        }
        assert!(error["retryable"].is_boolean(), "retryable in {error}");
        let actions = [
            "authenticate",
            "fix_input",
            "add_funds",
            "retry_later",
            "poll_status",
            "contact_support",
            "none",
        ];
        let action = error["next_action"].as_str().unwrap_or_default();
        assert!(actions.contains(&action), "next_action in {error}");
    }
}
