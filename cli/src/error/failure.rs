//! Failures of commands: what failed, why, and what to do next.
//!
//! The conversion from SDK errors is in `sdk_error`.

mod rendering;

use std::error::Error;
use std::io;
use std::path::Path;

use serde_json::Value;
use svc_sdk::contract::{NextAction, Operation};

use crate::error::{ClientCode, Exit, KeptFlags, SuggestedCommand, Suggestion};
use crate::resource::{Outcome, ResourceId, noun_of_id};

/// What the configuration may have to do with a failure. The session, which knows the configuration, adds the
/// hints for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetupProblem {
    KeyRejected,
    Unreachable,
    WebPage,
}

#[derive(Debug)]
pub(crate) struct Failure(pub(super) Box<Inner>);

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) exit: Exit,
    /// What failed, such as `cannot submit the video`.
    pub(super) context: Option<String>,
    pub(super) message: String,
    pub(super) code: Option<String>,
    /// The code without one of the service, if it differs from what the exit status implies.
    pub(super) client_code: Option<ClientCode>,
    pub(super) status: Option<u16>,
    pub(super) request_id: Option<String>,
    pub(super) details: Option<Value>,
    pub(super) field: Option<String>,
    pub(super) files: Option<Value>,
    pub(super) issues: Vec<String>,
    pub(super) parts: Vec<Failure>,
    pub(super) resource: Option<ResourceId>,
    pub(super) setup_problem: Option<SetupProblem>,
    pub(super) api_keys: Vec<(String, String)>,
    pub(super) idempotency_key: Option<String>,
    pub(super) next_action: Option<String>,
    pub(super) next: Vec<Suggestion>,
    pub(super) resume: Option<SuggestedCommand>,
    /// The operation whose answer does not have the expected fields, and the answer.
    pub(super) unexpected_answer: Option<(Operation, Value)>,
    pub(super) outcome: Option<Outcome>,
    pub(super) silent: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { exit, message: message.into(), ..Inner::default() }))
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message).with_client_code(ClientCode::CONFIGURATION)
    }

    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, message)
    }

    /// Creates the failure of a journal that cannot be used, with all causes, and what else can be done.
    pub(crate) fn journal(what: &str, error: &(dyn Error + 'static), other: &str) -> Self {
        let mut why = error.to_string();
        for cause in causes(error).skip(1).map(ToString::to_string) {
            if !why.contains(&cause) {
                why = format!("{why}: {cause}");
            }
        }
        let space = if is_disk_full(error) { "free disk space, or " } else { "" };
        Self::other(format!("{what}: {why}")).hint(format!("{space}{other}"))
    }

    pub(crate) fn file(context: &str, path: &Path, error: &io::Error) -> Self {
        Self::other(format!("{context} {}: {error}", path.display()))
    }

    /// A closed standard output is success, without a message.
    pub(crate) fn broken_pipe() -> Self {
        let mut failure = Self::new(Exit::Done, "standard output is closed");
        failure.0.silent = true;
        failure
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    pub(crate) fn interrupted_by(mut self, signal: Option<Exit>) -> Self {
        if let Some(exit) = signal.filter(|_| self.0.exit == Exit::Interrupted) {
            self.0.exit = exit;
        }
        self
    }

    /// Creates the failure of a write request that was interrupted by a signal.
    pub(crate) fn interrupted_in_flight() -> Self {
        let message =
            "interrupted before the service responded: the request may have been processed";
        Self::new(Exit::Ambiguous, message)
    }

    /// The most important part decides the exit status.
    pub(crate) fn several(message: impl Into<String>, parts: Vec<Self>) -> Self {
        let exits = parts.iter().map(Self::exit);
        let exit = exits.reduce(Exit::most_important).unwrap_or(Exit::Failure);
        let mut failure = Self::new(exit, message);
        if let Some((first, others)) = parts.split_first()
            && others.iter().all(|it| it.json_code() == first.json_code())
        {
            failure.0.code.clone_from(&first.0.code);
            failure.0.client_code = Some(first.client_code());
            failure.0.setup_problem = first.0.setup_problem;
        }
        failure.0.parts = parts;
        failure
    }

    /// The first failure, if there is one, decides the exit status.
    pub(crate) fn first_of(message: impl Into<String>, mut failures: Vec<Self>) -> Option<Self> {
        let exit = failures.first()?.exit();
        if failures.len() == 1 {
            return failures.pop();
        }
        let mut failure = Self::several(message, failures);
        failure.0.exit = exit;
        Some(failure)
    }

    pub(crate) fn with_part(mut self, part: Self) -> Self {
        self.0.parts.push(part);
        self
    }

    pub(crate) fn with_some<T>(self, value: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => add(self, value),
            None => self,
        }
    }

    pub(crate) fn already_reported(exit: Exit) -> Self {
        let mut failure = Self::new(exit, "");
        failure.0.silent = true;
        failure
    }

    pub(crate) fn and(mut self, words: &str) -> Self {
        self.0.message.push_str("; ");
        self.0.message.push_str(words);
        self
    }

    pub(crate) fn context(mut self, context: impl Into<String>) -> Self {
        self.0.context.get_or_insert(context.into());
        self
    }

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

    pub(crate) fn with_client_code(mut self, code: ClientCode) -> Self {
        self.0.client_code = Some(code);
        self
    }

    /// Returns the operation whose answer does not have the expected fields, and the answer.
    pub(crate) fn unexpected_answer(&self) -> Option<&(Operation, Value)> {
        self.0.unexpected_answer.as_ref()
    }

    pub(crate) fn for_field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// Returns whether the service names this field as the reason.
    pub(crate) fn is_about_field(&self, name: &str) -> bool {
        let details = self.0.details.as_ref();
        details.and_then(|details| details.get("field")).is_some_and(|field| field == name)
    }

    /// Names the flag rather than a rejected field, which stays in the details.
    pub(crate) fn with_field_flag(mut self, flag_of: impl Fn(&str) -> Option<String>) -> Self {
        let inner = &mut *self.0;
        let field = inner
            .details
            .as_ref()
            .and_then(|it| it.get("field")?.as_str())
            .or(inner.field.as_deref());
        let Some(flag) = field.and_then(&flag_of) else { return self };
        let mut parts = inner.message.split('`');
        let mut message = parts.next().unwrap_or_default().to_owned();
        // Every second part is in backticks.
        while let Some(quoted) = parts.next() {
            message.push_str(&flag_of(quoted).unwrap_or_else(|| format!("`{quoted}`")));
            message.push_str(parts.next().unwrap_or_default());
        }
        inner.message = match message.contains(&flag) {
            true => message,
            false => format!("{flag}: {message}"),
        };
        self
    }

    pub(crate) fn with_setup_problem(mut self, problem: Option<SetupProblem>) -> Self {
        self.0.setup_problem = problem;
        self
    }

    pub(crate) fn setup_problem(&self) -> Option<SetupProblem> {
        self.0.setup_problem
    }

    /// Adds an API key that the command used, in its redacted form, with its origin.
    pub(crate) fn with_api_key(mut self, redacted: String, origin: String) -> Self {
        self.0.api_keys.push((redacted, origin));
        self
    }

    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = Some(outcome);
        self
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.0.outcome
    }

    pub(crate) fn hint(mut self, hint: impl Into<Suggestion>) -> Self {
        self.0.next.push(hint.into());
        self
    }

    /// Removes the commands for what was submitted in the sandbox, which ends with the process.
    pub(crate) fn with_flags(mut self, flags: &KeptFlags) -> Self {
        let inner = &mut *self.0;
        if flags.is_sandbox {
            inner.resume = None;
            let id = inner.resource.as_ref().map(ResourceId::id);
            inner.next.retain(|hint| !id.is_some_and(|id| hint.has_word(id)));
        }
        let hints = std::mem::take(&mut inner.next).into_iter();
        inner.next = hints.map(|hint| hint.with_flags(flags)).collect();
        let parts = std::mem::take(&mut inner.parts).into_iter();
        inner.parts = parts.map(|part| part.with_flags(flags)).collect();
        self
    }

    /// Replaces the hints if what was not found is of another kind, as its id shows. `group`, `verb` and
    /// `given` are those of this command, and `has_verb` returns whether another group has the verb.
    pub(crate) fn with_kind_of_id(
        mut self,
        [group, verb, given]: [&str; 3],
        has_verb: &impl Fn(&str) -> bool,
    ) -> Self {
        let inner = &mut *self.0;
        let resource = inner.resource.as_ref();
        let given = if ["action", "format"].contains(&group) { given } else { "" };
        let (expected, id) = resource.map_or((group, given), |it| (it.noun(), it.id()));
        if inner.exit == Exit::NotFound
            && let Some(noun) = noun_of_id(id).filter(|noun| *noun != expected)
        {
            let article = if noun == "action" { "an" } else { "a" };
            let hint = Suggestion::from(format!("this is the id of {article} {noun}: "));
            let verb = if has_verb(noun) { verb } else { "get" };
            inner.next = vec![hint.svc([noun, verb, id])];
        }
        let parts = std::mem::take(&mut inner.parts).into_iter();
        let parts = parts.map(|part| part.with_kind_of_id([group, verb, ""], has_verb));
        inner.parts = parts.collect();
        self
    }

    pub(crate) fn without_hints(mut self) -> Self {
        self.0.next.clear();
        self
    }

    /// Adds that the outcome of an earlier attempt of the same submit is still unknown.
    pub(crate) fn with_unsettled_attempt(mut self) -> Self {
        // The hint to correct the input says that nothing was charged, but the earlier attempt may
        // have been.
        if self.0.next_action.as_deref() == Some(NextAction::FixInput.as_str()) {
            self.0.next.clear();
        }
        self.hint(
            "the outcome of the earlier attempt is still unknown: run the same command again \
            later, which uses the same idempotency key, or pass --new to submit a new request",
        )
    }

    pub(crate) fn issue(mut self, issue: impl Into<String>) -> Self {
        self.0.issues.push(issue.into());
        self
    }

    pub(crate) fn for_job(self, id: impl Into<String>) -> Self {
        self.for_resource(ResourceId::Job(id.into()))
    }

    pub(crate) fn for_resource(mut self, resource: ResourceId) -> Self {
        self.0.resource.get_or_insert(resource);
        self
    }

    pub(crate) fn with_idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.0.idempotency_key.get_or_insert(key.into());
        self
    }

    /// Sets the command that resumes the work, unless it is set.
    pub(crate) fn with_resume(mut self, command: SuggestedCommand) -> Self {
        self.0.resume.get_or_insert(command);
        self
    }

    pub(crate) fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.0.request_id.get_or_insert(id.into());
        self
    }

    pub(crate) fn idempotency_key(&self) -> Option<&str> {
        self.0.idempotency_key.as_deref()
    }

    /// Removes the idempotency key, for a request that was not carried out and is not repeated.
    pub(crate) fn without_idempotency_key(mut self) -> Self {
        self.0.idempotency_key = None;
        self
    }

    /// Removes the command that resumes the work, for a part of a failure whose whole has one.
    pub(crate) fn without_resume(mut self) -> Self {
        self.0.resume = None;
        self
    }

    pub(crate) fn has_resume(&self) -> bool {
        self.0.resume.is_some()
    }

    pub(crate) fn exit(&self) -> Exit {
        self.0.exit
    }

    pub(crate) fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Returns the code in JSON: that of the service, or else the stable name of the kind of failure.
    fn json_code(&self) -> &str {
        self.code().unwrap_or(self.client_code().as_str())
    }

    fn client_code(&self) -> ClientCode {
        let implied = ClientCode::from_exit(self.0.exit);
        self.0.client_code.unwrap_or(implied)
    }

    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.0.exit = exit;
        if exit == Exit::Ambiguous {
            self.0.client_code = Some(ClientCode::AMBIGUOUS);
        }
        self
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.0.silent
    }
}

/// Returns an error, and what caused it.
pub(crate) fn causes<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

pub(crate) fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    let mut kinds =
        causes(error).filter_map(|it| it.downcast_ref::<io::Error>()).map(io::Error::kind);
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    kinds.any(|kind| full.contains(&kind))
}

#[cfg(test)]
mod tests {
    use svc_sdk::journal::StoreError;

    use super::*;

    #[test]
    fn only_a_full_disk_needs_space() {
        for (kind, hint) in [
            (io::ErrorKind::StorageFull, "free disk space, or move"),
            (io::ErrorKind::PermissionDenied, "move"),
        ] {
            let error = StoreError::failed("cannot append", io::Error::from(kind));
            let failure = Failure::journal("no journal", &error, "move");
            assert_eq!(failure.to_json()["error"]["next"][0], hint);
            assert_eq!(failure.headline(), format!("no journal: cannot append: {kind}"));
        }
    }
}
