//! Flags of what an avatar says.

use clap::Args;
use serde_json::Value;

use crate::body::{Body, json_of, text_of};
use crate::failure::Failure;

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

impl SpeechFields {
    /// Adds the fields to a body.
    pub(crate) fn add_to(&self, body: Body) -> Result<Body, Failure> {
        let script = self.script.as_ref();
        let script = script.map(|text| text_of("--script", text)).transpose()?;
        let inputs = self.video_inputs.as_ref();
        let inputs: Option<Value> = inputs
            .map(|json| json_of("--video-inputs", json))
            .transpose()?;
        body.with("avatar_handle", self.avatar_handle.clone())?
            .with("script", script)?
            .with("video_inputs", inputs)?
            .with("quality", self.quality.clone())
    }
}
