//! Bodies of the generation submits.

use serde::Serialize;
use serde_json::Value;

use super::invalid::{https_url, https_urls, webhook_url};
use super::{Extra, InvalidField, Validate};
use crate::contract::limits::{REFERENCE_IMAGE_URLS, REFERENCE_VIDEO_URLS};
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

/// Declares a body: its fields with their setters, the communication fields, and what is not
/// known yet.
macro_rules! body {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident: $kind:tt, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        #[non_exhaustive]
        pub struct $name {
            /// The model's id, or `auto`.
            pub model: String,
            $( $(#[$field_meta])* #[serde(skip_serializing_if = "is_unset")] pub $field: body!(@type $kind), )*
            /// How the submit is answered.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub mode: Option<Mode>,
            /// Where the end is told; goes with [`Mode::Webhook`].
            #[serde(skip_serializing_if = "Option::is_none")]
            pub webhook_url: Option<String>,
            /// How long `sync` and `subscribe` wait: 0 to 30 seconds.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub wait_timeout_seconds: Option<u64>,
            /// The caller's own data, stored on the job and never sent to the model.
            #[serde(skip_serializing_if = "Extra::is_empty")]
            pub metadata: Extra,
            /// Any other field.
            #[serde(flatten)]
            pub extra: Extra,
        }

        impl $name {
            /// A body for that model.
            #[must_use]
            pub fn new(model: impl Into<String>) -> Self {
                Self { model: model.into(), ..Self::default() }
            }

            $( body!(@setter $(#[$field_meta])* $field $kind); )*

            /// How the submit is answered.
            #[must_use]
            pub fn mode(mut self, mode: Mode) -> Self {
                self.mode = Some(mode);
                self
            }

            /// Where the end is told; sets `mode` to `webhook`.
            #[must_use]
            pub fn webhook_url(mut self, url: impl Into<String>) -> Self {
                self.webhook_url = Some(url.into());
                self.mode(Mode::Webhook)
            }

            /// How long `sync` and `subscribe` wait: 0 to 30 seconds.
            #[must_use]
            pub fn wait_timeout_seconds(mut self, seconds: u64) -> Self {
                self.wait_timeout_seconds = Some(seconds);
                self
            }

            /// One entry of the caller's own data.
            #[must_use]
            pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                self.metadata.insert(key.into(), value.into());
                self
            }

            /// A field that this build has no setter for.
            #[must_use]
            pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
                self.extra.insert(name.into(), value.into());
                self
            }
        }
    };
    (@type text) => { Option<String> };
    (@type integer) => { Option<u64> };
    (@type flag) => { Option<bool> };
    (@type urls) => { Vec<String> };
    (@setter $(#[$m:meta])* $field:ident text) => {
        $(#[$m])* #[must_use]
        pub fn $field(mut self, value: impl Into<String>) -> Self { self.$field = Some(value.into()); self }
    };
    (@setter $(#[$m:meta])* $field:ident integer) => {
        $(#[$m])* #[must_use]
        pub fn $field(mut self, value: u64) -> Self { self.$field = Some(value); self }
    };
    (@setter $(#[$m:meta])* $field:ident flag) => {
        $(#[$m])* #[must_use]
        pub fn $field(mut self, value: bool) -> Self { self.$field = Some(value); self }
    };
    (@setter $(#[$m:meta])* $field:ident urls) => {
        $(#[$m])* #[must_use]
        pub fn $field<I: IntoIterator<Item = U>, U: Into<String>>(mut self, urls: I) -> Self {
            self.$field = urls.into_iter().map(Into::into).collect();
            self
        }
    };
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
    pub struct VideoGenerate {
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
    pub struct ImageGenerate {
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
        https_url("image_url", self.image_url.as_ref())?;
        https_url("end_image_url", self.end_image_url.as_ref())?;
        https_url("video_url", self.video_url.as_ref())?;
        https_url("audio_url", self.audio_url.as_ref())?;
        https_urls(
            "reference_image_urls",
            &self.reference_image_urls,
            REFERENCE_IMAGE_URLS,
        )?;
        https_urls(
            "reference_video_urls",
            &self.reference_video_urls,
            REFERENCE_VIDEO_URLS,
        )?;
        webhook_url(self.webhook_url.as_ref())
    }
}

impl Validate for ImageGenerate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(self.webhook_url.as_ref())
    }
}

/// Whether a field was never set and so is not sent.
trait Unset {
    fn unset(&self) -> bool;
}

impl<T> Unset for Option<T> {
    fn unset(&self) -> bool {
        self.is_none()
    }
}

impl<T> Unset for Vec<T> {
    fn unset(&self) -> bool {
        self.is_empty()
    }
}

fn is_unset(value: &impl Unset) -> bool {
    value.unset()
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
