//! Top-ups: create and get.

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use svc_sdk::contract::limits::TOP_UP_CENTS_RANGE;
use svc_sdk::contract::{ErrorCode, TopUpStatus};

use super::api_error::ApiError;
use super::error_details::requested_error;
use super::fields::{Fields, directives};
use super::request::{Created, Request};
use super::response::{ApiResponse, ApiResult};
use super::strict_json;
use crate::engine::destination;
use crate::engine::idempotency::StoredReceipt;
use crate::engine::top_ups::TopUp;

/// `POST /v1/open/top-ups`.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    request.body()?;
    // The key stands for the amount: another landing page is not another top-up.
    let digest = |request: &Request<'_>| {
        let cents = request.body.as_ref().and_then(|body| body.get("amount_usd_cents"));
        strict_json::digest(cents.unwrap_or(&Value::Null))
    };
    request.create_once_in(request.operation.name(), digest, create_new)
}

fn create_new(request: &mut Request<'_>) -> Created {
    let fields = request.fields()?;
    let is_known = |name: &str| matches!(name, "amount_usd_cents" | "success_url" | "cancel_url");
    fields.deny_unknown(is_known, "a top-up")?;
    let cents = fields.value("amount_usd_cents");
    let cents = amount(cents.ok_or_else(|| fields.error("amount_usd_cents", "is required"))?)?;
    let success_url = return_url(fields, "success_url")?;
    let cancel_url = return_url(fields, "cancel_url")?;
    let decoded = success_url.as_deref().map(|url| percent_decode_str(url).decode_utf8_lossy());
    let given = directives(decoded.as_deref())?;
    if let Some(refusal) = request.apply_directives(&given).refuse {
        return Err(requested_error(&refusal, request.hosts));
    }
    let top_up = TopUp {
        id: request.state.rng.id("top"),
        workspace: request.workspace().to_owned(),
        status: TopUpStatus::Pending,
        cents,
        token: request.state.rng.token(32),
        success_url,
        cancel_url,
        created_at: request.now(),
    };
    let receipt = top_up.view(request.hosts);
    let stored = StoredReceipt::TopUp(top_up.id.as_str().into());
    request.state.top_ups.add(top_up);
    Ok((ApiResponse::data(201, receipt), stored))
}

/// `GET /v1/open/top-ups/{id}`.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    let top_up = request.state.top_ups.get(request.id());
    match top_up.filter(|top_up| top_up.workspace == request.workspace()) {
        Some(top_up) => Ok(ApiResponse::data(200, top_up.view(request.hosts))),
        None => {
            let message = "top-up not found in this workspace";
            Err(ApiError::new(ErrorCode::TopUpNotFound, message))
        }
    }
}

/// Reads the value of `amount_usd_cents`. Errors have the code `invalid_amount`, even if it has another type.
fn amount(cents: &Value) -> Result<u32, ApiError> {
    let cents = cents.as_u64().filter(|cents| TOP_UP_CENTS_RANGE.contains(cents));
    cents.and_then(|cents| u32::try_from(cents).ok()).ok_or_else(|| {
        let (min, max) = (TOP_UP_CENTS_RANGE.start(), TOP_UP_CENTS_RANGE.end());
        let message = format!("`amount_usd_cents` must be an integer from {min} to {max}");
        ApiError::new(ErrorCode::InvalidAmount, message).detail("field", json!("amount_usd_cents"))
    })
}

/// Reads the URL that the payer's browser is redirected to: any HTTPS URL.
fn return_url(fields: Fields<'_>, name: &str) -> Result<Option<String>, ApiError> {
    let Some(text) = fields.text(name)? else { return Ok(None) };
    let url = destination::parse_https(text).map_err(|problem| fields.error(name, problem))?;
    Ok(Some(url.into()))
}
