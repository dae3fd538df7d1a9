//! The program `svc-mock-server`: a local mock of the svc service.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use svc_mock_server::program::{Options, run, shutdown_signal};

/// Run a local mock of the svc service.
///
/// When the mock accepts connections, it prints its addresses and keys. It runs until it receives
/// SIGINT or SIGTERM.
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
    // The handlers are installed before the first line is printed, because its reader may respond
    // with a signal.
    let shutdown = shutdown_signal()?;
    run(options, &mut io::stdout(), log, shutdown).await?;
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

/// Writes a line to standard error. A failure to do so cannot be reported anywhere.
fn log(line: &str) {
    let _ = writeln!(io::stderr(), "svc-mock-server: {line}");
}
