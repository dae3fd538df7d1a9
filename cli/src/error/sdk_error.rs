//! Conversion of SDK errors to failures: the exit status, the message and the hint.

use std::error::Error as _;

use serde_json::{Value, json};
use svc_sdk::Error;
use svc_sdk::contract::limits::TOP_UP_CENTS_RANGE;
use svc_sdk::contract::{ErrorCode, NextAction, Operation};
use svc_sdk::download::DownloadedFile;
use svc_sdk::transport::TransportError;
use svc_sdk::types::{ErrorBody, Usd};

use crate::error::{ClientCode, Exit, Failure, SetupProblem};
use crate::text::shell_quote;
use crate::types::ResourceId;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = exit_of(&error);
        let code = ClientCode::from_sdk(&error, exit);
        let mut failure = Self::new(exit, message(&error))
            .with_client_code(code)
            .with_response(
                error.code().map(|code| code.as_str().to_owned()),
                error.status(),
                error.request_id().map(|id| id.as_str().to_owned()),
                error
                    .body()
                    .and_then(|body| body.details.as_ref())
                    .filter(|details| !details.is_empty())
                    .and_then(|details| serde_json::to_value(details).ok()),
            );
        failure = failure.with_setup_problem(setup_problem(&error, exit));
        failure =
            failure.with_next_action(error.next_action().map(|action| action.as_str().to_owned()));
        if let Some(resource) = resource_of(&error) {
            failure = failure.for_resource(resource);
        }
        if let Some((operation, answer)) = unexpected_answer(&error) {
            failure = failure.with_unexpected_answer(operation, answer);
        }
        let issues = error.body().map(issues).unwrap_or_default();
        failure = issues.into_iter().fold(failure, Failure::issue);
        if let Some(key) = error.idempotency_key() {
            failure = failure.with_idempotency_key(key.as_str());
        }
        if error.is_download() {
            failure = failure.with_files(error.downloaded_files().iter().map(file_json).collect());
        }
        match hint_for(&error, exit) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

fn file_json(file: &DownloadedFile) -> Value {
    json!({"path": file.path.display().to_string(), "bytes": file.bytes})
}

fn resource_of(error: &Error) -> Option<ResourceId> {
    let job = error.job_id().map(|id| ResourceId::Job(id.to_string()));
    let run = || error.run_id().map(|id| ResourceId::Run(id.to_string()));
    let queue = || error.queue_id().map(|id| ResourceId::Queue(id.to_string()));
    let top_up = || {
        error
            .top_up_id()
            .map(|id| ResourceId::TopUp(id.to_string()))
    };
    job.or_else(run).or_else(queue).or_else(top_up)
}

/// Returns the JSON of an answer that could not be decoded, without its envelope.
fn unexpected_answer(error: &Error) -> Option<(Operation, Value)> {
    let response = error.response().filter(|_| error.is_decode())?;
    let mut answer: Value = serde_json::from_slice(&response.body).ok()?;
    match answer.as_object_mut() {
        Some(envelope) if envelope.len() == 1 && envelope.contains_key("data") => {
            answer = envelope.remove("data")?;
        }
        _ => {}
    }
    Some((error.operation()?, answer))
}

/// Returns the individual problems in an error response.
fn issues(body: &ErrorBody) -> Vec<String> {
    let details = body.details();
    let mut issues: Vec<String> = details.violations.iter().map(ToString::to_string).collect();
    for error in &details.errors {
        if let Some(field) = &error.field {
            let message = error.message.as_deref().unwrap_or("unknown field");
            let guess = error.suggestion.as_ref();
            let guess = guess.map(|it| format!("; did you mean `{it}`?"));
            issues.push(format!("{field}: {message}{}", guess.unwrap_or_default()));
        }
    }
    issues
}

