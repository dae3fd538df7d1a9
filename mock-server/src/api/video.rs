//! The video router: submit, and its models.

use super::request::Request;
use super::response::ApiResult;
use super::{models, submit};
use crate::engine::models::Router;

/// `POST /v1/video-router/generate`.
pub(super) fn generate(request: &mut Request<'_>) -> ApiResult {
    submit::submit(request, Router::Video)
}

/// `GET /v1/video-router/models`.
pub(super) fn list_models(_: &mut Request<'_>) -> ApiResult {
    models::list(Router::Video)
}

/// `GET /v1/video-router/models/{model_id}`.
pub(super) fn get_model(request: &mut Request<'_>) -> ApiResult {
    models::get(Router::Video, request.id())
}
