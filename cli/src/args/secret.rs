//! Flags for signing secrets.

use std::path::PathBuf;

use clap::Args;

/// The flag `--secret-file`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SecretArgs {
    /// File with the signing secrets, or - for stdin: one per line, the newest first [env:
    /// `SVC_WEBHOOK_SECRET`, with the secrets themselves]
    #[arg(long, value_name = "FILE|-")]
    pub(crate) secret_file: Option<PathBuf>,
}