/// Returns the exit status of an error.
fn exit_of(error: &Error) -> Exit {
    if error.is_configuration() || error.is_invalid() {
        return Exit::Usage;
    }
    if error.is_wait_timeout() {
        return Exit::StillRunning;
    }
    if error.is_job_canceled() || error.is_run_canceled() {
        return Exit::JobCanceled;
    }
    if error.is_run_skipped() {
        return Exit::Skipped;
    }
    if error.is_job_failed() || error.is_run_failed() {
        return Exit::JobFailed;
    }
    match error.top_up_status() {
        Some("expired") => return Exit::JobCanceled,
        Some(_) => return Exit::JobFailed,
        None => {}
    }
    // The service was reached, but a file took too long.
    if error.is_download() && error.is_timeout() {
        return Exit::Failure;
    }
    if error.is_ambiguous() && is_write(error) {
        return Exit::Ambiguous;
    }
    if error.is_insufficient_funds() {
        return Exit::Funds;
    }
    if error.is_unauthorized() || error.is_forbidden() {
        return Exit::NotAllowed;
    }
    if error.is_not_found() {
        return Exit::NotFound;
    }
    // A 502 for a URL that the caller passed, such as an attachment, is not an overload.
    let correctable = error.next_action() == Some(NextAction::FixInput);
    let overloaded = error.is_overloaded() || error.code().is_some_and(is_overload);
    if error.is_rate_limited() || (overloaded && !correctable) {
        return Exit::Overloaded;
    }
    if error.is_unreachable() {
        return Exit::Unreachable;
    }
    error
        .status()
        .map_or(Exit::Failure, |status| match Exit::from_status(status) {
            Exit::Done | Exit::Overloaded => Exit::Failure,
            exit => exit,
        })
}

/// Returns whether repeating the operation could have another effect.
fn is_write(error: &Error) -> bool {
    use svc_sdk::contract::RetryClass::{Idempotent, Safe};

    error
        .operation()
        .is_some_and(|operation| !matches!(operation.retry(), Safe | Idempotent))
}

fn is_overload(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DatabaseBusy | ErrorCode::ConcurrencyLimitReached | ErrorCode::RateLimited
    )
}

/// Returns what the configuration may have to do with an error.
fn setup_problem(error: &Error, exit: Exit) -> Option<SetupProblem> {
    // Files are downloaded from other hosts, and without a key.
    if error.is_download() {
        return None;
    }
    if error.snippet().is_some_and(is_web_page) {
        return Some(SetupProblem::WebPage);
    }
    if error.is_unauthorized() {
        return Some(SetupProblem::KeyRejected);
    }
    (exit == Exit::Unreachable).then_some(SetupProblem::Unreachable)
}

fn is_web_page(snippet: &str) -> bool {
    let text = snippet.trim_start().to_ascii_lowercase();
    text.starts_with("<!doctype html") || text.starts_with("<html")
}

