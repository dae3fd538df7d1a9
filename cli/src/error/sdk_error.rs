//! Conversion of SDK errors to failures: the exit status, the message and the hint.

use std::error::Error as _;
use std::fmt;

use serde_json::{Value, json};
use svc_sdk::contract::limits::TOP_UP_CENTS_RANGE;
use svc_sdk::contract::{ErrorCode, NextAction, Operation};
use svc_sdk::download::DownloadedFile;
use svc_sdk::transport::TransportError;
use svc_sdk::types::{ErrorBody, Usd};
use svc_sdk::{Error, ErrorKind};

use crate::error::failure::Inner;
use crate::error::{ClientCode, Exit, Failure, SetupProblem, Suggestion, causes, is_disk_full};
use crate::output::json::to_value;
use crate::resource::ResourceId;

/// The error of connections that were refused for as long as a command waits for the service.
#[derive(Debug)]
pub(crate) struct ConnectionRefused {
    pub(crate) url: String,
}

impl fmt::Display for ConnectionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not connect to {}: connection refused", self.url)
    }
}

impl std::error::Error for ConnectionRefused {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = exit_of(&error);
        let details = error.body().and_then(|body| body.details.as_ref());
        let details = details.filter(|details| !details.is_empty());
        let files = || error.downloaded_files().iter().map(file_json).collect();
        Self(Box::new(Inner {
            exit,
            message: message(&error),
            code: error.code().map(|code| code.as_str().to_owned()),
            client_code: Some(ClientCode::from_sdk(&error, exit)),
            status: error.status(),
            request_id: error.request_id().map(|id| id.as_str().to_owned()),
            details: details.and_then(|details| to_value(details).ok()),
            files: (error.kind() == ErrorKind::Download).then(files),
            issues: error.body().map(issues).unwrap_or_default(),
            resource: resource_of(&error),
            setup_problem: setup_problem(&error, exit),
            idempotency_key: error.idempotency_key().map(|key| key.as_str().to_owned()),
            next_action: error.next_action().map(|action| action.as_str().to_owned()),
            next: hint_for(&error, exit).into_iter().collect(),
            unexpected_answer: unexpected_answer(&error),
            ..Inner::default()
        }))
    }
}

fn file_json(file: &DownloadedFile) -> Value {
    json!({"path": file.path.display().to_string(), "bytes": file.bytes})
}

fn resource_of(error: &Error) -> Option<ResourceId> {
    let job = error.job_id().map(|id| ResourceId::Job(id.to_string()));
    let run = || error.run_id().map(|id| ResourceId::Run(id.to_string()));
    let queue = || error.queue_id().map(|id| ResourceId::Queue(id.to_string()));
    let top_up = || error.top_up_id().map(|id| ResourceId::TopUp(id.to_string()));
    job.or_else(run).or_else(queue).or_else(top_up)
}

/// Returns the JSON of an answer that could not be decoded, without its envelope.
fn unexpected_answer(error: &Error) -> Option<(Operation, Value)> {
    let response = error.response().filter(|_| error.kind() == ErrorKind::InvalidResponse)?;
    let mut answer: Value = serde_json::from_slice(&response.body).ok()?;
    match answer.as_object_mut() {
        Some(envelope) if envelope.len() == 1 && envelope.contains_key("data") => {
            answer = envelope.remove("data")?;
        }
        _ => {}
    }
    Some((error.operation()?, answer))
}

fn issues(body: &ErrorBody) -> Vec<String> {
    let details = body.details();
    let mut issues: Vec<String> = details.violations.iter().map(ToString::to_string).collect();
    for error in &details.errors {
        if let Some(field) = &error.field {
            let message = error.message.as_deref().unwrap_or("unknown field");
            let guess = error.suggestion.as_ref();
            let guess = guess.filter(|it| !message.contains(&format!("`{it}`")));
            let guess = guess.map(|it| format!("; did you mean `{it}`?"));
            issues.push(format!("{field}: {message}{}", guess.unwrap_or_default()));
        }
    }
    issues
}

