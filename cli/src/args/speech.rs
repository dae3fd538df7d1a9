//! Flags for the speech of an avatar.

use clap::Args;

/// Flags for the speaker, the script and the quality of an avatar video.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Request body")]
pub(crate) struct SpeechFields {
    /// Handle of the avatar that speaks, from `svc avatar list`
    #[arg(long, value_name = "HANDLE")]
    pub(crate) avatar_handle: Option<String>,
    /// Script: TEXT, @FILE, or - for stdin
    #[arg(long, value_name = "TEXT|@FILE|-", conflicts_with = "video_inputs")]
    pub(crate) script: Option<String>,
    /// Script by scene: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) video_inputs: Option<String>,
    /// Quality: standard, plus or max [default: plus]
    #[arg(long)]
    pub(crate) quality: Option<String>,
}
