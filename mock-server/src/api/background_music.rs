//! Background music: the catalog, its categories, and a pick. Nothing of it needs a key.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::fields::Fields;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::catalog_data::music::{CATEGORIES, TRACKS, Track};
use crate::engine::Hosts;

/// `GET /v1/bgm/catalog`.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let view = |track| view(track, request.hosts);
    Ok(ApiResponse::list(TRACKS.iter().map(view).collect()))
}

/// `GET /v1/bgm/categories`.
pub(super) fn categories(_: &mut Request<'_>) -> ApiResult {
    let categories = CATEGORIES.iter().map(|(id, name)| {
        let of_it = TRACKS.iter().filter(|track| track.category == *id);
        json!({"id": id, "name": name, "track_count": of_it.count()})
    });
    Ok(ApiResponse::list(categories.collect()))
}

/// `POST /v1/bgm/pick`: one of the tracks of that `category` and `mood`, by chance; `404` where
/// none is like that.
pub(super) fn pick(request: &mut Request<'_>) -> ApiResult {
    let empty_body = json!({});
    let fields = Fields::of_body(request.body.as_ref().unwrap_or(&empty_body))?;
    fields.deny_unknown(|name| matches!(name, "category" | "mood"), "a pick")?;
    let category = fields.text("category")?;
    let mood = fields.text("mood")?;
    let fitting: Vec<&Track> = TRACKS
        .iter()
        .filter(|track| category.is_none_or(|wanted| wanted == track.category))
        .filter(|track| mood.is_none_or(|wanted| wanted == track.mood))
        .collect();
    let place = request.state.rng.below(fitting.len());
    match fitting.get(place) {
        Some(track) => Ok(ApiResponse::data(200, view(track, request.hosts))),
        None => {
            let message = "There is no music of that category and mood.";
            Err(ApiError::new(ErrorCode::NotFound, message))
        }
    }
}

fn view(track: &Track, hosts: &Hosts) -> Value {
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
