//! Background music: list the catalog and its categories, and pick a track. No key is required.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::catalog_data::music::{CATEGORIES, MusicTrack, TRACKS};
use crate::engine::Hosts;

/// `GET /v1/bgm/catalog`.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let view = |track| view(track, request.hosts);
    Ok(ApiResponse::list(TRACKS.iter().map(view).collect()))
}

/// `GET /v1/bgm/categories`.
pub(super) fn categories(_: &mut Request<'_>) -> ApiResult {
    let categories = CATEGORIES.iter().map(|(id, name)| {
        let tracks = TRACKS.iter().filter(|track| track.category == *id);
        json!({"id": id, "name": name, "track_count": tracks.count()})
    });
    Ok(ApiResponse::list(categories.collect()))
}

/// `POST /v1/bgm/pick`: a random track of this `category` and `mood`. Responds with `404` if there
/// is none.
pub(super) fn pick(request: &mut Request<'_>) -> ApiResult {
    let fields = request.optional_fields()?;
    fields.deny_unknown(|name| matches!(name, "category" | "mood"), "a pick")?;
    let category = fields.text("category")?;
    let mood = fields.text("mood")?;
    let matching: Vec<&MusicTrack> = TRACKS
        .iter()
        .filter(|track| category.is_none_or(|category| category == track.category))
        .filter(|track| mood.is_none_or(|mood| mood == track.mood))
        .collect();
    let index = request.state.rng.below(matching.len());
    match matching.get(index) {
        Some(track) => Ok(ApiResponse::data(200, view(track, request.hosts))),
        None => {
            let message = "no track with this category and mood";
            Err(ApiError::new(ErrorCode::NotFound, message))
        }
    }
}

fn view(track: &MusicTrack, hosts: &Hosts) -> Value {
    json!({
        "id": track.id,
        "title": track.title,
        "category": track.category,
        "mood": track.mood,
        "url": format!("{}/artifacts/{}.wav", hosts.media, track.id),
        "content_type": track.spec().content_type(),
        "duration_seconds": track.seconds,
    })
}
