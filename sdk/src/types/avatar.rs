//! Avatars: what they are, how they are made and made to speak.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::body;
use super::invalid::{https_url, webhook_url};
use super::{Artifact, Assumed, Extra, InvalidField, Validate};
use crate::open_enum::open_enum;

/// An avatar. Its fields but `avatar_handle` are assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Avatar {
    /// Identifies the avatar.
    pub id: String,
    /// What it is called in requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avatar_handle: Option<String>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How it looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A video that an avatar speaks in. Its fields are assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AvatarVideo {
    /// Identifies the avatar video.
    pub id: String,
    /// Where it is in its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Who speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avatar_handle: Option<String>,
    /// The job that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<super::JobId>,
    /// Its files, once it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Assumed<Vec<Artifact>>>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A preview of an avatar video. Its fields are assumed: those of an [`AvatarVideo`].
pub type AvatarPreview = AvatarVideo;

/// The captions of a video. Their fields are assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VideoCaptions {
    /// Identifies the captioning.
    pub id: String,
    /// Where it is in its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The video that is captioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video_url: Option<String>,
    /// The job that makes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<super::JobId>,
    /// Their files, once they are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Assumed<Vec<Artifact>>>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What an avatar is made from: one of the three.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum AvatarInput {
    /// Words.
    #[serde(rename = "prompt")]
    Prompt(String),
    /// Traits. Their names are the service's.
    #[serde(rename = "props")]
    Props(Map<String, Value>),
    /// A photo, by its HTTPS URL.
    #[serde(untagged)]
    Photo {
        /// Where the photo is.
        image_url: String,
    },
}

impl AvatarInput {
    /// Made from words.
    #[must_use]
    pub fn prompt(prompt: impl Into<String>) -> Self {
        Self::Prompt(prompt.into())
    }

    /// Made from a photo, by its HTTPS URL.
    #[must_use]
    pub fn photo(image_url: impl Into<String>) -> Self {
        Self::Photo {
            image_url: image_url.into(),
        }
    }
}

open_enum! {
    /// How good an avatar video is.
    pub enum Quality {
        /// The least.
        Standard = "standard",
        /// The default.
        Plus = "plus",
        /// The most.
        Max = "max",
    }
}

body! {
    /// The body of `POST /v1/avatar-1.0/generate`.
    ///
    /// ```
    /// use svc_sdk::types::{AvatarGenerate, AvatarInput};
    ///
    /// let body = AvatarGenerate::new("mia").input(AvatarInput::prompt("a calm presenter"));
    /// assert_eq!(
    ///     serde_json::to_value(&body)?,
    ///     serde_json::json!({"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}}),
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct AvatarGenerate (
        /// What the avatar will be called in requests.
        avatar_handle,
    ) {
        /// What it is made from.
        input: [AvatarInput],
    }
}

body! {
    /// The body of `POST /v1/avatar-1.0/talking-video`: exactly one of `script` and `video_inputs`.
    ///
    /// ```
    /// use svc_sdk::types::{AvatarTalkingVideo, Quality};
    ///
    /// let body = AvatarTalkingVideo::new("ada").script("Hello.").quality(Quality::Max);
    /// assert_eq!(
    ///     serde_json::to_value(&body)?,
    ///     serde_json::json!({"avatar_handle": "ada", "script": "Hello.", "quality": "max"}),
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct AvatarTalkingVideo (
        /// Who speaks.
        avatar_handle,
    ) {
        /// What is said.
        script: text,
        /// What is said, scene by scene; the shape is the service's.
        video_inputs: [Value],
        /// How good it is; `plus` where nothing is said.
        quality: [Quality],
        /// A product to be shown; the shape is the service's.
        product_image: [Value],
        /// Where it plays: an object with, for example, `image_url`.
        scene: [Value],
    }
}

body! {
    /// The body of `POST /v1/avatar-video-previews`: one of `script` and `video_inputs`. Assumed.
    pub struct AvatarPreviewCreate (
        /// Who speaks.
        avatar_handle,
    ) {
        /// What is said.
        script: text,
        /// What is said, scene by scene; the shape is the service's.
        video_inputs: [Value],
        /// How good the video will be.
        quality: [Quality],
    }
}

body! {
    /// The body of `POST /v1/video-captions`. Assumed.
    ///
    /// ```
    /// use svc_sdk::types::VideoCaptionsCreate;
    ///
    /// let body = VideoCaptionsCreate::new("https://media.example/a.mp4").language("en");
    /// assert_eq!(
    ///     serde_json::to_value(&body)?,
    ///     serde_json::json!({"video_url": "https://media.example/a.mp4", "language": "en"}),
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct VideoCaptionsCreate (
        /// The video (HTTPS).
        video_url,
    ) {
        /// The language of the captions, as `en`.
        language: text,
    }
}

impl Validate for AvatarGenerate {
    fn validate(&self) -> Result<(), InvalidField> {
        if let Some(AvatarInput::Photo { image_url }) = &self.input {
            https_url("input.image_url", Some(image_url))?;
        }
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for AvatarTalkingVideo {
    fn validate(&self) -> Result<(), InvalidField> {
        one_of_script_and_inputs(self.script.is_some(), self.video_inputs.is_some())?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for AvatarPreviewCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        one_of_script_and_inputs(self.script.is_some(), self.video_inputs.is_some())?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for VideoCaptionsCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        https_url("video_url", Some(&self.video_url))?;
        webhook_url(self.webhook_url.as_ref())
    }
}

fn one_of_script_and_inputs(script: bool, inputs: bool) -> Result<(), InvalidField> {
    if script == inputs {
        return Err(InvalidField::new(
            "script",
            "or video_inputs must be given, and not both",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_avatars_input_is_one_of_three() {
        let json = |input: AvatarInput| serde_json::to_value(input).unwrap();
        assert_eq!(
            json(AvatarInput::prompt("p")),
            serde_json::json!({"prompt": "p"})
        );
        assert_eq!(
            json(AvatarInput::photo("https://a/1")),
            serde_json::json!({"image_url": "https://a/1"})
        );
        let props = serde_json::Map::from_iter([("age".to_owned(), 30.into())]);
        assert_eq!(
            json(AvatarInput::Props(props)),
            serde_json::json!({"props": {"age": 30}})
        );
    }

    #[test]
    fn what_can_never_be_right_is_found_before_it_is_sent() {
        let photo = AvatarGenerate::new("mia").input(AvatarInput::photo("http://a/1"));
        assert_eq!(photo.validate().unwrap_err().field(), "input.image_url");
        let neither = AvatarTalkingVideo::new("ada");
        assert_eq!(neither.validate().unwrap_err().field(), "script");
        let both = AvatarPreviewCreate::new("ada")
            .script("s")
            .video_inputs(serde_json::json!([]));
        assert!(both.validate().is_err());
        assert!(VideoCaptionsCreate::new("file:///x").validate().is_err());
    }
}
