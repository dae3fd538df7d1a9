//! Flags that make a request's body: one a field, its name the field's with dashes.

use std::path::PathBuf;

use clap::Args;

use super::{JsonField, Pair};

/// What every command has that sends a body.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Body")]
pub(crate) struct BodyArgs {
    /// What it shows: TEXT, @FILE, or - for standard input (@@TEXT is a text that begins with @).
    #[arg(long, value_name = "TEXT|@FILE|-")]
    pub(crate) prompt: Option<String>,
    /// Any other field, as JSON; may be repeated.
    #[arg(long = "param", value_name = "KEY=JSON")]
    pub(crate) params: Vec<JsonField>,
    /// A whole body from a file, or - for standard input; flags override its fields.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) input: Option<PathBuf>,
}

/// What is said to the service besides what to make.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Body")]
pub(crate) struct CommunicationFields {
    /// Your own data, stored on the job and never sent to the model; may be repeated.
    #[arg(long = "metadata", value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<Pair>,
    /// Where the end is told (public HTTPS); sets `mode` to `webhook`.
    #[arg(long, value_name = "URL")]
    pub(crate) webhook_url: Option<String>,
    /// How the submit is answered: async, webhook, sync or subscribe.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// How long `sync` and `subscribe` wait, 0 to 30.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) wait_timeout_seconds: Option<u64>,
}

/// The fields of a video.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Body")]
pub(crate) struct VideoFields {
    /// The model's id, or `auto` (the default) to let the service pick.
    #[arg(long, value_name = "MODEL_ID")]
    pub(crate) model: Option<String>,
    /// Length; the range is the model's.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) duration: Option<u64>,
    /// One that the model lists, such as 720p.
    #[arg(long)]
    pub(crate) resolution: Option<String>,
    /// One that the model lists, such as 16:9.
    #[arg(long, value_name = "RATIO")]
    pub(crate) aspect_ratio: Option<String>,
    /// The first frame (public HTTPS).
    #[arg(long, value_name = "URL")]
    pub(crate) image_url: Option<String>,
    /// The last frame (public HTTPS); needs --image-url.
    #[arg(long, value_name = "URL")]
    pub(crate) end_image_url: Option<String>,
    /// The source clip, on video-to-video models (public HTTPS).
    #[arg(long, value_name = "URL")]
    pub(crate) video_url: Option<String>,
    /// Speech, on lip-sync models (public HTTPS).
    #[arg(long, value_name = "URL")]
    pub(crate) audio_url: Option<String>,
    /// A reference image, where the model takes them (public HTTPS); may be repeated.
    #[arg(long, value_name = "URL", alias = "reference-image-url")]
    pub(crate) reference_image_urls: Vec<String>,
    /// A reference video, where the model takes them (public HTTPS); may be repeated.
    #[arg(long, value_name = "URL", alias = "reference-video-url")]
    pub(crate) reference_video_urls: Vec<String>,
    /// A soundtrack, on models that make one.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) generate_audio: Option<bool>,
}

/// The fields of an image.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Body")]
pub(crate) struct ImageFields {
    /// The model's id; `svc model list --type image` lists them.
    #[arg(long, value_name = "MODEL_ID")]
    pub(crate) model: Option<String>,
    /// One that the model lists, such as 1:1.
    #[arg(long, value_name = "RATIO")]
    pub(crate) aspect_ratio: Option<String>,
    /// One that the model lists, such as 720p.
    #[arg(long)]
    pub(crate) resolution: Option<String>,
    /// How many images.
    #[arg(long, value_name = "N")]
    pub(crate) num_images: Option<u64>,
}