/// Returns the error of a service that is not there.
fn refused_connection(error: &Error) -> Option<&ConnectionRefused> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn exit_of(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::Configuration if refused_connection(error).is_some() => {
            return Exit::Unreachable;
        }
        ErrorKind::Configuration | ErrorKind::InvalidRequest => return Exit::Usage,
        ErrorKind::WaitTimeout => return Exit::StillRunning,
        ErrorKind::JobCanceled | ErrorKind::RunCanceled => return Exit::JobCanceled,
        ErrorKind::RunSkipped => return Exit::Skipped,
        ErrorKind::JobFailed | ErrorKind::RunFailed | ErrorKind::UnknownStatus => {
            return Exit::JobFailed;
        }
        ErrorKind::TopUpEnded => {
            return match error.terminal_status() {
                Some("expired") => Exit::JobCanceled,
                _ => Exit::JobFailed,
            };
        }
        // The service was reached, but a file took too long.
        ErrorKind::Download if error.is_timeout() => return Exit::Failure,
        _ => {}
    }
    // A refusal that says nothing of an earlier attempt still tells what to correct first.
    if error.is_ambiguous() && !error.has_unsettled_attempt() && is_write(error) {
        return Exit::Ambiguous;
    }
    if error.is_insufficient_funds() {
        return Exit::Funds;
    }
    if matches!(error.status(), Some(401 | 403)) {
        return Exit::NotAllowed;
    }
    if error.is_not_found() {
        return Exit::NotFound;
    }
    // A 502 for a URL that the caller passed, such as an attachment, is not an overload.
    let correctable = error.next_action() == Some(NextAction::FixInput);
    let overloaded =
        matches!(error.status(), Some(502..=504)) || error.code().is_some_and(is_overload);
    if error.is_rate_limited() || (overloaded && !correctable) {
        return Exit::Overloaded;
    }
    if error.is_unreachable() {
        return Exit::Unreachable;
    }
    error.status().map_or(Exit::Failure, |status| match Exit::from_status(status) {
        Exit::Done | Exit::Overloaded => Exit::Failure,
        exit => exit,
    })
}

/// Returns whether repeating the operation could have another effect.
fn is_write(error: &Error) -> bool {
    use svc_sdk::contract::RetryClass::{Idempotent, Safe};

    error.operation().is_some_and(|operation| !matches!(operation.retry(), Safe | Idempotent))
}

fn is_overload(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DatabaseBusy | ErrorCode::ConcurrencyLimitReached | ErrorCode::RateLimited
    )
}

fn setup_problem(error: &Error, exit: Exit) -> Option<SetupProblem> {
    // Files are downloaded from other hosts, and without a key.
    if error.kind() == ErrorKind::Download {
        return None;
    }
    if error.is_web_page() {
        return Some(SetupProblem::WebPage);
    }
    if error.is_unauthorized() {
        return Some(SetupProblem::KeyRejected);
    }
    (exit == Exit::Unreachable).then_some(SetupProblem::Unreachable)
}

pub(crate) fn message(error: &Error) -> String {
    // A rejected poll is reported with the service's message, not as a failed status check.
    let is_rejected = matches!(error.status(), Some(401 | 403 | 404));
    if let Some(body) = error.body()
        && !body.message.is_empty()
        && (is_rejected || error.kind() != ErrorKind::PollFailed)
    {
        // An estimate has the fields of the body in the field `input`.
        return match error.operation() {
            Some(Operation::OpenEstimate) => body.message.replace("`input.", "`"),
            _ => body.message.clone(),
        };
    }
    if let Some(error) = refused_connection(error) {
        return error.to_string();
    }
    let text = error.to_string();
    let prefix = error.operation().map(|operation| format!("{operation}: "));
    let text =
        prefix.and_then(|prefix| text.strip_prefix(&prefix).map(str::to_owned)).unwrap_or(text);
    with_causes(text, error)
}

/// Appends the sources of an error to its text, unless the text contains them. What is behind the
/// first one that is not of the SDK are details of other libraries.
fn with_causes(mut text: String, error: &Error) -> String {
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        let is_of_sdk = cause.is::<Error>() || cause.is::<TransportError>();
        source = cause.source().filter(|_| is_of_sdk);
    }
    text
}

/// Returns the amount of a top-up that pays for the request, as far as the service says it.
fn missing_cents(body: Option<&ErrorBody>) -> u64 {
    const MICROS_PER_CENT: u64 = 10_000;

    let details = body.map(ErrorBody::details);
    let missing = details.and_then(|details| {
        let available = details.available_usd.unwrap_or(Usd::from_micros(0));
        details.required_usd?.checked_sub(available)
    });
    let micros = missing.and_then(|usd| u64::try_from(usd.as_micros()).ok());
    let cents = micros.unwrap_or_default().div_ceil(MICROS_PER_CENT);
    cents.clamp(*TOP_UP_CENTS_RANGE.start(), *TOP_UP_CENTS_RANGE.end())
}

/// Returns the command that adds what is missing, in dollars.
pub(crate) fn add_funds(body: Option<&ErrorBody>) -> Suggestion {
    let cents = missing_cents(body);
    let dollars = match (cents / 100, cents % 100) {
        (dollars, 0) => dollars.to_string(),
        (dollars, cents) => format!("{dollars}.{cents:02}"),
    };
    Suggestion::from("add funds, then retry: ").svc(["top-up", "create", &dollars])
}

