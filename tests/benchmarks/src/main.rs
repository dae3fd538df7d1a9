//! Benchmarks of this project beside its peers: one command, one table.
//!
//! The contenders of a row take turns in one run, and a ratio is the median of the ratios round by
//! round, so that another load on the machine slows both. `--only NAME` runs one section, `--json`
//! prints one JSON object a row.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a program")]

mod builds;
mod calls;
mod download;
mod fleet;
mod http_client;
mod mock;
mod mock_state;
mod report;
mod server;
mod start_up;
mod svc_process;
mod timing;
mod verify;
mod waits;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::report::{Row, print_table};

/// The outcome of a part of the benchmarks.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Compare the SDK, the webhook verifier, the mock and the command line with their peers.
#[derive(Debug, Parser)]
struct Options {
    /// Run only this section; can be repeated. Without it, all run but builds.
    #[arg(long, value_name = "NAME")]
    only: Vec<Section>,
    /// Print one JSON object a row.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Webhook verification.
    Verify,
    /// Typed calls of the SDK.
    Calls,
    /// Waits: memory, calls, how late they end.
    Waits,
    /// The mock server.
    Mock,
    /// The mock server with a large state.
    MockState,
    /// A download of 1 GiB.
    Download,
    /// Start-up of the command line.
    StartUp,
    /// Builds of the command line, which take minutes.
    Builds,
}

impl Section {
    fn rows(self) -> Outcome<Vec<Row>> {
        match self {
            Self::Verify => verify::rows(),
            Self::Calls => calls::rows(),
            Self::Waits => waits::rows(),
            Self::Mock => mock::rows(),
            Self::MockState => mock_state::rows(),
            Self::Download => download::rows(),
            Self::StartUp => start_up::rows(),
            Self::Builds => builds::rows(),
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut rows = Vec::new();
    for section in Section::value_variants() {
        let is_chosen = match options.only.as_slice() {
            [] => *section != Section::Builds,
            only => only.contains(section),
        };
        if !is_chosen {
            continue;
        }
        eprintln!("{section:?}…");
        match section.rows() {
            Ok(more) if options.json => more.iter().for_each(Row::print_json),
            Ok(more) => rows.extend(more),
            Err(error) => {
                eprintln!("error: {section:?}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if !options.json {
        print_table(&rows);
    }
    ExitCode::SUCCESS
}
