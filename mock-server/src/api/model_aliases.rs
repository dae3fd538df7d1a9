//! Compatibility aliases under `/v1/models/…`: the canonical operations under the name of their
//! first-party owner.

use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::request::Request;
use super::response::ApiResult;

/// The value of `{first_party_owner}` in the paths of the aliases.
const FIRST_PARTY_OWNER: &str = "studio";

/// Runs the canonical operation if the path names the first-party owner, the only owner of models.
pub(super) fn run_canonical(
    request: &mut Request<'_>,
    canonical: fn(&mut Request<'_>) -> ApiResult,
) -> ApiResult {
    if request.id() == FIRST_PARTY_OWNER {
        return canonical(request);
    }
    let message = "model not found for this owner";
    Err(ApiError::new(ErrorCode::ModelNotFound, message))
}
