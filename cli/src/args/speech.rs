//! Flags of what an avatar says.

use clap::Args;

/// Who speaks, what is said, and how good it is.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Body")]
pub(crate) struct SpeechFields {
    /// Who speaks; `svc avatar list` lists them.
    #[arg(long, value_name = "HANDLE")]
    pub(crate) avatar_handle: Option<String>,
    /// What is said: TEXT, @FILE, or - for standard input.
    #[arg(long, value_name = "TEXT|@FILE|-", conflicts_with = "video_inputs")]
    pub(crate) script: Option<String>,
    /// What is said, scene by scene: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) video_inputs: Option<String>,
    /// How good it is: standard, plus (the default) or max.
    #[arg(long)]
    pub(crate) quality: Option<String>,
}
