//! `svc doctor`: checks of the configuration, the service and this machine.

mod check;
mod configuration;
mod machine;
mod surfaces;

use self::check::{Check, Status};
use crate::args::SurfaceChoice;
use crate::error::{Exit, Failure};
use crate::output::Table;
use crate::session::Session;
use crate::text::counted;

/// Runs the command. The exit code is 1 if a check failed.
pub(crate) async fn run(session: &Session) -> Result<(), Failure> {
    let configured = configuration::check(session);
    let is_valid = session.is_sandbox() || session.settings().is_ok();
    // The checks run at the same time, and each has a time limit of its own.
    let (open, developer, mcp, tls, keyring, journal) = tokio::join!(
        surfaces::check(session, SurfaceChoice::Open, is_valid),
        surfaces::check(session, SurfaceChoice::Developer, is_valid),
        surfaces::check_mcp(session, is_valid),
        machine::tls_roots(session),
        machine::keyring(session),
        machine::journal(session),
    );
    let clock = surfaces::clock(&[&open, &developer]);
    let mut checks = configured;
    checks.extend(open.checks);
    checks.extend(developer.checks);
    checks.push(mcp);
    checks.push(clock);
    checks.push(tls);
    checks.push(keyring);
    checks.extend(journal);
    session.printer.print_list(&checks, table)?;
    if session.printer.prints_tables() {
        session.printer.note(&summary(&checks));
    }
    match checks.iter().any(|check| check.status == Status::Failed) {
        true => Err(Failure::already_reported(Exit::Failure)),
        false => Ok(()),
    }
}

/// Returns what the checks say together, such as `1 problem, 2 warnings`.
fn summary(checks: &[Check]) -> String {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let counts = [
        (count(Status::Failed), "problem"),
        (count(Status::Warning), "warning"),
    ];
    let words: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun))
        .collect();
    match (words.join(", "), count(Status::Failed)) {
        (words, 0) if words.is_empty() => "everything works".to_owned(),
        (words, 0) => format!("everything works, with {words}"),
        (words, _) => words,
    }
}

fn table(checks: &[Check]) -> Table {
    let mut table = Table::key_value();
    for check in checks {
        let label = format!("{} {}", check.status.mark(), check.name);
        table.row([label.as_str(), check.message.as_str()]);
        if let Some(next) = &check.next {
            table.row(["", &format!("next: {next}")]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_problems_and_warnings() {
        let ok = || Check::ok("a", "");
        let warning = || Check::warning("b", "");
        let failed = || Check::failed("c", "");
        assert_eq!(
            summary(&[ok(), Check::skipped("d", "")]),
            "everything works"
        );
        assert_eq!(
            summary(&[ok(), warning()]),
            "everything works, with 1 warning"
        );
        assert_eq!(
            summary(&[failed(), warning(), warning()]),
            "1 problem, 2 warnings"
        );
    }
}
