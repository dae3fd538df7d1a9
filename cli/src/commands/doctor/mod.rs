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
    match checks.iter().any(|check| check.status == Status::Failed) {
        true => Err(Failure::already_reported(Exit::Failure)),
        false => Ok(()),
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
