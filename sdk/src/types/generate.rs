//! Bodies of generation requests, of the open surface and of the developer surface.

use super::request::request_body;
use super::validation::{media_url, video_inputs, webhook_url};
use super::{InvalidField, Validate};

request_body! {
    /// The body of `POST /v1/video-router/generate`.
    ///
    /// ```
    /// use svc_sdk::types::VideoGenerate;
    ///
    /// let body = VideoGenerate::new("auto").prompt("a red fox in snow").duration(5);
    /// assert_eq!(
    ///     serde_json::to_value(&body)?,
    ///     serde_json::json!({"model": "auto", "prompt": "a red fox in snow", "duration": 5}),
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct VideoGenerate (
        /// The model's id, or `auto`.
        model: text,
    ) {
        /// The description of the video.
        prompt: text,
        /// The length in seconds. The range depends on the model.
        duration: integer,
        /// A resolution of the model, for example `720p`.
        resolution: text,
        /// An aspect ratio of the model, for example `16:9`.
        aspect_ratio: text,
        /// The URL of the first frame (HTTPS).
        image_url: text,
        /// The URL of the last frame (HTTPS). It requires `image_url`.
        end_image_url: text,
        /// The URL of the source clip of a video-to-video model (HTTPS).
        video_url: text,
        /// The URL of the speech for a lip-sync model (HTTPS).
        audio_url: text,
        /// The URLs of 1 to 10 reference images (HTTPS), if the model accepts them.
        reference_image_urls: urls,
        /// The URLs of 1 to 5 reference videos (HTTPS), if the model accepts them.
        reference_video_urls: urls,
        /// Whether to generate a soundtrack, if the model supports it.
        generate_audio: flag,
    } + job_options
}

request_body! {
    /// The body of `POST /v1/image-router/generate`.
    pub struct ImageGenerate (
        /// The model's id, or `auto`.
        model: text,
    ) {
        /// The description of the image.
        prompt: text,
        /// An aspect ratio of the model, for example `1:1`.
        aspect_ratio: text,
        /// A resolution of the model, for example `720p`.
        resolution: text,
        /// The number of images: 1 to 4.
        num_images: integer,
    } + job_options
}

request_body! {
    /// The body of `POST /v1/image-1.0/generate`. Its fields are assumed.
    pub struct Image1Generate (
        /// The description of the image.
        prompt: text,
    ) {
        /// The aspect ratio, for example `1:1`.
        aspect_ratio: text,
        /// The resolution, for example `720p`.
        resolution: text,
        /// The number of images: 1 to 4.
        num_images: integer,
    } + job_options
}

request_body! {
    /// The body of `POST /v1/video-1.0/generate`. Its fields are assumed.
    pub struct Video1Generate (
        /// The description of the video.
        prompt: text,
    ) {
        /// The length in seconds.
        duration: integer,
        /// The resolution, for example `720p`.
        resolution: text,
        /// The aspect ratio, for example `16:9`.
        aspect_ratio: text,
        /// The URL of the first frame (HTTPS).
        image_url: text,
        /// The URL of the last frame (HTTPS). It requires `image_url`.
        end_image_url: text,
        /// The URLs of 1 to 10 reference images (HTTPS).
        reference_image_urls: urls,
        /// The URLs of 1 to 5 reference videos (HTTPS).
        reference_video_urls: urls,
        /// Whether to generate a soundtrack.
        generate_audio: flag,
    } + job_options
}

request_body! {
    /// The body of `POST /v1/music-1.0/generate`. Its fields are assumed.
    pub struct Music1Generate (
        /// The description of the music.
        prompt: text,
    ) {
        /// The length in seconds.
        duration: integer,
    } + job_options
}

impl Validate for VideoGenerate {
    fn validate(&self) -> Result<(), InvalidField> {
        video_inputs(
            self.image_url.as_ref(),
            self.end_image_url.as_ref(),
            &self.reference_image_urls,
            &self.reference_video_urls,
        )?;
        media_url("video_url", self.video_url.as_ref())?;
        media_url("audio_url", self.audio_url.as_ref())?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for ImageGenerate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for Image1Generate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for Video1Generate {
    fn validate(&self) -> Result<(), InvalidField> {
        video_inputs(
            self.image_url.as_ref(),
            self.end_image_url.as_ref(),
            &self.reference_image_urls,
            &self.reference_video_urls,
        )?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for Music1Generate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(self.webhook_url.as_ref())
    }
}
