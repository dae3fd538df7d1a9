//! Avatars, their videos, previews and captions.

use serde::Serialize;
use serde_json::{Map, Value};

use super::request::request_body;
use super::response::response_body;
use super::validation::{media_url, webhook_url};
use super::{Artifact, InvalidField, JobId, Validate};
use crate::open_enum::open_enum;

response_body! {
    /// An avatar. Its fields other than `avatar_handle` are assumed.
    pub struct Avatar {
        /// The avatar's identifier.
        required id: String,
        /// The handle that requests refer to.
        optional avatar_handle: String,
        /// The display name.
        optional name: String,
        /// A URL of a picture of the avatar.
        optional image_url: String,
    }
}

response_body! {
    /// A video of a speaking avatar. Its fields are assumed.
    pub struct AvatarVideo {
        /// The video's identifier.
        required id: String,
        /// The status of the video, for example `completed`.
        optional status: String,
        /// The handle of the avatar.
        optional avatar_handle: String,
        /// The job that generates the video.
        optional job_id: JobId,
        /// The generated files.
        objects artifacts: Artifact,
    }
}

/// A preview of an avatar video. Its fields are assumed to be those of an [`AvatarVideo`].
pub type AvatarPreview = AvatarVideo;

response_body! {
    /// The captions of a video. Their fields are assumed.
    pub struct VideoCaptions {
        /// The identifier of the captions.
        required id: String,
        /// The status of the captions, for example `completed`.
        optional status: String,
        /// The URL of the video.
        optional video_url: String,
        /// The job that generates the captions.
        optional job_id: JobId,
        /// The generated files.
        objects artifacts: Artifact,
    }
}

/// The input from which an avatar is created.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum AvatarInput {
    /// A text description.
    #[serde(rename = "prompt")]
    Prompt(String),
    /// Properties of the avatar. Their names are defined by the service.
    #[serde(rename = "props")]
    Props(Map<String, Value>),
    /// A photo.
    #[serde(untagged)]
    Photo {
        /// The URL of the photo (HTTPS).
        image_url: String,
    },
}

impl AvatarInput {
    /// Creates an input from a text description.
    #[must_use]
    pub fn prompt(prompt: impl Into<String>) -> Self {
        Self::Prompt(prompt.into())
    }

    /// Creates an input from the HTTPS URL of a photo.
    #[must_use]
    pub fn photo(image_url: impl Into<String>) -> Self {
        Self::Photo { image_url: image_url.into() }
    }
}

open_enum! {
    /// The quality of an avatar video.
    pub enum Quality {
        /// The lowest quality.
        Standard = "standard",
        /// The default quality.
        Plus = "plus",
        /// The highest quality.
        Max = "max",
    }
}

request_body! {
    /// The body of `POST /v1/avatar-1.0/generate`.
    pub struct AvatarGenerate (
        /// The handle of the new avatar.
        avatar_handle: text,
    ) {
        /// The input from which the avatar is created.
        input: [AvatarInput],
    } + job_options
}

request_body! {
    /// The body of `POST /v1/avatar-1.0/talking-video`, with exactly one of `script` and
    /// `video_inputs`.
    pub struct AvatarTalkingVideo (
        /// The handle of the avatar.
        avatar_handle: text,
    ) {
        /// The text to speak.
        script: text,
        /// The text to speak, scene by scene. The shape is defined by the service.
        video_inputs: [Value],
        /// The quality of the video. The default is `plus`.
        quality: [Quality],
        /// A product to show. The shape is defined by the service.
        product_image: [Value],
        /// The scene, for example an object with `image_url`.
        scene: [Value],
    } + job_options
}

request_body! {
    /// The body of `POST /v1/models/{first_party_owner}/avatar-face-swap/v1.0/runs` (beta), with
    /// exactly one of `video_url` and `image_url`. Its fields are assumed.
    pub struct AvatarFaceSwap (
        /// The handle of the avatar whose face is used.
        avatar_handle: text,
    ) {
        /// The URL of the video whose face is replaced (HTTPS).
        video_url: text,
        /// The URL of the image whose face is replaced (HTTPS).
        image_url: text,
    } + job_options
}

request_body! {
    /// The body of `POST /v1/avatar-video-previews`, with exactly one of `script` and
    /// `video_inputs`. Assumed.
    pub struct AvatarPreviewCreate (
        /// The handle of the avatar.
        avatar_handle: text,
    ) {
        /// The text to speak.
        script: text,
        /// The text to speak, scene by scene. The shape is defined by the service.
        video_inputs: [Value],
        /// The quality of the video. The default is `plus`.
        quality: [Quality],
    } + job_options
}

request_body! {
    /// The body of `POST /v1/video-captions`. Assumed.
    pub struct VideoCaptionsCreate (
        /// The URL of the video (HTTPS).
        video_url: text,
    ) {
        /// The language of the captions, for example `en`.
        language: text,
    } + job_options
}

impl Validate for AvatarGenerate {
    fn validate(&self) -> Result<(), InvalidField> {
        if let Some(AvatarInput::Photo { image_url }) = &self.input {
            media_url("input.image_url", Some(image_url))?;
        }
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for AvatarTalkingVideo {
    fn validate(&self) -> Result<(), InvalidField> {
        script_or_inputs(self.script.is_some(), self.video_inputs.is_some())?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for AvatarFaceSwap {
    fn validate(&self) -> Result<(), InvalidField> {
        if self.video_url.is_some() == self.image_url.is_some() {
            return Err(InvalidField::new("video_url", "or image_url is required, and not both"));
        }
        media_url("video_url", self.video_url.as_ref())?;
        media_url("image_url", self.image_url.as_ref())?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for AvatarPreviewCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        script_or_inputs(self.script.is_some(), self.video_inputs.is_some())?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for VideoCaptionsCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        media_url("video_url", Some(&self.video_url))?;
        webhook_url(self.webhook_url.as_ref())
    }
}

fn script_or_inputs(script: bool, inputs: bool) -> Result<(), InvalidField> {
    if script == inputs {
        return Err(InvalidField::new("script", "or video_inputs is required, and not both"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serializes_each_avatar_input() {
        let props = AvatarInput::Props(Map::from_iter([("age".to_owned(), 30.into())]));
        for (input, json) in [
            (AvatarInput::prompt("p"), r#"{"prompt":"p"}"#),
            (AvatarInput::photo("https://a/1"), r#"{"image_url":"https://a/1"}"#),
            (props, r#"{"props":{"age":30}}"#),
        ] {
            assert_eq!(serde_json::to_string(&input).unwrap(), json);
        }
    }
}
