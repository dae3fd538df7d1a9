//! `svc doctor`: checks of the configuration, the service and this machine.

mod local;
mod surfaces;

use std::time::Duration;

use serde::Serialize;

use crate::args::SurfaceChoice;
use crate::error::{Exit, Failure, Result};
use crate::output::Table;
use crate::session::Session;
use crate::text::counted;

/// Runs the command. The exit code is 1 if a check failed.
pub(crate) async fn doctor(session: &Session) -> Result {
    let configured = local::check(session);
    let is_valid = session.is_sandbox() || session.settings().is_ok();
    // The checks run at the same time, and each has a time limit of its own.
    let (open, developer, mcp, tls, keyring, journal) = tokio::join!(
        surfaces::check(session, SurfaceChoice::Open, is_valid),
        surfaces::check(session, SurfaceChoice::Developer, is_valid),
        surfaces::check_mcp(session, is_valid),
        local::tls_roots(session),
        local::keyring(session),
        local::journal(session),
    );
    let clock = surfaces::clock(&[&open, &developer]);
    let of_surfaces = open.checks.into_iter().chain(developer.checks);
    let of_machine = [mcp, clock, tls, keyring].into_iter().chain(journal);
    let checks: Vec<_> = configured.into_iter().chain(of_surfaces).chain(of_machine).collect();
    session.printer.print_list(&checks, table)?;
    if session.printer.is_table() {
        session.printer.note(&summary(&checks));
    }
    match checks.iter().any(|check| check.status == CheckStatus::Failed) {
        true => Err(Failure::already_reported(Exit::Failure)),
        false => Ok(()),
    }
}

/// Returns what the checks say together, such as `1 problem, 2 warnings`.
fn summary(checks: &[Check]) -> String {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let counts = [(CheckStatus::Failed, "problem"), (CheckStatus::Warning, "warning")];
    let counts = counts.into_iter().map(|(status, noun)| (count(status), noun));
    let words = counts.filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
    let words: Vec<String> = words.collect();
    match (words.join(", "), count(CheckStatus::Failed)) {
        (words, 0) if words.is_empty() => "everything works".to_owned(),
        (words, 0) => format!("everything works, with {words}"),
        (words, _) => words,
    }
}

/// What is not configured is one line.
fn table(checks: &[Check]) -> Table {
    let mut table = Table::key_value();
    let (missing, others): (Vec<_>, Vec<_>) = checks.iter().partition(|check| check.is_missing);
    for check in others {
        let label = format!("{} {}", check.status.mark(), check.name);
        table.row([label.as_str(), check.message.as_str()]);
        if let Some(next) = &check.next {
            table.row(["", &format!("next: {next}")]);
        }
    }
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|check| check.name).collect();
        table.row(["- not configured", &names.join(", ")]);
    }
    table
}

/// The time limit of a check, below the five seconds that a user waits at most.
const CHECK_TIMEOUT: Duration = Duration::from_millis(4500);

#[derive(Debug, Serialize)]
struct Check {
    #[serde(rename = "check")]
    name: &'static str,
    status: CheckStatus,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether it is skipped because nothing is configured, which other commands may not need.
    #[serde(skip)]
    is_missing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckStatus {
    Ok,
    /// Something to know about, which does not prevent the use of the service.
    Warning,
    Failed,
    /// The check does not apply, or something that it needs is missing.
    Skipped,
}

impl CheckStatus {
    const fn mark(self) -> &'static str {
        match self {
            Self::Ok => "✓",
            Self::Warning => "!",
            Self::Failed => "✗",
            Self::Skipped => "-",
        }
    }
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Ok, message)
    }

    fn warning(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Warning, message)
    }

    fn failed(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Failed, message)
    }

    fn skipped(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Skipped, message)
    }

    fn missing(name: &'static str, message: impl Into<String>) -> Self {
        Self { is_missing: true, ..Self::skipped(name, message) }
    }

    fn new(name: &'static str, status: CheckStatus, message: impl Into<String>) -> Self {
        Self { name, status, message: message.into(), next: None, is_missing: false }
    }

    fn next(mut self, next: impl ToString) -> Self {
        self.next = Some(next.to_string());
        self
    }
}

/// Runs blocking work on another thread. Returns `None` if it takes too long for a check.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let work = tokio::task::spawn_blocking(work);
    match tokio::time::timeout(CHECK_TIMEOUT, work).await {
        Ok(Ok(done)) => Some(done),
        _ => None,
    }
}
