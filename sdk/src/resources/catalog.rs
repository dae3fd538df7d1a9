//! What the service offers: models, prices, background music, trending videos, documents.

use serde_json::Value;

use super::{methods, resource};
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

methods! { Catalog<'_> {
    /// Reads the capabilities, endpoints and models of the service: `GET /v1/catalog`.
    get -> ServiceCatalog: new Operation::Catalog;
    /// Reads whether the service is up: `GET /v1/health`.
    health -> Health: new Operation::Health;
} }

resource! {
    /// The image and video models, with what they accept.
    ///
    /// Prices in dollars are in [`Pricing`](super::Pricing).
    Models, /// Models: list them.
    models of Open
}

methods! { Models<'_> {
    /// Lists the image models: `GET /v1/image-router/models`.
    list_images -> Page<Model>: list Operation::ImageModelsList;
    /// Reads an image model: `GET /v1/image-router/models/{model_id}`.
    get_image[model_id: AsRef<str>] -> Model: new Operation::ImageModelsGet;
    /// Lists the video models: `GET /v1/video-router/models`.
    list_videos -> Page<Model>: list Operation::VideoModelsList;
    /// Reads a video model: `GET /v1/video-router/models/{model_id}`.
    get_video[model_id: AsRef<str>] -> Model: new Operation::VideoModelsGet;
} }

resource! {
    /// The open catalog: models with their prices in dollars.
    Pricing, /// Prices of models: list them.
    pricing of Open
}

methods! { Pricing<'_> {
    /// Lists the open models with their prices: `GET /v1/open/catalog`.
    list -> Page<CatalogModel>: list Operation::OpenCatalogList;
    /// Reads an open model with its prices: `GET /v1/open/catalog/{model_id}`.
    get[model_id: AsRef<str>] -> CatalogModel: new Operation::OpenCatalogGet;
} }

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

methods! { BackgroundMusic<'_> {
    /// Lists the tracks: `GET /v1/bgm/catalog`.
    list -> Page<MusicTrack>: list Operation::BgmCatalog;
    /// Lists the categories: `GET /v1/bgm/categories`.
    categories -> Page<MusicCategory>: list Operation::BgmCategories;
    /// Picks a track: `POST /v1/bgm/pick`.
    pick(MusicPick) -> MusicTrack: new Operation::BgmPick;
} }

resource! {
    /// Trending videos.
    Trending, /// Trending videos: search them.
    trending of Developer
}

methods! { Trending<'_> {
    /// Searches trending videos: `POST /v1/trending-videos/search`.
    search(SearchQuery) -> Page<TrendingVideo>: list Operation::TrendingVideosSearch;
} }

resource! {
    /// The OpenAPI documents of the service. No key is needed.
    Schema, /// The OpenAPI documents of the service.
    schema of Developer
}

methods! { Schema<'_> {
    /// Reads the OpenAPI document of the surface: `GET /v1/openapi.json`.
    openapi -> Value: new Operation::Openapi;
    /// Reads the live schema, which is authoritative: `GET /reference/json`.
    reference -> Value: new Operation::Reference;
} }
