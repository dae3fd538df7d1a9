//! `POST /v1/trending-videos/search`: what many people watch, by title and topic.

use serde_json::json;

use super::request::Request;
use super::response::{Answer, Outcome};
use super::search;
use crate::catalog_data::trending::VIDEOS;

/// The most watched come first.
pub(super) fn search(request: &mut Request<'_>) -> Outcome {
    let wanted = search::wanted(request)?;
    let found = VIDEOS.iter().filter(|video| {
        let title = [video.title].into_iter();
        wanted.fits(title.chain(video.tags.iter().copied()))
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
    Ok(Answer::list(views.take(wanted.limit).collect()))
}
