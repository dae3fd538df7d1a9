//! A mock of the svc service on this machine.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use svc_mock_server::program::{Options, run, shutdown_signal};

/// A mock of the svc service, with its full semantics, on this machine.
///
/// Once it answers, it prints where it is and the keys that it takes. It runs until SIGINT or
/// SIGTERM.
#[derive(Parser)]
#[command(name = "svc-mock-server", version)]
struct Program {
    #[command(flatten)]
    options: Options,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Program { options } = Program::parse();
    match run_program(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn run_program(options: Options) -> Result<(), Box<dyn StdError>> {
    // Before the first line is out, since whoever reads it may answer with a signal.
    let end = shutdown_signal()?;
    run(options, &mut io::stdout(), log, end).await?;
    Ok(())
}

fn error_chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Nothing is to be done where nobody reads the log.
fn log(line: &str) {
    let _ = writeln!(io::stderr(), "svc-mock-server: {line}");
}
