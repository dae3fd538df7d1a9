//! Bodies of the developer surface's canonical generation paths. Beyond `prompt` they are assumed:
//! where they apply, the fields are those of the open surface's routers.

use super::body::body;
use super::invalid::{video_inputs, webhook_url};
use super::{InvalidField, Validate};

body! {
    /// The body of `POST /v1/image-1.0/generate`. Its fields are assumed.
    ///
    /// ```
    /// use svc_sdk::types::Image1Generate;
    ///
    /// let body = Image1Generate::new("a red fox").num_images(2);
    /// assert_eq!(serde_json::to_value(&body)?, serde_json::json!({"prompt": "a red fox", "num_images": 2}));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Image1Generate (
        /// What the image shows.
        prompt,
    ) {
        /// Such as `1:1`.
        aspect_ratio: text,
        /// Such as `720p`.
        resolution: text,
        /// How many images.
        num_images: integer,
    }
}

body! {
    /// The body of `POST /v1/video-1.0/generate`. Its fields are assumed.
    ///
    /// ```
    /// use svc_sdk::types::Video1Generate;
    ///
    /// let body = Video1Generate::new("a red fox in snow").duration(5);
    /// assert_eq!(serde_json::to_value(&body)?, serde_json::json!({"prompt": "a red fox in snow", "duration": 5}));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Video1Generate (
        /// What the video shows.
        prompt,
    ) {
        /// Seconds.
        duration: integer,
        /// Such as `720p`.
        resolution: text,
        /// Such as `16:9`.
        aspect_ratio: text,
        /// The first frame (HTTPS).
        image_url: text,
        /// The last frame (HTTPS); needs `image_url`.
        end_image_url: text,
        /// 1 to 10 reference images.
        reference_image_urls: urls,
        /// 1 to 5 reference videos.
        reference_video_urls: urls,
        /// A soundtrack.
        generate_audio: flag,
    }
}

body! {
    /// The body of `POST /v1/music-1.0/generate`. Its fields are assumed.
    ///
    /// ```
    /// use svc_sdk::types::Music1Generate;
    ///
    /// let body = Music1Generate::new("a slow waltz").duration(30);
    /// assert_eq!(serde_json::to_value(&body)?, serde_json::json!({"prompt": "a slow waltz", "duration": 30}));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Music1Generate (
        /// What the music is like.
        prompt,
    ) {
        /// Seconds.
        duration: integer,
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
