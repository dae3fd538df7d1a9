//! Flags for avatars and their speech.

use clap::Args;

use super::headings;

/// Flags for the speaker, the script and the quality of an avatar video.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::INPUT)]
pub(crate) struct SpeechFields {
    /// Handle of the avatar that speaks, from `svc avatar list` (required)
    #[arg(long, value_name = "HANDLE")]
    pub(crate) avatar_handle: Option<String>,
    /// Script: TEXT, @FILE, or - for stdin (required, unless --video-inputs)
    #[arg(long, value_name = "TEXT|@FILE|-", conflicts_with = "video_inputs")]
    pub(crate) script: Option<String>,
    /// Script by scene: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) video_inputs: Option<String>,
    /// Quality: standard, plus or max [default: plus]
    #[arg(long, help_heading = headings::GENERATION)]
    pub(crate) quality: Option<String>,
}

/// Flags for what an avatar video shows besides the avatar.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::INPUT)]
pub(crate) struct SceneFields {
    /// Image of a product to show (public HTTPS)
    #[arg(long, value_name = "URL")]
    pub(crate) product_image: Option<String>,
    /// Image of the scene (scene.image_url; public HTTPS)
    #[arg(long, value_name = "URL")]
    pub(crate) scene_image_url: Option<String>,
    /// Scene: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) scene: Option<String>,
}

/// Flags for the fields of all avatar operations.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AvatarFields {
    #[command(flatten)]
    pub(crate) speech: SpeechFields,
    #[command(flatten)]
    pub(crate) scene: SceneFields,
    /// Traits of a new avatar (input.props): JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", help_heading = headings::INPUT)]
    pub(crate) props: Option<String>,
}
