//! The image router: submit, and its models.

use super::request::Request;
use super::response::ApiResult;
use super::{models, submit};
use crate::engine::models::Router;

/// `POST /v1/image-router/generate`.
pub(super) fn generate(request: &mut Request<'_>) -> ApiResult {
    submit::submit(request, Router::Image)
}

/// `GET /v1/image-router/models`.
pub(super) fn list_models(_: &mut Request<'_>) -> ApiResult {
    models::list(Router::Image)
}

/// `GET /v1/image-router/models/{model_id}`.
pub(super) fn get_model(request: &mut Request<'_>) -> ApiResult {
    models::get(Router::Image, request.id())
}