/// Returns the message of an error, with its sources.
pub(crate) fn message(error: &Error) -> String {
    // A rejected poll is reported with the service's message, not as a failed status check.
    let is_rejected = error.is_not_found() || error.is_unauthorized() || error.is_forbidden();
    if let Some(body) = error.body()
        && !body.message.is_empty()
        && (is_rejected || !error.is_poll_failure())
    {
        return body.message.clone();
    }
    let text = error.to_string();
    let prefix = error.operation().map(|operation| format!("{operation}: "));
    let text = prefix
        .and_then(|prefix| text.strip_prefix(&prefix).map(str::to_owned))
        .unwrap_or(text);
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
fn missing_cents(error: &Error) -> u64 {
    const MICROS_PER_CENT: u64 = 10_000;

    let details = error.body().map(ErrorBody::details);
    let missing = details.and_then(|details| {
        let available = details.available_usd.unwrap_or(Usd::from_micros(0));
        details.required_usd?.checked_sub(available)
    });
    let micros = missing.and_then(|usd| u64::try_from(usd.micros()).ok());
    let cents = micros.unwrap_or_default().div_ceil(MICROS_PER_CENT);
    cents.clamp(*TOP_UP_CENTS_RANGE.start(), *TOP_UP_CENTS_RANGE.end())
}

fn is_about_model(error: &Error) -> bool {
    let details = error.body().and_then(|body| body.details.as_ref());
    details.is_some_and(|details| details.field.as_deref() == Some("model"))
}

/// Returns what to do about an error.
fn hint_for(error: &Error, exit: Exit) -> Option<String> {
    let wait = error.retry_after().map(|after| after.as_secs().max(1));
    if error.code() == Some(&ErrorCode::OpenKeyRequired) {
        return Some(
            "use an API key of the open surface: svc auth login --surface open".to_owned(),
        );
    }
    if error.code() == Some(&ErrorCode::WorkspaceKeyRequired) {
        return Some("use an API key of the workspace that owns it".to_owned());
    }
    // Files are downloaded without an API key, so another key would not help.
    if error.is_download() && matches!(exit, Exit::NotAllowed | Exit::NotFound) {
        return Some("the link may have expired: get a new one from the job's result".to_owned());
    }
    if error.is_download() && error.is_timeout() {
        return Some("allow more time with --download-timeout".to_owned());
    }
    let text = match (exit, error.next_action()) {
        // The caller adds the command that finds out what happened.
        (Exit::Ambiguous, _) => return None,
        (_, Some(NextAction::Authenticate)) if error.is_forbidden() => {
            "use an API key with the required scope: scopes are fixed when a key is created"
        }
        // The session adds the hints, as it knows where the key comes from.
        (_, Some(NextAction::Authenticate)) => return None,
        (_, Some(NextAction::AddFunds)) => {
            return Some(format!(
                "add funds, then retry: svc top-up create --amount-usd-cents {}",
                missing_cents(error)
            ));
        }
        // Reads are never charged, so the hint for a missing resource does not mention charges.
        (Exit::NotFound, Some(NextAction::FixInput)) if !is_write(error) => {
            let has_id = error.job_id().is_some() || error.run_id().is_some();
            match error.operation() {
                Some(operation) if !operation.path().contains('{') => {
                    "check the URL: `svc config show --origin` shows where it is configured"
                }
                None if !has_id => "list the paths of the API with: svc operations",
                _ => "check the id, and that the API key belongs to the same workspace",
            }
        }
        (_, Some(NextAction::FixInput)) if is_about_model(error) => match error.operation() {
            Some(Operation::ImageGenerate) => {
                "list the models with: svc model list --type image; nothing was charged"
            }
            Some(Operation::VideoGenerate) => {
                "list the models with: svc model list --type video; nothing was charged"
            }
            Some(Operation::OpenEstimate) => {
                "list the models with: svc model list; nothing was charged"
            }
            _ => "correct the input; nothing was charged",
        },
        (_, Some(NextAction::FixInput)) => "correct the input; nothing was charged",
        (_, Some(NextAction::RetryLater)) => {
            return Some(match wait {
                Some(seconds) => format!("retry in {seconds} s"),
                None => "retry later".to_owned(),
            });
        }
        (_, Some(NextAction::PollStatus)) => {
            let (command, id) = match resource_of(error)? {
                ResourceId::Job(id) => ("svc job status", id),
                ResourceId::Run(id) => ("svc run status", id),
                ResourceId::Queue(id) => ("svc queue get", id),
                ResourceId::TopUp(id) => ("svc top-up get", id),
            };
            return Some(format!("check the status: {command} {}", shell_quote(&id)));
        }
        (_, Some(NextAction::ContactSupport)) => {
            "contact the service's support with the request id"
        }
        (Exit::Overloaded, _) => "retry later",
        (Exit::NotAllowed, _) if error.is_forbidden() => "check the API key: svc auth status",
        _ if error
            .status()
            .is_some_and(|status| (300..400).contains(&status)) =>
        {
            "check the URL: redirects are not followed, because the API key would be sent along; `svc config show --origin` shows where the URL is configured"
        }
        _ => return None,
    };
    Some(text.to_owned())
}
