//! Flags for signing secrets.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::Failure;
use crate::input::check_single_stdin_reader;

/// The flag `--secret-file`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SecretArgs {
    /// File with the signing secrets, or - for stdin: one per line, the newest first [env:
    /// SVC_WEBHOOK_SECRET, with the secrets themselves]
    #[arg(long, value_name = "FILE|-")]
    pub(crate) secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// Checks that the secrets and another file are not both read from standard input.
    pub(crate) fn check_stdin(&self, flag: &str, file: Option<&Path>) -> Result<(), Failure> {
        check_single_stdin_reader(&[
            (
                "--secret-file",
                self.secret_file.as_deref().and_then(Path::to_str),
            ),
            (flag, file.and_then(Path::to_str)),
        ])
    }
}
