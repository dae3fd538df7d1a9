//! `svc mock`: the mock server, without another program.

use std::error::Error as _;
use std::io::{self, Write};

use clap::Subcommand;
use svc_mock_server::program;

use crate::error::Failure;
use crate::session::Session;

/// The service in miniature.
#[derive(Debug, Subcommand)]
pub(crate) enum Mock {
    /// Serves it on this machine until it is asked to end.
    ///
    /// Once it answers, it prints where it is and the keys that it takes.
    Serve(Box<program::Options>),
}

/// Runs it.
pub(crate) async fn run(_: &Session, Mock::Serve(options): Mock) -> Result<(), Failure> {
    // Before the first line is out, since whoever reads it may answer with a signal.
    let end = program::shutdown_signal()
        .map_err(|error| Failure::other(format!("cannot hear signals: {error}")))?;
    program::run(*options, &mut io::stdout(), log, end)
        .await
        .map_err(|error| {
            let cause = error
                .source()
                .map(|cause| format!(": {cause}"))
                .unwrap_or_default();
            Failure::other(format!("{error}{cause}")).context("the mock cannot be served")
        })
}

fn log(line: &str) {
    // Nothing is to be done where nobody reads the log.
    let _ = writeln!(io::stderr(), "svc mock: {line}");
}
