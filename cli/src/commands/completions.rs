//! `svc completions`: shell completion scripts.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::Failure;
use crate::session::Session;

/// The flags of `svc completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Shell to generate the script for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(
    session: &Session,
    args: &Completions,
    mut command_line: Command,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line, "svc", &mut script);
    session.printer.print_bytes(&script)
}
