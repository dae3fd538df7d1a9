//! Flags of signing secrets.

use std::path::PathBuf;

use clap::Args;

/// Where the signing secrets are.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SecretArgs {
    /// A file with the signing secret, or - for standard input; several secrets are lines, the
    /// newest first [env: `SVC_WEBHOOK_SECRET`, the secret itself].
    #[arg(long, value_name = "FILE|-")]
    pub(crate) secret_file: Option<PathBuf>,
}
