//! `svc man`: manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};

use crate::error::Failure;
use crate::session::Session;

/// The flags of `svc man`.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Directory to write to; created if missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(session: &Session, args: &Man, command_line: Command) -> Result<(), Failure> {
    let write = || {
        fs::create_dir_all(&args.dir)?;
        clap_mangen::generate_to(command_line, &args.dir)
    };
    write()
        .map_err(|error| Failure::file("cannot write the manual pages to", &args.dir, &error))?;
    session
        .printer
        .note(&format!("wrote the manual pages to {}", args.dir.display()));
    Ok(())
}
