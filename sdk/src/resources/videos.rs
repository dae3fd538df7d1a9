//! Videos.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::JobHandle;
use crate::surface::{Developer, Open};
use crate::types::{Video1Generate, VideoGenerate};

resource! {
    /// The videos that the service generates.
    ///
    /// ```no_run
    /// use svc_sdk::types::VideoGenerate;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let body = VideoGenerate::new("auto").prompt("a red fox in snow").duration(5);
    /// let job = client.videos().generate(body).await?;
    /// job.wait().await?;
    /// job.download("out").await?;
    /// # Ok(())
    /// # }
    /// ```
    Videos, /// Videos: generate them.
    videos of both surfaces
}

impl Videos<'_, Open> {
    /// Submits a video job: `POST /v1/video-router/generate`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Documented)]
    pub fn generate(&self, body: impl Borrow<VideoGenerate>) -> Call<JobHandle<Open>> {
        Call::submit(&self.client.core, Operation::VideoGenerate, &[]).json(body.borrow())
    }
}

impl Videos<'_, Developer> {
    /// Submits a video job: `POST /v1/video-1.0/generate`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn generate(&self, body: impl Borrow<Video1Generate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::Video1Generate, &[]).json(body.borrow())
    }
}
