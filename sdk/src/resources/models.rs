//! Models.

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Open;
use crate::types::{Model, Page};

resource! {
    /// The image and video models, with what they accept.
    ///
    /// Prices in dollars are in [`Pricing`](super::Pricing).
    Models, /// Models: list them.
    models of Open
}

impl Models<'_> {
    /// Lists the image models: `GET /v1/image-router/models`.
    pub fn list_images(&self) -> Call<Page<Model>> {
        Call::list::<&str>(&self.client.core, Operation::ImageModelsList, &[])
    }

    /// Reads an image model: `GET /v1/image-router/models/{model_id}`.
    pub fn get_image(&self, model_id: impl AsRef<str>) -> Call<Model> {
        Call::new(&self.client.core, Operation::ImageModelsGet, &[model_id])
    }

    /// Lists the video models: `GET /v1/video-router/models`.
    pub fn list_videos(&self) -> Call<Page<Model>> {
        Call::list::<&str>(&self.client.core, Operation::VideoModelsList, &[])
    }

    /// Reads a video model: `GET /v1/video-router/models/{model_id}`.
    pub fn get_video(&self, model_id: impl AsRef<str>) -> Call<Model> {
        Call::new(&self.client.core, Operation::VideoModelsGet, &[model_id])
    }
}