fn is_about_model(error: &Error) -> bool {
    let details = error.body().and_then(|body| body.details.as_ref());
    details.is_some_and(|details| details.field.as_deref() == Some("model"))
}

fn hint_for(error: &Error, exit: Exit) -> Option<Suggestion> {
    let hint = |text: &str| Some(Suggestion::from(text));
    // Reads are never charged.
    let charged = if is_write(error) { "; nothing was charged" } else { "" };
    let list = |text: &str, words: &[&str]| {
        let command = Suggestion::from(text).svc(words.iter().copied());
        Some(command.then(charged))
    };
    let list_models =
        |words: &[&str]| list("list the models with: ", &[&["model", "list"], words].concat());
    let show_origin = |before: &str, after: &str| {
        let command = Suggestion::from(before).svc(["config", "show", "--origin"]);
        Some(command.then(after))
    };
    match error.code() {
        Some(ErrorCode::OpenKeyRequired) => {
            let login = ["auth", "login", "--surface", "open"];
            return Some(Suggestion::from("use an API key of the open surface: ").svc(login));
        }
        Some(ErrorCode::WorkspaceKeyRequired) => {
            return hint("use an API key of the workspace that owns it");
        }
        Some(ErrorCode::FormatNotFound) => {
            return list("list the Formats with: ", &["format", "list"]);
        }
        Some(ErrorCode::ActionNotFound) => {
            return list("list the Actions with: ", &["action", "list"]);
        }
        Some(ErrorCode::ActionApiTriggerDisabled) => {
            let words = ["action", "list", "--trigger-type", "api_call"];
            return list("list the Actions that can be run with: ", &words);
        }
        Some(ErrorCode::ModelNotFound) if !is_write(error) => return list_models(&[]),
        _ => {}
    }
    // Files are downloaded without an API key, so another key would not help.
    if error.kind() == ErrorKind::Download && matches!(exit, Exit::NotAllowed | Exit::NotFound) {
        return hint("the link may have expired: get a new one from the job's result");
    }
    if error.kind() == ErrorKind::Download && error.is_timeout() {
        return hint("allow more time with --download-timeout");
    }
    if is_disk_full(error) {
        return hint("free disk space");
    }
    match (exit, error.next_action()) {
        // The caller adds the command that finds out what happened.
        (Exit::Ambiguous, _) => None,
        (_, Some(NextAction::Authenticate)) if error.status() == Some(403) => {
            hint("use an API key with the required scope: scopes are fixed when a key is created")
        }
        // The session adds the hints, as it knows where the key comes from.
        (_, Some(NextAction::Authenticate)) => None,
        (_, Some(NextAction::AddFunds)) => Some(add_funds(error.body())),
        (Exit::NotFound, Some(NextAction::FixInput)) if !is_write(error) => {
            let has_id = resource_of(error).is_some();
            match error.operation() {
                Some(operation) if !operation.path().contains('{') => {
                    show_origin("check the URL: `", "` shows where it is configured")
                }
                None if !has_id => {
                    Some(Suggestion::from("list the paths of the API with: ").svc(["operations"]))
                }
                _ => hint("check the id, and that the API key belongs to the same workspace"),
            }
        }
        (_, Some(NextAction::FixInput)) if is_about_model(error) => match error.operation() {
            Some(Operation::ImageGenerate) => list_models(&["--type", "image"]),
            Some(Operation::VideoGenerate) => list_models(&["--type", "video"]),
            Some(Operation::OpenEstimate) => list_models(&[]),
            _ => hint(&format!("correct the input{charged}")),
        },
        (_, Some(NextAction::FixInput)) => hint(&format!("correct the input{charged}")),
        (_, Some(NextAction::RetryLater)) => match error.retry_after() {
            Some(after) => hint(&format!("retry in {} s", after.as_secs().max(1))),
            None => hint("retry later"),
        },
        (_, Some(NextAction::PollStatus)) => {
            let resource = resource_of(error)?;
            let get = [resource.noun(), "get", resource.id()];
            Some(Suggestion::from("check the status: ").svc(get))
        }
        (_, Some(NextAction::ContactSupport)) => {
            hint("contact the service's support with the request id")
        }
        (Exit::Overloaded, _) => hint("retry later"),
        (Exit::NotAllowed, _) if error.status() == Some(403) => {
            Some(Suggestion::from("check the API key: ").svc(["auth", "status"]))
        }
        _ if error.status().is_some_and(|status| (300..400).contains(&status)) => show_origin(
            "check the URL: redirects are not followed, because the API key would be sent along; `",
            "` shows where the URL is configured",
        ),
        _ => None,
    }
}
