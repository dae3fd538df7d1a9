//! `svc completions`.

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::help;
use crate::session::Session;

/// The flags of `svc completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs it.
pub(crate) fn run(session: &Session, args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "svc", &mut script);
    session.printer.bytes(&script)
}
