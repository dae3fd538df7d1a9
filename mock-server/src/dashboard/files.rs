//! Files of the pages: the style sheet, the scripts and the icon, and artifacts of jobs and runs.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::api;
use crate::media::{Spec, serve};
use crate::service::Service;

/// The shorter side of thumbnails in pixels, below which the parts of a picture do not fit.
const THUMBNAIL_SIDE: u32 = 240;

/// Declares the files that are part of the program, by name.
macro_rules! assets {
    ($($name:literal)+) => {
        const ASSETS: &[(&str, &str)] = &[$(($name, include_str!(concat!("assets/", $name)))),+];
    };
}

assets! {
    "dashboard.css" "icon.svg" "app.js" "clock.js" "copy.js" "forms.js" "keyboard.js" "live.js"
    "morph.js" "navigation.js" "status.js" "stream.js" "unread.js"
    "worker.js"
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    let Some((_, content)) = ASSETS.iter().find(|(known, _)| *known == name) else {
        return not_found();
    };
    let content_type = match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    ([(CONTENT_TYPE, content_type)], *content).into_response()
}

/// `GET /dashboard/media/{file}`: the file that the media host has below `/artifacts/`.
///
/// Requests to the media host would appear in the request log and use up faults.
pub(super) async fn artifact(
    State(service): State<Service>,
    Path(file): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let spec = service.read(|state| api::media_file(&state.simulator.state, &file));
    rendered(spec, method, headers).await
}

/// `GET /dashboard/thumbnails/{file}`: a small picture of an image or video.
pub(super) async fn thumbnail(
    State(service): State<Service>,
    Path(file): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let spec = service.read(|state| api::media_file(&state.simulator.state, &file));
    // A video shows the test card of its seed, as an image does.
    let spec = spec.and_then(|spec| match spec {
        Spec::Image { width, height, seed } | Spec::Video { width, height, seed, .. } => {
            let shorter = width.min(height).max(1);
            let scaled = |side: u32| (side.saturating_mul(THUMBNAIL_SIDE) / shorter).min(960);
            Some(Spec::Image { width: scaled(width), height: scaled(height), seed })
        }
        _ => None,
    });
    rendered(spec, method, headers).await
}

async fn rendered(spec: Option<Spec>, method: Method, headers: HeaderMap) -> Response {
    let Some(spec) = spec else { return not_found() };
    let render = move || serve(&spec, &method, &headers).map(Body::from);
    match tokio::task::spawn_blocking(render).await {
        Ok(response) => response.into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "cannot render the file\n").into_response(),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "no such file\n").into_response()
}
