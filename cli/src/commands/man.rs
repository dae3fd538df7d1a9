//! `svc man`.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};

use crate::error::Failure;
use crate::session::Session;

/// The flags of `svc man`.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder, made where it is missing.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Runs it.
pub(crate) fn run(session: &Session, args: &Man, command_line: Command) -> Result<(), Failure> {
    let write = || {
        fs::create_dir_all(&args.dir)?;
        clap_mangen::generate_to(command_line, &args.dir)
    };
    write()
        .map_err(|error| Failure::file("cannot write the manual pages into", &args.dir, &error))?;
    session
        .printer
        .note(&format!("the manual pages are in {}", args.dir.display()));
    Ok(())
}
