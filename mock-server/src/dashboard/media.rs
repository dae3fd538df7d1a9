//! Artifacts for the pages, from the control port.
//!
//! Requests to the media host would appear in the request log and use up faults.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::media::serve;
use crate::service::Service;

/// `GET /dashboard/media/{file}`: the file that the media host has below `/artifacts/`.
pub(super) async fn file(
    State(service): State<Service>,
    Path(file): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let Some(spec) = service.read(|state| state.simulator.media_file(&file)) else {
        return super::plain(StatusCode::NOT_FOUND, "no such file\n");
    };
    let render = move || serve(&spec, &method, &headers).map(Body::from);
    match tokio::task::spawn_blocking(render).await {
        Ok(response) => response.into_response(),
        Err(_) => super::plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot render the file\n"),
    }
}
