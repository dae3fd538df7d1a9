//! Flags for signing secrets.

use std::path::PathBuf;

use clap::Args;

/// The flag `--secret-file`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SecretArgs {
    /// File with the signing secrets, or - for stdin: one per line, the newest first. The variable
    /// `SVC_WEBHOOK_SECRET` can hold the secrets instead
    #[arg(long, value_name = "FILE|-")]
    pub(crate) secret_file: Option<PathBuf>,
}
