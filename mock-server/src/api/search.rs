//! Searches: the fields that all share, `query` and `limit`, and that for trending videos.

use serde_json::json;

use super::api_error::ApiError;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::catalog_data::matches_all_words;
use crate::catalog_data::trending::VIDEOS;

/// The number of results if the request has no `limit`.
const DEFAULT_LIMIT: u64 = 10;
const MAX_LIMIT: u64 = 50;

/// Reads the words that are searched for, and the maximum number of results.
pub(super) fn read_query<'r>(request: &'r Request<'_>) -> Result<(&'r str, usize), ApiError> {
    let fields = request.fields()?;
    fields.deny_unknown(|name| matches!(name, "query" | "limit"), "a search")?;
    let query = fields.non_blank_text("query")?;
    let query = query.ok_or_else(|| fields.error("query", "is required"))?;
    let limit = fields.integer("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
    Ok((query, usize::try_from(limit).unwrap_or(usize::MAX)))
}

/// `POST /v1/trending-videos/search`: by title and tags, most viewed first.
pub(super) fn trending_videos(request: &mut Request<'_>) -> ApiResult {
    let (query, limit) = read_query(request)?;
    let matches = VIDEOS.iter().filter(|video| {
        let title = [video.title].into_iter();
        matches_all_words(query, title.chain(video.tags.iter().copied()))
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
    Ok(ApiResponse::list(views.take(limit).collect()))
}
