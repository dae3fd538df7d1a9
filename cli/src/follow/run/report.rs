//! Summaries of finished runs, with hints about failures.

use std::path::Path;

use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::{ErrorBody, RunEvent, RunReceipt, RunStatusPayload, RunUsage};

use crate::args::SurfaceChoice;
use crate::error::{ClientCode, Exit, Failure, SuggestedCommand, Suggestion};
use crate::follow::ResultWithFiles;
use crate::output::Table;
use crate::output::json::to_value;
use crate::output::layout::{cut, number, required, status, time, whole};
use crate::output::values::{
    add_artifacts, date_and_time, error_label, error_text, money, time_ago,
};
use crate::resource::ResourceId;
use crate::session::Session;
use crate::text::sanitize;

pub(crate) type FinishedRun = ResultWithFiles<RunReceipt>;

/// Describes the spend of a run and its cap. An unreadable amount is unknown rather than 0.
pub(crate) fn spend(receipt: &RunReceipt) -> String {
    let cap = receipt.usage.as_ref().and_then(RunUsage::generation_spend_cap);
    match (receipt.billable_amount().map(money), cap.map(money)) {
        (Some(spent), Some(cap)) => format!("spent {spent} of a cap of {cap}"),
        (Some(spent), None) => format!("spent {spent}"),
        (None, Some(cap)) => format!("spend unknown, of a cap of {cap}"),
        (None, None) => "spend unknown".to_owned(),
    }
}

/// Says how a run ended, and shows the problems of the only one. Returns its failure, or that of its download.
pub(super) fn report_end(
    session: &Session,
    run: &str,
    kind: &str,
    finished: &mut FinishedRun,
    is_only: bool,
) -> Option<Failure> {
    let download = finished.failure.take();
    let receipt = &finished.result;
    let (id, spend, printer) = (sanitize(run), spend(receipt), &session.printer);
    let failed = match (&receipt.status, &receipt.error) {
        (RunStatus::Canceled, _) => {
            let why = format!("run {id} was canceled; work done before that is billed: {spend}");
            for_run(run, Failure::new(Exit::JobCanceled, why))
        }
        (RunStatus::Skipped, _) => {
            let why = format!("run {id} was skipped; nothing was charged");
            for_run(run, Failure::new(Exit::Skipped, why))
        }
        // A receipt without a status whose output is there.
        (RunStatus::Other(status), None) if status.is_empty() && receipt.output.is_some() => {
            printer.note(&format!("run {id} completed: {spend}"));
            return download;
        }
        (RunStatus::Failed | RunStatus::Other(_), _) => {
            run_failure(session, run, receipt, kind, finished.files.is_some())
        }
        _ if receipt.is_output_pending() => {
            let words = ["run", "wait", run, "--kind", kind];
            printer.warn(&format!(
                "run {id} completed, but its output is not available yet: {spend}; retry with: {}",
                session.resume_command(SurfaceChoice::Developer, &words)
            ));
            return download;
        }
        _ if receipt.is_degraded() => {
            let error = receipt.output_error.as_ref();
            let why = error.map(error_text).unwrap_or_default();
            printer.warn(&format!(
                "run {id} completed without an output that fits the schema: {why}; {spend}"
            ));
            for issue in error.filter(|_| is_only).into_iter().flat_map(error_issues) {
                printer.note(&format!("  {}", sanitize(&issue)));
            }
            return download;
        }
        _ => {
            printer.note(&format!("run {id} completed: {spend}"));
            return download;
        }
    };
    Some(failed.with_some(download, Failure::with_part))
}

