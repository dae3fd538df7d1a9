//! Flags for the fields of a request body, each named after its field.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::args::{JsonField, Pair, headings};

/// The prompt, as an argument or as a flag.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PromptArgs {
    /// Prompt: TEXT, @FILE or - for stdin (@@TEXT begins with @)
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub(crate) prompt_argument: Option<String>,
    /// Prompt, instead of the argument
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT|@FILE|-", help_heading = headings::INPUT)]
    pub(crate) prompt: Option<String>,
}

impl PromptArgs {
    pub(crate) fn given(&self) -> Option<&str> {
        let given = self.prompt_argument.as_ref().or(self.prompt.as_ref());
        given.map(String::as_str)
    }
}

/// Flags of every command that sends a body.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::REQUEST)]
pub(crate) struct BodyArgs {
    /// Any other field, as JSON; repeatable
    #[arg(long = "param", value_name = "KEY=JSON")]
    pub(crate) params: Vec<JsonField>,
    /// JSON file with the whole body, or - for stdin; flags override its fields
    #[arg(long, value_name = "FILE|-")]
    pub(crate) input: Option<PathBuf>,
}

/// Flags for how the service responds, and for the caller's own data.
#[derive(Args, Clone, Debug, Default, Serialize)]
#[command(next_help_heading = headings::REQUEST)]
pub(crate) struct CommunicationFields {
    /// Your own data, stored with the job and never sent to the model; repeatable
    #[arg(long = "metadata", value_name = "KEY=VALUE")]
    #[serde(skip)]
    pub(crate) metadata: Vec<Pair>,
    /// Webhook URL to notify when the job ends (public HTTPS); sets --mode webhook
    #[arg(long, value_name = "URL")]
    pub(crate) webhook_url: Option<String>,
    /// How the service answers: async or webhook immediately, sync or subscribe after waiting for
    /// the job (see --wait-timeout-seconds)
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// Time that the service waits in the modes sync and subscribe, 0 to 30 seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) wait_timeout_seconds: Option<u64>,
}

/// Flags for the media that a video is made from.
#[derive(Args, Clone, Debug, Default, Serialize)]
#[command(next_help_heading = headings::INPUT)]
pub(crate) struct VideoMedia {
    /// Image for the first frame (public HTTPS)
    #[arg(long, value_name = "URL")]
    pub(crate) image_url: Option<String>,
    /// Image for the last frame (public HTTPS); requires --image-url
    #[arg(long, value_name = "URL")]
    pub(crate) end_image_url: Option<String>,
    /// Reference image, if the model supports them (public HTTPS); repeatable
    #[arg(long, value_name = "URL", alias = "reference-image-url")]
    pub(crate) reference_image_urls: Vec<String>,
    /// Reference video, if the model supports them (public HTTPS); repeatable
    #[arg(long, value_name = "URL", alias = "reference-video-url")]
    pub(crate) reference_video_urls: Vec<String>,
    /// Source video for video-to-video models (public HTTPS)
    #[arg(long, value_name = "URL")]
    pub(crate) video_url: Option<String>,
    /// Speech for lip-sync models (public HTTPS)
    #[arg(long, value_name = "URL")]
    pub(crate) audio_url: Option<String>,
}

#[derive(Args, Clone, Debug, Default, Serialize)]
#[command(next_help_heading = headings::GENERATION)]
pub(crate) struct VideoProperties {
    /// Length in seconds, in the range that the model supports
    #[arg(long, value_name = "SECONDS")]
    pub(crate) duration: Option<u64>,
    /// Resolution that the model supports, such as 720p
    #[arg(long, value_name = "SIZE")]
    pub(crate) resolution: Option<String>,
    /// Aspect ratio that the model supports, such as 16:9
    #[arg(long, value_name = "W:H")]
    pub(crate) aspect_ratio: Option<String>,
    /// Generate a soundtrack, if the model supports it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) generate_audio: Option<bool>,
}

#[derive(Args, Clone, Debug, Default, Serialize)]
pub(crate) struct VideoFields {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) media: VideoMedia,
    /// Model id, or auto to let the service choose [default: auto]
    #[arg(short, long, value_name = "MODEL_ID", help_heading = headings::GENERATION)]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) properties: VideoProperties,
}

#[derive(Args, Clone, Debug, Default, Serialize)]
#[command(next_help_heading = headings::GENERATION)]
pub(crate) struct ImageFields {
    /// Model id, from `svc model list --type image` (required on the open surface)
    #[arg(short, long, value_name = "MODEL_ID")]
    pub(crate) model: Option<String>,
    /// Aspect ratio that the model supports, such as 1:1
    #[arg(long, value_name = "W:H")]
    pub(crate) aspect_ratio: Option<String>,
    /// Resolution that the model supports, such as 720p
    #[arg(long, value_name = "SIZE")]
    pub(crate) resolution: Option<String>,
    /// Number of images
    #[arg(long, value_name = "N")]
    pub(crate) num_images: Option<u64>,
}

/// Flags for the speaker, the script and the quality of an avatar video.
#[derive(Args, Clone, Debug, Default, Serialize)]
#[command(next_help_heading = headings::INPUT)]
pub(crate) struct SpeechFields {
    /// Handle of the avatar that speaks, from `svc avatar list` (required)
    #[arg(long, value_name = "HANDLE")]
    pub(crate) avatar_handle: Option<String>,
    /// Script: TEXT, @FILE, or - for stdin (required, unless --video-inputs)
    #[arg(long, value_name = "TEXT|@FILE|-", conflicts_with = "video_inputs")]
    #[serde(skip)]
    pub(crate) script: Option<String>,
    /// Script by scene: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    #[serde(skip)]
    pub(crate) video_inputs: Option<String>,
    /// Quality: standard, plus or max [default: plus]
    #[arg(long, help_heading = headings::GENERATION)]
    pub(crate) quality: Option<String>,
}

/// Flags for what an avatar video shows besides the avatar.
#[derive(Args, Clone, Debug, Default, Serialize)]
#[command(next_help_heading = headings::INPUT)]
pub(crate) struct SceneFields {
    /// Image of a product to show (public HTTPS)
    #[arg(long, value_name = "URL")]
    pub(crate) product_image: Option<String>,
    /// Image of the scene (scene.image_url; public HTTPS)
    #[arg(long, value_name = "URL")]
    #[serde(skip)]
    pub(crate) scene_image_url: Option<String>,
    /// Scene: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    #[serde(skip)]
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
