//! Search for trending videos.

use serde_json::json;

use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::search;
use crate::catalog_data::trending::VIDEOS;

/// `POST /v1/trending-videos/search`: by title and tags, most viewed first.
pub(super) fn search(request: &mut Request<'_>) -> ApiResult {
    let query = search::read_query(request)?;
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
