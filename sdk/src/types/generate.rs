//! Bodies of the generation submits.

use super::body::body;
use super::invalid::{https_url, video_inputs, webhook_url};
use super::{InvalidField, Validate};
use crate::open_enum::open_enum;

open_enum! {
    /// How a submit is answered.
    pub enum Mode {
        /// At once, with a receipt. The default.
        Async = "async",
        /// At once; a webhook tells the end.
        Webhook = "webhook",
        /// When the job is terminal, or `wait_timeout_seconds` are over.
        Sync = "sync",
        /// As [`Mode::Sync`].
        Subscribe = "subscribe",
    }
}

body! {
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
        model,
    ) {
        /// What the video shows.
        prompt: text,
        /// Seconds; the range is the model's.
        duration: integer,
        /// One that the model lists, such as `720p`.
        resolution: text,
        /// One that the model lists, such as `16:9`.
        aspect_ratio: text,
        /// The first frame (HTTPS).
        image_url: text,
        /// The last frame (HTTPS); needs `image_url`.
        end_image_url: text,
        /// The source clip, on video-to-video models.
        video_url: text,
        /// Speech, on lip-sync models.
        audio_url: text,
        /// 1 to 10 reference images, where the model takes them.
        reference_image_urls: urls,
        /// 1 to 5 reference videos, where the model takes them.
        reference_video_urls: urls,
        /// A soundtrack, on models that make one.
        generate_audio: flag,
    }
}

body! {
    /// The body of `POST /v1/image-router/generate`.
    ///
    /// ```
    /// use svc_sdk::types::ImageGenerate;
    ///
    /// let body = ImageGenerate::new("image-i").prompt("a red fox").num_images(2);
    /// assert_eq!(
    ///     serde_json::to_value(&body)?,
    ///     serde_json::json!({"model": "image-i", "prompt": "a red fox", "num_images": 2}),
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct ImageGenerate (
        /// The model's id, or `auto`.
        model,
    ) {
        /// What the image shows.
        prompt: text,
        /// One that the model lists, such as `1:1`.
        aspect_ratio: text,
        /// One that the model lists, such as `720p`.
        resolution: text,
        /// How many images.
        num_images: integer,
    }
}

impl Validate for VideoGenerate {
    fn validate(&self) -> Result<(), InvalidField> {
        video_inputs(
            self.image_url.as_ref(),
            self.end_image_url.as_ref(),
            &self.reference_image_urls,
            &self.reference_video_urls,
        )?;
        https_url("video_url", self.video_url.as_ref())?;
        https_url("audio_url", self.audio_url.as_ref())?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for ImageGenerate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(self.webhook_url.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_specification_is_sent_by_its_name() {
        let body = VideoGenerate::new("video-f")
            .prompt("p")
            .duration(5)
            .resolution("480p")
            .aspect_ratio("16:9")
            .image_url("https://a/1")
            .end_image_url("https://a/2")
            .video_url("https://a/3")
            .audio_url("https://a/4")
            .reference_image_urls(["https://a/5"])
            .reference_video_urls(["https://a/6"])
            .generate_audio(true)
            .webhook_url("https://a/7")
            .wait_timeout_seconds(3)
            .metadata("order", 4711)
            .field("new", "x");
        assert!(body.validate().is_ok());
        assert_eq!(
            serde_json::to_value(&body).unwrap(),
            serde_json::json!({
                "model": "video-f", "prompt": "p", "duration": 5, "resolution": "480p",
                "aspect_ratio": "16:9", "image_url": "https://a/1", "end_image_url": "https://a/2",
                "video_url": "https://a/3", "audio_url": "https://a/4",
                "reference_image_urls": ["https://a/5"], "reference_video_urls": ["https://a/6"],
                "generate_audio": true, "mode": "webhook", "webhook_url": "https://a/7",
                "wait_timeout_seconds": 3, "metadata": {"order": 4711}, "new": "x"
            })
        );
    }

    #[test]
    fn what_can_never_be_right_is_found_before_it_is_sent() {
        let video = || VideoGenerate::new("auto");
        let rows = [
            (video().image_url("http://a/1"), "image_url"),
            (video().end_image_url("file:///etc/passwd"), "end_image_url"),
            (
                video().reference_image_urls(vec!["https://a/1"; 11]),
                "reference_image_urls",
            ),
            (
                video().reference_video_urls(vec!["https://a/1"; 6]),
                "reference_video_urls",
            ),
            (
                video().webhook_url(format!("https://a/{}", "x".repeat(2048))),
                "webhook_url",
            ),
        ];
        for (body, field) in rows {
            assert_eq!(body.validate().unwrap_err().field(), field);
        }
        assert!(
            video().duration(9999).validate().is_ok(),
            "ranges are the service's to judge"
        );
    }
}
