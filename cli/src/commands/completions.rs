//! `svc completions`: shell completion scripts.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::completion;
use crate::error::Failure;
use crate::session::Session;

/// The flags of `svc completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Shell to print the script for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(session: &Session, args: &Completions) -> Result<(), Failure> {
    let name = args.shell.to_possible_value();
    let name = name.as_ref().map_or("", |value| value.get_name());
    let script = completion::script(name)
        .map_err(|error| Failure::other(format!("cannot create the script: {error}")))?
        .ok_or_else(|| Failure::usage(format!("no completions for `{name}`")))?;
    session.printer.print_bytes(&script)
}
