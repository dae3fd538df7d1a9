//! What the service offers: models, prices, background music, trending videos, documents.

use serde_json::Value;
use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::{Developer, Open};
use crate::types::{
    CatalogModel, Estimate, EstimateRequest, Health, Model, MusicCategory, MusicPick, MusicTrack,
    Page, SearchQuery, ServiceCatalog, TrendingVideo,
};

resource! {
    /// What the service offers, and whether it is up. No key is needed.
    Catalog, /// What the service offers, and whether it is up.
    catalog of Developer
}

impl Catalog<'_> {
    /// Reads the capabilities, endpoints and models of the service: `GET /v1/catalog`.
    pub fn get(&self) -> Call<ServiceCatalog> {
        Call::new::<&str>(&self.client.core, Operation::Catalog, &[])
    }

    /// Reads whether the service is up: `GET /v1/health`.
    pub fn health(&self) -> Call<Health> {
        Call::new::<&str>(&self.client.core, Operation::Health, &[])
    }
}

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

resource! {
    /// The open catalog: models with their prices in dollars.
    Pricing, /// Prices of models: list them.
    pricing of Open
}

impl Pricing<'_> {
    /// Lists the open models with their prices: `GET /v1/open/catalog`.
    pub fn list(&self) -> Call<Page<CatalogModel>> {
        Call::list::<&str>(&self.client.core, Operation::OpenCatalogList, &[])
    }

    /// Reads an open model with its prices: `GET /v1/open/catalog/{model_id}`.
    pub fn get(&self, model_id: impl AsRef<str>) -> Call<CatalogModel> {
        Call::new(&self.client.core, Operation::OpenCatalogGet, &[model_id])
    }
}

resource! {
    /// Prices of submits before they are made.
    Estimates, /// Estimates: price a submit before it is made.
    estimates of Open
}

impl Estimates<'_> {
    /// Estimates the price of a submit, which equals the charge: `POST /v1/open/estimate`.
    pub fn create(&self, request: impl Into<EstimateRequest>) -> Call<Estimate> {
        Call::new::<&str>(&self.client.core, Operation::OpenEstimate, &[]).json(&request.into())
    }
}

resource! {
    /// Tracks of background music. No key is needed.
    BackgroundMusic, /// Background music: list and pick tracks.
    background_music of Developer
}

impl BackgroundMusic<'_> {
    /// Lists the tracks: `GET /v1/bgm/catalog`.
    pub fn list(&self) -> Call<Page<MusicTrack>> {
        Call::list::<&str>(&self.client.core, Operation::BgmCatalog, &[])
    }

    /// Lists the categories: `GET /v1/bgm/categories`.
    pub fn categories(&self) -> Call<Page<MusicCategory>> {
        Call::list::<&str>(&self.client.core, Operation::BgmCategories, &[])
    }

    /// Picks a track: `POST /v1/bgm/pick`.
    pub fn pick(&self, body: impl Borrow<MusicPick>) -> Call<MusicTrack> {
        Call::new::<&str>(&self.client.core, Operation::BgmPick, &[]).json(body.borrow())
    }
}

resource! {
    /// Trending videos.
    Trending, /// Trending videos: search them.
    trending of Developer
}

impl Trending<'_> {
    /// Searches trending videos: `POST /v1/trending-videos/search`.
    pub fn search(&self, body: impl Borrow<SearchQuery>) -> Call<Page<TrendingVideo>> {
        Call::list::<&str>(&self.client.core, Operation::TrendingVideosSearch, &[])
            .json(body.borrow())
    }
}

resource! {
    /// The OpenAPI documents of the service. No key is needed.
    Schema, /// The OpenAPI documents of the service.
    schema of Developer
}

impl Schema<'_> {
    /// Reads the OpenAPI document of the surface: `GET /v1/openapi.json`.
    pub fn openapi(&self) -> Call<Value> {
        Call::new::<&str>(&self.client.core, Operation::Openapi, &[])
    }

    /// Reads the live schema, which is authoritative: `GET /reference/json`.
    pub fn reference(&self) -> Call<Value> {
        Call::new::<&str>(&self.client.core, Operation::Reference, &[])
    }
}