pub(crate) fn error_issues(error: &ErrorBody) -> Vec<String> {
    let details = error.details();
    let mut issues: Vec<String> = details.violations.iter().map(ToString::to_string).collect();
    let rejected = details.rejected_urls.iter();
    issues.extend(rejected.map(|url| format!("{url} is not a file of this run")));
    if let Some(harvested) = details.harvested.as_ref().filter(|it| !it.is_empty()) {
        let generated = harvested.iter().map(|(kind, count)| format!("{count} {kind}"));
        let generated: Vec<String> = generated.collect();
        issues.push(format!("generated nevertheless: {}", generated.join(", ")));
    }
    if let Some(count) = details.pending_job_count {
        issues.push(format!("unfinished generation jobs: {count}"));
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

fn for_run(run: &str, failure: Failure) -> Failure {
    failure.for_resource(ResourceId::Run(run.to_owned()))
}

fn run_failure(
    session: &Session,
    run: &str,
    receipt: &RunReceipt,
    kind: &str,
    is_downloaded: bool,
) -> Failure {
    let why = match &receipt.error {
        Some(error) if !error.message.is_empty() => error.message.clone(),
        _ => "the service did not give a reason".to_owned(),
    };
    let code = receipt.error.as_ref().map(|error| &error.code);
    let details = receipt.error.as_ref().and_then(|it| it.details.as_ref());
    let failure = for_run(run, Failure::new(Exit::JobFailed, why))
        .context(match &receipt.status {
            RunStatus::Other(status) if !status.is_empty() => {
                format!("the run ended with status {}", sanitize(status))
            }
            _ => "the run failed".to_owned(),
        })
        .with_response(
            code.map(|code| code.as_str().to_owned()).filter(|code| !code.is_empty()),
            None,
            receipt.request_id.as_ref().map(|id| id.as_str().to_owned()),
            details
                .filter(|details| !details.is_empty())
                .and_then(|details| to_value(details).ok()),
        );
    let failure = match &receipt.status {
        RunStatus::Other(_) => failure.with_client_code(ClientCode::UNKNOWN_STATUS),
        _ => failure,
    };
    // The output error repeats the error, unless only one of them has details.
    let errors = [&receipt.error, &receipt.output_error];
    let mut issue_lists = errors.iter().filter_map(|error| error.as_ref()).map(error_issues);
    let error_issues = issue_lists.find(|issues| !issues.is_empty());
    let mut failure = error_issues.into_iter().flatten().fold(failure, Failure::issue);
    failure =
        failure.issue(format!("{}; work completed before a failure is billed", spend(receipt)));
    if session.is_sandbox() {
        return failure;
    }
    failure = failure.with_some(failure_hint(session, run, receipt, kind), Failure::hint);
    if !receipt.artifacts.is_empty() && !is_downloaded {
        let command = download_command(session, run, kind, Path::new("DIR"));
        failure = failure.hint(Suggestion::from("download its files: ").command(command));
    }
    failure
}

fn failure_hint(
    session: &Session,
    run: &str,
    receipt: &RunReceipt,
    kind: &str,
) -> Option<Suggestion> {
    let error = receipt.error.as_ref()?;
    let can_continue = kind == "format";
    let is_cap_spent = receipt.usage.as_ref().is_some_and(|usage| {
        let cap = usage.generation_spend_cap_usd_micros;
        cap.is_some() && usage.billable_amount_usd_micros >= cap
    });
    let continued = |text: &str, flags: &[&str]| {
        let format = receipt.format_id.as_ref().map_or("FORMAT", |id| id.as_str());
        let words = [&["format", "run", format, "--continue", run], flags].concat();
        let command = session.resume_command(SurfaceChoice::Developer, &words);
        Suggestion::from(text).command(command)
    };
    Some(match &error.code {
        ErrorCode::UnattendedBlocked if can_continue => continued(
            "the run needs a decision: continue it with instructions: ",
            &["--instruction", "…"],
        ),
        ErrorCode::UnattendedBlocked => {
            "the run needs a decision: start it again with more specific instructions".into()
        }
        ErrorCode::FormatRunFailed if is_cap_spent && can_continue => continued(
            "the run reached its spend cap: continue it with a higher one: ",
            &["--cap", "USD"],
        ),
        ErrorCode::FormatRunFailed if is_cap_spent => {
            "the run reached its spend cap: start it again with a higher --cap".into()
        }
        _ if is_retryable(error) => "retry: run the same command again".into(),
        _ if can_continue => continued("start it again, or continue it with: ", &[]),
        _ => return None,
    })
}

fn is_retryable(error: &ErrorBody) -> bool {
    error
        .retryable
        .or(error.details().retryable)
        .unwrap_or_else(|| error.code.defaults().is_some_and(|defaults| defaults.retryable))
}

pub(crate) fn download_command(
    session: &Session,
    id: &str,
    kind: &str,
    folder: &Path,
) -> SuggestedCommand {
    let folder = folder.display().to_string();
    let words = ["run", "download", id, "--kind", kind, "--dir", &folder];
    session.resume_command(SurfaceChoice::Developer, &words)
}

pub(crate) fn list(runs: &[RunReceipt]) -> Table {
    let mut table = Table::new([
        required("id"),
        status("status"),
        number("price"),
        number("artifacts"),
        time("created"),
        cut("error"),
    ]);
    for run in runs {
        let spent = run.billable_amount();
        table.row([
            run.id().as_ref().map_or("", |id| id.as_str()),
            run.status.as_str(),
            &spent.map_or_else(|| "unknown".to_owned(), money),
            &run.artifacts.len().to_string(),
            &time_ago(run.created_at.as_ref()),
            run.error.as_ref().map_or("", error_label),
        ]);
    }
    table
}

pub(crate) fn status_table(status: &RunStatusPayload) -> Table {
    let fields = "id=run_id, kind, status, terminal, result ready=result_ready";
    let mut table = Table::of(status, fields);
    let next = status.poll_after;
    table.field("next poll", next.map(|hint| format!("in {} s", hint.as_secs_f64())));
    table
}

/// Returns the table of a run's phases, oldest first.
pub(crate) fn timeline(events: &[RunEvent]) -> Table {
    let mut table =
        Table::new([time("at (UTC)"), whole("phase"), status("status"), cut("message")]);
    for event in events {
        table.row([
            &event.created_at.as_ref().map(date_and_time).unwrap_or_default(),
            event.phase.as_deref().unwrap_or_default(),
            event.status.as_deref().unwrap_or_default(),
            event.message.as_deref().unwrap_or_default(),
        ]);
    }
    table
}

pub(crate) fn finished(finished: &FinishedRun) -> Table {
    let receipt = &finished.result;
    let mut table = Table::key_value();
    table.field("id", receipt.id());
    let fields = "kind, status, format=format_id, action=action_id, continues=previous_run_id, \
        queue=queue_id, created=created_at";
    table.fields(receipt, fields);
    table.field("usage", Some(spend(receipt)));
    table.field("output", receipt.output.as_ref());
    table.field("primary output", receipt.primary_output_url.as_ref());
    add_artifacts(&mut table, &receipt.artifacts);
    for file in finished.files.iter().flatten() {
        table.field("file", Some(file));
    }
    for (name, error) in [("error", &receipt.error), ("output error", &receipt.output_error)] {
        table.field(name, error.as_ref().map(error_text));
    }
    table.fields(receipt, "webhook=webhook_delivery.status, request=request_id");
    table
}
