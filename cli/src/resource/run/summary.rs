//! What a run's receipt says at its end: how it went, in a sentence, and what to do about it.

use std::path::Path;

use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::{ErrorBody, RunReceipt};

use super::finished::spend;
use crate::args::SurfaceChoice;
use crate::error::{Exit, Failure};
use crate::session::Session;
use crate::text::sanitize;
use crate::types::ResourceId;

/// How a run went.
#[derive(Debug)]
pub(crate) enum RunSummary {
    /// It completed.
    Completed(String),
    /// It completed without an output: why, and where it does not fit.
    Degraded(String, Vec<String>),
    /// It did not complete.
    Failed(Failure),
}

/// How a run went that has ended. `stored` is whether its files are on disk already.
pub(crate) fn summarize(
    session: &Session,
    run: &str,
    receipt: &RunReceipt,
    kind: &str,
    stored: bool,
) -> RunSummary {
    let id = sanitize(run);
    let spend = spend(receipt);
    match (&receipt.status, &receipt.error) {
        (RunStatus::Canceled, _) => RunSummary::Failed(for_run(
            run,
            Failure::new(
                Exit::JobCanceled,
                format!("run {id} was canceled; what it did before that is billed: {spend}"),
            ),
        )),
        (RunStatus::Skipped, _) => RunSummary::Failed(for_run(
            run,
            Failure::new(
                Exit::Skipped,
                format!("run {id} was skipped; it costs nothing"),
            ),
        )),
        (RunStatus::Failed, _) | (RunStatus::Other(_), Some(_)) => {
            RunSummary::Failed(failed(session, run, receipt, kind, stored))
        }
        _ if receipt.is_output_pending() => RunSummary::Degraded(
            format!(
                "run {id} completed, but its output could not be read yet: {spend}; read it again with: {}",
                session.resume_command(
                    SurfaceChoice::Developer,
                    &["run", "wait", run, "--kind", kind],
                )
            ),
            Vec::new(),
        ),
        _ if receipt.is_degraded() => {
            let error = receipt.output_error.as_ref();
            let why = error.map(error_line).unwrap_or_default();
            RunSummary::Degraded(
                format!("run {id} completed, but could not fill the schema: {why}; {spend}"),
                error.map(error_issues).unwrap_or_default(),
            )
        }
        _ => RunSummary::Completed(format!("run {id} completed: {spend}")),
    }
}

/// What is wrong in particular, a line each.
pub(crate) fn error_issues(error: &ErrorBody) -> Vec<String> {
    let details = error.details();
    let mut issues: Vec<String> = details.violations.iter().map(ToString::to_string).collect();
    let rejected = details.rejected_urls.iter();
    issues.extend(rejected.map(|url| format!("{url} is no file of this run")));
    if let Some(harvested) = details.harvested.as_ref().filter(|it| !it.is_empty()) {
        let generated = harvested
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"));
        let generated: Vec<String> = generated.collect();
        issues.push(format!("made all the same: {}", generated.join(", ")));
    }
    if let Some(count) = details.pending_job_count {
        issues.push(format!("generation jobs that were not finished: {count}"));
    }
    if let Some(reason) = &details.reason {
        issues.push(format!("reason: {reason}"));
    }
    if details.charged == Some(false) {
        issues.push("nothing was charged".to_owned());
    }
    if issues.is_empty()
        && let Some(details) = error.details.as_ref().filter(|it| !it.is_empty())
        && let Ok(json) = serde_json::to_string(details)
    {
        issues.push(format!("details: {json}"));
    }
    issues
}

/// An error of a receipt in a line.
pub(crate) fn error_line(error: &ErrorBody) -> String {
    match error.message.as_str() {
        "" => sanitize(error.code.as_str()),
        message => sanitize(&format!("{message} ({})", error.code)),
    }
}

fn for_run(run: &str, failure: Failure) -> Failure {
    failure.for_resource(ResourceId::Run(run.to_owned()))
}

