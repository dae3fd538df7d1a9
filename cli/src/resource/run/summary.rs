//! What a run's receipt says at its end: how it went, in a sentence, and what to do about it.

use std::path::Path;

use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::{ErrorBody, RunReceipt};

use super::finished::spend;
use crate::args::SurfaceChoice;
use crate::error::Exit;
use crate::error::Failure;
use crate::session::Session;
use crate::text::clean;
use crate::types::SubjectId;

/// How a run went.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It completed.
    Good(String),
    /// It completed without an output: why, and where it does not fit.
    Short(String, Vec<String>),
    /// It did not complete.
    Bad(Failure),
}

/// How a run went that has ended. `stored` is whether its files are on disk already.
pub(crate) fn of(
    session: &Session,
    run: &str,
    receipt: &RunReceipt,
    kind: &str,
    stored: bool,
) -> Verdict {
    let id = clean(run);
    let spend = spend(receipt);
    match (&receipt.status, &receipt.error) {
        (RunStatus::Canceled, _) => Verdict::Bad(about(
            run,
            Failure::new(
                Exit::JobCanceled,
                format!("run {id} was canceled; what it did before that is billed: {spend}"),
            ),
        )),
        (RunStatus::Skipped, _) => Verdict::Bad(about(
            run,
            Failure::new(
                Exit::Skipped,
                format!("run {id} was skipped; it costs nothing"),
            ),
        )),
        (RunStatus::Failed, _) | (RunStatus::Other(_), Some(_)) => {
            Verdict::Bad(failed(session, run, receipt, kind, stored))
        }
        _ if receipt.is_settling() => Verdict::Short(
            format!(
                "run {id} completed, but its output could not be read yet: {spend}; read it again with: {}",
                session.resume(
                    SurfaceChoice::Developer,
                    &["run", "wait", run, "--kind", kind],
                )
            ),
            Vec::new(),
        ),
        _ if receipt.is_degraded() => {
            let error = receipt.output_error.as_ref();
            let why = error.map(said).unwrap_or_default();
            Verdict::Short(
                format!("run {id} completed, but could not fill the schema: {why}; {spend}"),
                error.map(points).unwrap_or_default(),
            )
        }
        _ => Verdict::Good(format!("run {id} completed: {spend}")),
    }
}

/// What is wrong in particular, a line each.
pub(crate) fn points(error: &ErrorBody) -> Vec<String> {
    let details = error.run_details();
    let mut points: Vec<String> = details.violations.iter().map(ToString::to_string).collect();
    let rejected = details.rejected_urls.iter();
    points.extend(rejected.map(|url| format!("{url} is no file of this run")));
    if let Some(harvested) = details.harvested.as_ref().filter(|it| !it.is_empty()) {
        let made = harvested
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"));
        let made: Vec<String> = made.collect();
        points.push(format!("made all the same: {}", made.join(", ")));
    }
    if let Some(count) = details.pending_job_count {
        points.push(format!("generation jobs that were not finished: {count}"));
    }
    if let Some(reason) = &details.reason {
        points.push(format!("reason: {reason}"));
    }
    if details.charged == Some(false) {
        points.push("nothing was charged".to_owned());
    }
    if points.is_empty()
        && let Some(details) = error.details.as_ref().filter(|it| !it.is_empty())
        && let Ok(json) = serde_json::to_string(details)
    {
        points.push(format!("details: {json}"));
    }
    points
}

/// An error of a receipt in a line.
pub(crate) fn said(error: &ErrorBody) -> String {
    match error.message.as_str() {
        "" => clean(error.code.as_str()),
        message => clean(&format!("{message} ({})", error.code)),
    }
}

fn about(run: &str, failure: Failure) -> Failure {
    failure.about(SubjectId::Run(run.to_owned()))
}

fn failed(session: &Session, run: &str, receipt: &RunReceipt, kind: &str, stored: bool) -> Failure {
    let why = match &receipt.error {
        Some(error) if !error.message.is_empty() => error.message.clone(),
        _ => "the service gives no reason".to_owned(),
    };
    let code = receipt.error.as_ref().map(|error| &error.code);
    let details = receipt.error.as_ref().and_then(|it| it.details.as_ref());
    let failure = about(run, Failure::new(Exit::JobFailed, why))
        .during("the run failed")
        .answered(
            code.map(|code| code.as_str().to_owned()),
            None,
            receipt.request_id.as_ref().map(|id| id.as_str().to_owned()),
            details
                .filter(|details| !details.is_empty())
                .and_then(|details| serde_json::to_value(details).ok()),
        );
    // The error says what the output's error says, unless only one of them has particulars.
    let errors = [&receipt.error, &receipt.output_error];
    let mut points_of = errors.iter().filter_map(|error| error.as_ref()).map(points);
    let points = points_of.find(|points| !points.is_empty());
    let mut failure = points.into_iter().flatten().fold(failure, Failure::point);
    failure = failure.point(format!(
        "{}; work finished before a failure is billed",
        spend(receipt)
    ));
    if session.is_sandbox() {
        return failure;
    }
    failure = match advice(session, run, receipt, kind) {
        Some(advice) => failure.next(advice),
        None => failure,
    };
    if !receipt.artifacts.is_empty() && !stored {
        let command = download_command(session, run, kind, Path::new("DIR"));
        failure = failure.next(format!("fetch what it made: {command}"));
    }
    failure
}

/// What to do about a failed run.
fn advice(session: &Session, run: &str, receipt: &RunReceipt, kind: &str) -> Option<String> {
    let error = receipt.error.as_ref()?;
    let goes_on = kind == "format";
    let spent_it_all = receipt.usage.as_ref().is_some_and(|usage| {
        let cap = usage.generation_spend_cap_usd_micros;
        cap.is_some() && usage.billable_amount_usd_micros >= cap
    });
    Some(match &error.code {
        ErrorCode::UnattendedBlocked if goes_on => format!(
            "a person has to decide: say how, and continue it with: {}",
            continued(session, run, receipt, &["--instruction", "…"])
        ),
        ErrorCode::UnattendedBlocked => {
            "a person has to decide: start it again with an instruction that leaves nothing open"
                .to_owned()
        }
        ErrorCode::FormatRunFailed if spent_it_all && goes_on => format!(
            "it has spent its cap: continue it with a higher one: {}",
            continued(session, run, receipt, &["--cap", "USD"])
        ),
        ErrorCode::FormatRunFailed if spent_it_all => {
            "it has spent its cap: start it again with a higher --cap".to_owned()
        }
        _ if retryable(error) => "start it again: run the same command once more".to_owned(),
        _ if goes_on => format!(
            "start it again, or continue it with: {}",
            continued(session, run, receipt, &[])
        ),
        _ => return None,
    })
}

fn retryable(error: &ErrorBody) -> bool {
    error
        .retryable
        .or(error.run_details().retryable)
        .unwrap_or_else(|| error.code.entry().is_some_and(|entry| entry.retryable))
}

/// The command that continues a Format's run.
fn continued(session: &Session, run: &str, receipt: &RunReceipt, more: &[&str]) -> String {
    let format = receipt
        .format_id
        .as_ref()
        .map_or("FORMAT", |id| id.as_str());
    let mut words = vec!["format", "run", format, "--continue", run];
    words.extend(more);
    session.resume(SurfaceChoice::Developer, &words)
}

/// The command that fetches a run's files.
pub(crate) fn download_command(session: &Session, id: &str, kind: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    let words = ["run", "download", id, "--kind", kind, "--dir", &folder];
    session.resume(SurfaceChoice::Developer, &words)
}
