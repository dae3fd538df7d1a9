//! `svc mock`: the mock server, built into this program.

mod child;
mod exec;

use std::error::Error as _;
use std::io::{self, Write};

use clap::Subcommand;
use svc_mock_server::program;

use crate::error::Failure;
use crate::session::Session;
use crate::text::sanitize;

/// The subcommands of `svc mock`.
#[derive(Debug, Subcommand)]
pub(crate) enum Mock {
    /// Run a local mock of the service until interrupted
    ///
    /// Prints its URLs and API keys when it is ready, and logs each request with -v. Jobs, balances
    /// and keys are lost when it ends, unless the control API exports them.
    ///
    /// Words in a prompt decide how a job ends: `[mock:fail]`, `[mock:fail=CODE]`, `[mock:stuck]`,
    /// `[mock:seconds=N]`. The control API makes requests fail (POST /faults), moves the clock, ends
    /// jobs and more; its root lists the endpoints, and shows a dashboard in a browser.
    Serve(Box<program::Options>),
    /// Run a command against a mock of the service, and stop the mock when it ends
    ///
    /// Starts the mock on free ports, and puts its URLs, API keys and signing secret into the
    /// environment of the command. The exit code is that of the command, 126 if it cannot be
    /// executed, 127 if it is not found, or 128 plus the number of the signal that ended it. If it
    /// fails, the last 20 requests to the mock are listed on stderr.
    Exec(Box<exec::Exec>),
}

/// Runs the command.
pub(crate) async fn run(session: &Session, mock: Mock) -> Result<(), Failure> {
    match mock {
        Mock::Serve(mut options) => {
            options.log_requests |= session.global.verbose > 0;
            serve(*options).await
        }
        Mock::Exec(args) => exec::run(session, *args).await,
    }
}

async fn serve(options: program::Options) -> Result<(), Failure> {
    // Installed before the first line is printed: a reader of that line may send a signal at once.
    let end = program::shutdown_signal()
        .map_err(|error| Failure::other(format!("cannot install signal handlers: {error}")))?;
    program::run(options, &mut io::stdout(), log, end)
        .await
        .map_err(|error| {
            let cause = error
                .source()
                .map(|cause| format!(": {cause}"))
                .unwrap_or_default();
            Failure::other(format!("{error}{cause}")).context("could not run the mock")
        })
}

fn log(line: &str) {
    // A closed stderr must not stop the mock.
    let _ = writeln!(io::stderr(), "svc mock: {}", sanitize(line));
}
