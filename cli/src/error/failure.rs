//! A failure as it is told: what failed, why, what to do next.
//!
//! How an error of the SDK becomes one is in `sdk_error`.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::Exit;
use crate::text::sanitize;
use crate::types::{Outcome, ResourceId};

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    exit: Exit,
    /// What was being done: `could not create the video`.
    context: Option<String>,
    /// Why not.
    message: String,
    code: Option<String>,
    status: Option<u16>,
    request_id: Option<String>,
    details: Option<Value>,
    /// What is wrong in particular, a line each.
    issues: Vec<String>,
    resource: Option<ResourceId>,
    idempotency_key: Option<String>,
    next_action: Option<String>,
    next: Vec<String>,
    resume: Option<String>,
    /// What became of what this is about, where the exit code says something else.
    outcome: Option<Outcome>,
    silent: bool,
}

impl Failure {
    /// A failure that ends the program so.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            exit,
            context: None,
            message: message.into(),
            code: None,
            status: None,
            request_id: None,
            details: None,
            issues: Vec::new(),
            resource: None,
            idempotency_key: None,
            next_action: None,
            next: Vec::new(),
            resume: None,
            outcome: None,
            silent: false,
        }))
    }

    /// Bad usage or configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Any other failure.
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, message)
    }

    /// A file or a folder that does not do what it should.
    pub(crate) fn file(context: &str, path: &Path, error: &io::Error) -> Self {
        Self::other(format!("{context} {}: {error}", path.display()))
    }

    /// Nobody reads standard output any more: nothing is left to say.
    pub(crate) fn broken_pipe() -> Self {
        let mut failure = Self::new(Exit::Done, "the reader of the output is gone");
        failure.0.silent = true;
        failure
    }

    /// Interrupted by the person at the keyboard.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    /// Interrupted while a request was under way that changes something.
    pub(crate) fn interrupted_in_flight() -> Self {
        let message = "interrupted before the service answered: it may have been carried out";
        Self::new(Exit::Ambiguous, message)
    }

    /// All has been said already: only the exit code is left.
    pub(crate) fn already_reported(exit: Exit) -> Self {
        let mut failure = Self::new(exit, "");
        failure.0.silent = true;
        failure
    }

    /// What was being done.
    pub(crate) fn context(mut self, context: impl Into<String>) -> Self {
        self.0.context.get_or_insert(context.into());
        self
    }

    /// What the service said of it.
    pub(crate) fn with_response(
        mut self,
        code: Option<String>,
        status: Option<u16>,
        request_id: Option<String>,
        details: Option<Value>,
    ) -> Self {
        self.0.code = code;
        self.0.status = status;
        self.0.request_id = request_id;
        self.0.details = details;
        self
    }

    /// What became of what this is about, where the exit code says something else.
    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = Some(outcome);
        self
    }

    /// What became of what this is about, where that was said beside the exit code.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.0.outcome
    }

    /// What to do next, in the service's own word.
    pub(crate) fn with_next_action(mut self, action: Option<String>) -> Self {
        self.0.next_action = action;
        self
    }

    /// One thing to do next.
    pub(crate) fn hint(mut self, advice: impl Into<String>) -> Self {
        self.0.next.push(advice.into());
        self
    }

    /// One thing that is wrong in particular; the details say it to programs.
    pub(crate) fn issue(mut self, issue: impl Into<String>) -> Self {
        self.0.issues.push(issue.into());
        self
    }

    /// The job that this is about.
    pub(crate) fn for_job(self, id: impl Into<String>) -> Self {
        self.for_resource(ResourceId::Job(id.into()))
    }

    /// The job, run or queue that this is about.
    pub(crate) fn for_resource(mut self, resource: ResourceId) -> Self {
        self.0.resource.get_or_insert(resource);
        self
    }

    /// The key that the request was sent with.
    pub(crate) fn with_idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.0.idempotency_key.get_or_insert(key.into());
        self
    }

    /// The command that takes it up again.
    pub(crate) fn with_resume(mut self, command: impl Into<String>) -> Self {
        self.0.resume.get_or_insert(command.into());
        self
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.0.exit
    }

    /// The service's code, where it sent one.
    pub(crate) fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The HTTP status of the answer, where one came.
    pub(crate) fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The same failure, with another exit code.
    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.0.exit = exit;
        self
    }

    /// Whether there is nothing to say.
    pub(crate) fn is_silent(&self) -> bool {
        self.0.silent
    }

    /// One line: what and why.
    pub(crate) fn headline(&self) -> String {
        let inner = &*self.0;
        let mut line = match &inner.context {
            Some(context) => format!("{context}: {}", sanitize(&inner.message)),
            None => sanitize(&inner.message),
        };
        if let Some(code) = &inner.code
            && !inner.message.contains(code.as_str())
        {
            line.push_str(&format!(" ({})", sanitize(code)));
        }
        line
    }

    /// The lines below the headline.
    pub(crate) fn detail_lines(&self) -> Vec<String> {
        let inner = &*self.0;
        let named = |name: &str, value: &Option<String>| {
            value
                .as_ref()
                .map(|value| format!("{name}: {}", sanitize(value)))
        };
        // Where there are points they say what the details say.
        let details = inner
            .details
            .as_ref()
            .filter(|_| inner.issues.is_empty())
            .map(|details| format!("details: {}", sanitize(&details.to_string())));
        let resume = inner
            .resume
            .as_ref()
            .map(|command| format!("take it up again with: {command}"));
        let resource = inner
            .resource
            .as_ref()
            .map(|resource| format!("{}: {}", resource.noun(), sanitize(resource.id())));
        let issues = inner.issues.iter().map(|issue| sanitize(issue));
        issues
            .chain(details)
            .chain(
                inner
                    .next
                    .iter()
                    .map(|advice| format!("next: {}", sanitize(advice))),
            )
            .chain(resume)
            .chain(resource)
            .chain(named("idempotency key", &inner.idempotency_key))
            .chain(named("request id", &inner.request_id))
            .collect()
    }

    /// The failure as one JSON object.
    pub(crate) fn to_json(&self) -> Value {
        let inner = &*self.0;
        let mut error = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                error.insert(name.to_owned(), value);
            }
        };
        let text = |value: &Option<String>| value.clone().map(Value::from);
        put("what", text(&inner.context));
        put("code", text(&inner.code));
        put("message", Some(inner.message.clone().into()));
        put("status", inner.status.map(Value::from));
        put("request_id", text(&inner.request_id));
        put("details", inner.details.clone());
        put("next_action", text(&inner.next_action));
        put(
            "next",
            Some(inner.next.clone().into()).filter(|_| !inner.next.is_empty()),
        );
        if let Some(resource) = &inner.resource {
            put(resource.field(), Some(resource.id().into()));
        }
        put("idempotency_key", text(&inner.idempotency_key));
        put("resume", text(&inner.resume));
        put("exit_code", Some(inner.exit.code().into()));
        Value::Object(Map::from_iter([("error".to_owned(), Value::Object(error))]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Failure {
        Failure::new(Exit::Funds, "the balance\u{1b}[2J is too small")
            .context("could not create the video")
            .with_response(
                Some("insufficient_funds".into()),
                Some(402),
                Some("req_1".into()),
                Some(serde_json::json!({"required_usd": "0.7035"})),
            )
            .hint("add funds with `svc top-up create`")
            .with_idempotency_key("k-1")
    }

    #[test]
    fn a_failure_says_what_why_what_next_and_the_request() {
        assert_eq!(
            failure().headline(),
            "could not create the video: the balance[2J is too small (insufficient_funds)"
        );
        assert_eq!(
            failure().detail_lines(),
            [
                "details: {\"required_usd\":\"0.7035\"}",
                "next: add funds with `svc top-up create`",
                "idempotency key: k-1",
                "request id: req_1",
            ]
        );
    }

    #[test]
    fn as_json_it_is_one_object_with_the_text_as_it_came() {
        assert_eq!(
            failure().to_json(),
            serde_json::json!({"error": {
                "what": "could not create the video", "code": "insufficient_funds",
                "message": "the balance\u{1b}[2J is too small", "status": 402, "request_id": "req_1",
                "details": {"required_usd": "0.7035"}, "next": ["add funds with `svc top-up create`"],
                "idempotency_key": "k-1", "exit_code": 5
            }})
        );
    }
}
