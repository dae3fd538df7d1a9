//! The developer surface's catalog, background music, trending videos and searches.

use std::time::Duration;

use serde_json::Value;

use super::request::request_body;
use super::response::response_body;
use super::{Model, Timestamp, Validate};

response_body! {
    /// The developer surface's catalog. Its parts are specified; their shapes are assumed.
    #[derive(Default)]
    pub struct ServiceCatalog {
        /// The capabilities of the service.
        optional capabilities: Value,
        /// The endpoints of the service.
        optional endpoints: Value,
        /// The readiness of the runtimes.
        optional runtime: Value,
        /// The models.
        list models: Model,
        /// Metadata of the prices.
        optional pricing: Value,
    }
}

response_body! {
    /// A background music track. Its fields are assumed.
    #[derive(Default)]
    pub struct MusicTrack {
        /// The track's identifier.
        optional id: String,
        /// The track's title.
        optional title: String,
        /// The track's category.
        optional category: String,
        /// The track's mood.
        optional mood: String,
        /// The URL of the audio file.
        optional url: String,
        /// The length, in seconds.
        seconds duration as "duration_seconds": Duration,
    }
}

response_body! {
    /// A category of background music. Its fields are assumed.
    #[derive(Default)]
    pub struct MusicCategory {
        /// The category's identifier.
        optional id: String,
        /// The category's name.
        optional name: String,
    }
}

request_body! {
    /// The body of `POST /v1/bgm/pick`. Its fields are assumed.
    pub struct MusicPick () {
        /// The category to pick from.
        category: text,
        /// The mood to pick from.
        mood: text,
    }
}

request_body! {
    /// The body of the searches (`POST /v1/avatar-catalog/search`, `POST /v1/trending-videos/search`).
    /// Its fields are assumed.
    pub struct SearchQuery (
        /// The search terms.
        query: text,
    ) {
        /// The maximum number of results.
        limit: integer,
    }
}

response_body! {
    /// A trending video. Its fields are assumed.
    #[derive(Default)]
    pub struct TrendingVideo {
        /// The video's identifier.
        optional id: String,
        /// The video's title.
        optional title: String,
        /// The video's URL.
        optional url: String,
        /// The number of views.
        optional views: u64,
    }
}

response_body! {
    /// An entry of a job's public timeline. Its fields are assumed.
    #[derive(Default)]
    pub struct JobEvent {
        /// The type of the event, for example `processing`.
        optional event_type as "type": String,
        /// When the event happened.
        optional created_at: Timestamp,
    }
}

impl Validate for MusicPick {}

impl Validate for SearchQuery {}
