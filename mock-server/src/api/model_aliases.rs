//! The compatibility aliases under `/v1/models/…`: the body and the answer are those of the
//! canonical operation, under the first-party owner.

use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::request::Request;
use super::response::ApiResult;

/// The value of `{first_party_owner}`.
const FIRST_PARTY_OWNER: &str = "studio";

/// Does what the canonical operation does; there are no models of other owners.
pub(super) fn run_canonical(
    request: &mut Request<'_>,
    canonical: fn(&mut Request<'_>) -> ApiResult,
) -> ApiResult {
    if request.id() == FIRST_PARTY_OWNER {
        return canonical(request);
    }
    let message = "There is no such model of this owner.";
    Err(ApiError::new(ErrorCode::ModelNotFound, message))
}
