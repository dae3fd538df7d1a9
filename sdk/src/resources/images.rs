//! Images.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::JobHandle;
use crate::surface::{Developer, Open};
use crate::types::{Image1Generate, ImageGenerate};

resource! {
    /// The images that the service generates.
    ///
    /// ```no_run
    /// use svc_sdk::types::ImageGenerate;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let body = ImageGenerate::new("auto").prompt("a red fox in snow");
    /// let job = client.images().generate(body).await?;
    /// job.wait().await?;
    /// job.download("out").await?;
    /// # Ok(())
    /// # }
    /// ```
    Images, /// Images: generate them.
    images of both surfaces
}

impl Images<'_, Open> {
    /// Submits an image job: `POST /v1/image-router/generate`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Assumed)]
    pub fn generate(&self, body: impl Borrow<ImageGenerate>) -> Call<JobHandle<Open>> {
        Call::submit(&self.client.core, Operation::ImageGenerate, &[]).json(body.borrow())
    }
}

impl Images<'_, Developer> {
    /// Submits an image job: `POST /v1/image-1.0/generate`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn generate(&self, body: impl Borrow<Image1Generate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::Image1Generate, &[]).json(body.borrow())
    }
}
