//! Searches: the fields that all share, `query` and `limit`, and that for trending videos.

use serde_json::json;

use super::api_error::ApiError;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::catalog_data;
use crate::catalog_data::trending::VIDEOS;

/// The number of results if the request has no `limit`.
const DEFAULT_LIMIT: u64 = 10;
/// The maximum number of results.
const MAX_LIMIT: u64 = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchQuery {
    text: String,
    pub(super) limit: usize,
}

pub(super) fn read_query(request: &Request<'_>) -> Result<SearchQuery, ApiError> {
    let fields = request.fields()?;
    fields.deny_unknown(|name| matches!(name, "query" | "limit"), "a search")?;
    let query = fields.non_blank_text("query")?;
    let query = query.ok_or_else(|| fields.error("query", "is required"))?;
    let limit = fields.integer("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
    Ok(SearchQuery { text: query.to_owned(), limit: usize::try_from(limit).unwrap_or(usize::MAX) })
}

impl SearchQuery {
    /// Returns whether every word of the query occurs in one of these texts.
    pub(super) fn matches_all_words<'t>(
        &self,
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> bool {
        catalog_data::matches_all_words(&self.text, texts)
    }
}

/// `POST /v1/trending-videos/search`: by title and tags, most viewed first.
pub(super) fn trending_videos(request: &mut Request<'_>) -> ApiResult {
    let query = read_query(request)?;
    let matches = VIDEOS.iter().filter(|video| {
        let title = [video.title].into_iter();
        query.matches_all_words(title.chain(video.tags.iter().copied()))
    });
    let views = matches.map(|video| {
        json!({
            "id": video.id,
            "title": video.title,
            "tags": video.tags,
            "views": video.views,
            "duration_seconds": video.seconds,
            "url": format!("{}/artifacts/{}.mp4", request.hosts.media, video.id),
            "published_at": video.published_at,
        })
    });
    Ok(ApiResponse::list(views.take(query.limit).collect()))
}
