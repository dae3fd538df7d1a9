//! A failure as it is told: what failed, why, what to do next.
//!
//! How an error of the SDK becomes one is in `blame`.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::Exit;
use crate::text::clean;
use crate::types::Outcome;
use crate::types::SubjectId;

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    exit: Exit,
    /// What was being done: `could not create the video`.
    what: Option<String>,
    /// Why not.
    why: String,
    code: Option<String>,
    status: Option<u16>,
    request_id: Option<String>,
    details: Option<Value>,
    /// What is wrong in particular, a line each.
    points: Vec<String>,
    subject: Option<SubjectId>,
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
    pub(crate) fn new(exit: Exit, why: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            exit,
            what: None,
            why: why.into(),
            code: None,
            status: None,
            request_id: None,
            details: None,
            points: Vec::new(),
            subject: None,
            idempotency_key: None,
            next_action: None,
            next: Vec::new(),
            resume: None,
            outcome: None,
            silent: false,
        }))
    }

    /// Bad usage or configuration.
    pub(crate) fn usage(why: impl Into<String>) -> Self {
        Self::new(Exit::Usage, why)
    }

    /// Any other failure.
    pub(crate) fn other(why: impl Into<String>) -> Self {
        Self::new(Exit::Failure, why)
    }

    /// A file or a folder that does not do what it should.
    pub(crate) fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::other(format!("{what} {}: {error}", path.display()))
    }

    /// Nobody reads standard output any more: nothing is left to say.
    pub(crate) fn reader_left() -> Self {
        let mut failure = Self::new(Exit::Done, "the reader of the output is gone");
        failure.0.silent = true;
        failure
    }

    /// Interrupted by the person at the keyboard.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    /// Interrupted while a request was under way that changes something.
    pub(crate) fn unanswered() -> Self {
        let why = "interrupted before the service answered: it may have been carried out";
        Self::new(Exit::Ambiguous, why)
    }

    /// All has been said already: only the exit code is left.
    pub(crate) fn said(exit: Exit) -> Self {
        let mut failure = Self::new(exit, "");
        failure.0.silent = true;
        failure
    }

    /// What was being done.
    pub(crate) fn during(mut self, what: impl Into<String>) -> Self {
        self.0.what.get_or_insert(what.into());
        self
    }

    /// What the service said of it.
    pub(crate) fn answered(
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
    pub(crate) fn over(mut self, outcome: Outcome) -> Self {
        self.0.outcome = Some(outcome);
        self
    }

    /// What became of what this is about, where that was said beside the exit code.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.0.outcome
    }

    /// What to do next, in the service's own word.
    pub(crate) fn next_action(mut self, action: Option<String>) -> Self {
        self.0.next_action = action;
        self
    }

    /// One thing to do next.
    pub(crate) fn next(mut self, advice: impl Into<String>) -> Self {
        self.0.next.push(advice.into());
        self
    }

    /// One thing that is wrong in particular; the details say it to programs.
    pub(crate) fn point(mut self, point: impl Into<String>) -> Self {
        self.0.points.push(point.into());
        self
    }

    /// The job that this is about.
    pub(crate) fn job(self, id: impl Into<String>) -> Self {
        self.about(SubjectId::Job(id.into()))
    }

    /// The job, run or queue that this is about.
    pub(crate) fn about(mut self, subject: SubjectId) -> Self {
        self.0.subject.get_or_insert(subject);
        self
    }

    /// The key that the request was sent with.
    pub(crate) fn key(mut self, key: impl Into<String>) -> Self {
        self.0.idempotency_key.get_or_insert(key.into());
        self
    }

    /// The command that takes it up again.
    pub(crate) fn resume(mut self, command: impl Into<String>) -> Self {
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
    pub(crate) fn ending(mut self, exit: Exit) -> Self {
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
        let mut line = match &inner.what {
            Some(what) => format!("{what}: {}", clean(&inner.why)),
            None => clean(&inner.why),
        };
        if let Some(code) = &inner.code
            && !inner.why.contains(code.as_str())
        {
            line.push_str(&format!(" ({})", clean(code)));
        }
        line
    }

    /// The lines below the headline.
    pub(crate) fn particulars(&self) -> Vec<String> {
        let inner = &*self.0;
        let named = |name: &str, value: &Option<String>| {
            value
                .as_ref()
                .map(|value| format!("{name}: {}", clean(value)))
        };
        // Where there are points they say what the details say.
        let details = inner
            .details
            .as_ref()
            .filter(|_| inner.points.is_empty())
            .map(|details| format!("details: {}", clean(&details.to_string())));
        let resume = inner
            .resume
            .as_ref()
            .map(|command| format!("take it up again with: {command}"));
        let subject = inner
            .subject
            .as_ref()
            .map(|subject| format!("{}: {}", subject.noun(), clean(subject.id())));
        let points = inner.points.iter().map(|point| clean(point));
        points
            .chain(details)
            .chain(
                inner
                    .next
                    .iter()
                    .map(|advice| format!("next: {}", clean(advice))),
            )
            .chain(resume)
            .chain(subject)
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
        put("what", text(&inner.what));
        put("code", text(&inner.code));
        put("message", Some(inner.why.clone().into()));
        put("status", inner.status.map(Value::from));
        put("request_id", text(&inner.request_id));
        put("details", inner.details.clone());
        put("next_action", text(&inner.next_action));
        put(
            "next",
            Some(inner.next.clone().into()).filter(|_| !inner.next.is_empty()),
        );
        if let Some(subject) = &inner.subject {
            put(subject.field(), Some(subject.id().into()));
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
            .during("could not create the video")
            .answered(
                Some("insufficient_funds".into()),
                Some(402),
                Some("req_1".into()),
                Some(serde_json::json!({"required_usd": "0.7035"})),
            )
            .next("add funds with `svc top-up create`")
            .key("k-1")
    }

    #[test]
    fn a_failure_says_what_why_what_next_and_the_request() {
        assert_eq!(
            failure().headline(),
            "could not create the video: the balance[2J is too small (insufficient_funds)"
        );
        assert_eq!(
            failure().particulars(),
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
