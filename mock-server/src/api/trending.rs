//! `POST /v1/trending-videos/search`: what many people watch, by title and topic.

use serde_json::json;

use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::search;
use crate::catalog_data::trending::VIDEOS;

/// The most watched come first.
pub(super) fn search(request: &mut Request<'_>) -> ApiResult {
    let query = search::read_query(request)?;
    let found = VIDEOS.iter().filter(|video| {
        let title = [video.title].into_iter();
        query.matches_all_words(title.chain(video.tags.iter().copied()))
    });
    let views = found.map(|video| {
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