fn failed(session: &Session, run: &str, receipt: &RunReceipt, kind: &str, stored: bool) -> Failure {
    let why = match &receipt.error {
        Some(error) if !error.message.is_empty() => error.message.clone(),
        _ => "the service gives no reason".to_owned(),
    };
    let code = receipt.error.as_ref().map(|error| &error.code);
    let details = receipt.error.as_ref().and_then(|it| it.details.as_ref());
    let failure = for_run(run, Failure::new(Exit::JobFailed, why))
        .context("the run failed")
        .with_response(
            code.map(|code| code.as_str().to_owned()),
            None,
            receipt.request_id.as_ref().map(|id| id.as_str().to_owned()),
            details
                .filter(|details| !details.is_empty())
                .and_then(|details| serde_json::to_value(details).ok()),
        );
    // The error says what the output's error says, unless only one of them has details.
    let errors = [&receipt.error, &receipt.output_error];
    let mut issue_lists = errors
        .iter()
        .filter_map(|error| error.as_ref())
        .map(error_issues);
    let error_issues = issue_lists.find(|issues| !issues.is_empty());
    let mut failure = error_issues
        .into_iter()
        .flatten()
        .fold(failure, Failure::issue);
    failure = failure.issue(format!(
        "{}; work finished before a failure is billed",
        spend(receipt)
    ));
    if session.is_sandbox() {
        return failure;
    }
    failure = match failure_hint(session, run, receipt, kind) {
        Some(failure_hint) => failure.hint(failure_hint),
        None => failure,
    };
    if !receipt.artifacts.is_empty() && !stored {
        let command = download_command(session, run, kind, Path::new("DIR"));
        failure = failure.hint(format!("fetch what it made: {command}"));
    }
    failure
}

/// What to do about a failed run.
fn failure_hint(session: &Session, run: &str, receipt: &RunReceipt, kind: &str) -> Option<String> {
    let error = receipt.error.as_ref()?;
    let can_continue = kind == "format";
    let is_cap_spent = receipt.usage.as_ref().is_some_and(|usage| {
        let cap = usage.generation_spend_cap_usd_micros;
        cap.is_some() && usage.billable_amount_usd_micros >= cap
    });
    Some(match &error.code {
        ErrorCode::UnattendedBlocked if can_continue => format!(
            "a person has to decide: say how, and continue it with: {}",
            continue_command(session, run, receipt, &["--instruction", "…"])
        ),
        ErrorCode::UnattendedBlocked => {
            "a person has to decide: start it again with an instruction that leaves nothing open"
                .to_owned()
        }
        ErrorCode::FormatRunFailed if is_cap_spent && can_continue => format!(
            "it has spent its cap: continue it with a higher one: {}",
            continue_command(session, run, receipt, &["--cap", "USD"])
        ),
        ErrorCode::FormatRunFailed if is_cap_spent => {
            "it has spent its cap: start it again with a higher --cap".to_owned()
        }
        _ if is_retryable(error) => "start it again: run the same command once more".to_owned(),
        _ if can_continue => format!(
            "start it again, or continue it with: {}",
            continue_command(session, run, receipt, &[])
        ),
        _ => return None,
    })
}

fn is_retryable(error: &ErrorBody) -> bool {
    error
        .retryable
        .or(error.details().retryable)
        .unwrap_or_else(|| {
            error
                .code
                .defaults()
                .is_some_and(|defaults| defaults.retryable)
        })
}

/// The command that continues a Format's run.
fn continue_command(session: &Session, run: &str, receipt: &RunReceipt, more: &[&str]) -> String {
    let format = receipt
        .format_id
        .as_ref()
        .map_or("FORMAT", |id| id.as_str());
    let mut words = vec!["format", "run", format, "--continue", run];
    words.extend(more);
    session.resume_command(SurfaceChoice::Developer, &words)
}

/// The command that fetches a run's files.
pub(crate) fn download_command(session: &Session, id: &str, kind: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    let words = ["run", "download", id, "--kind", kind, "--dir", &folder];
    session.resume_command(SurfaceChoice::Developer, &words)
}
