//! `svc mock`: the mock server, built into this program.

use std::error::Error as _;
use std::io::{self, Write};

use clap::Subcommand;
use svc_mock_server::program;

use crate::error::Failure;
use crate::session::Session;

/// The subcommands of `svc mock`.
#[derive(Debug, Subcommand)]
pub(crate) enum Mock {
    /// Run a local mock of the service until interrupted
    ///
    /// Prints its URLs and API keys when it is ready.
    Serve(Box<program::Options>),
}

/// Runs the command.
pub(crate) async fn run(_: &Session, Mock::Serve(options): Mock) -> Result<(), Failure> {
    // Installed before the first line is printed: a reader of that line may send a signal at once.
    let end = program::shutdown_signal()
        .map_err(|error| Failure::other(format!("cannot install signal handlers: {error}")))?;
    program::run(*options, &mut io::stdout(), log, end)
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
    let _ = writeln!(io::stderr(), "svc mock: {line}");
}
