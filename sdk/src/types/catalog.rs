//! What the developer surface offers: its catalog, background music, trending videos.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Assumed, Extra, InvalidField, Model, Validate};

/// The developer surface's catalog. That it has these parts is the specification's; their shapes
/// are assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ServiceCatalog {
    /// What the service can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Value>,
    /// Its endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<Value>,
    /// Whether its runtimes are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Value>,
    /// Its models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Assumed<Vec<Model>>>,
    /// How prices are to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Value>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A piece of background music. Its fields are assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MusicTrack {
    /// Identifies the piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Its mood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mood: Option<String>,
    /// Where it can be heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How long it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<f64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A category of background music. Its fields are assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MusicCategory {
    /// Identifies the category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The body of `POST /v1/bgm/pick`. Its fields are assumed.
///
/// ```
/// use svc_sdk::types::MusicPick;
///
/// let body = MusicPick::new().category("ambient").mood("calm");
/// assert_eq!(serde_json::to_value(&body)?, serde_json::json!({"category": "ambient", "mood": "calm"}));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MusicPick {
    /// Only pieces of that category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Only pieces of that mood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mood: Option<String>,
    /// Any other field.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MusicPick {
    /// Any piece.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only pieces of that category.
    #[must_use]
    pub fn category(mut self, category: impl Into<String>) -> Self {
        self.category = Some(category.into());
        self
    }

    /// Only pieces of that mood.
    #[must_use]
    pub fn mood(mut self, mood: impl Into<String>) -> Self {
        self.mood = Some(mood.into());
        self
    }

    /// A field that this build has no setter for.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

/// The body of the searches (`POST /v1/avatar-catalog/search`, `POST /v1/trending-videos/search`).
/// Its fields are assumed.
///
/// ```
/// use svc_sdk::types::Search;
///
/// let body = Search::new("presenter").limit(5);
/// assert_eq!(serde_json::to_value(&body)?, serde_json::json!({"query": "presenter", "limit": 5}));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Search {
    /// What is looked for.
    pub query: String,
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Any other field.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Search {
    /// A search.
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// How many at most.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// A field that this build has no setter for.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

/// A trending video. Its fields are assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TrendingVideo {
    /// Identifies the video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How often it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<u64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An entry of a job's public timeline. Its fields are assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct JobEvent {
    /// What happened, for example `processing`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// When (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Validate for MusicPick {
    fn validate(&self) -> Result<(), InvalidField> {
        Ok(())
    }
}

impl Validate for Search {
    fn validate(&self) -> Result<(), InvalidField> {
        Ok(())
    }
}
