//! Webhooks: redelivery, the signing secret and test deliveries.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::jobs::{find, not_terminal};
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::webhooks::signature;

/// `POST /v1/jobs/{job_id}/webhook/redeliver`.
pub(super) fn redeliver_job(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    request.deny_body_fields()?;
    if job.webhook_url.is_none() {
        let message = "job was submitted without a `webhook_url`";
        return Err(ApiError::new(ErrorCode::WebhookNotConfigured, message));
    }
    if !job.status.is_terminal() {
        return Err(not_terminal(request, ErrorCode::JobNotTerminal, job));
    }
    let id = job.id.clone();
    let delivery = request.state.redeliver(&id);
    let event = request.state.webhook_queue.event(&id);
    Ok(ApiResponse::data(202, json!({"job_id": id, "event": event, "webhook_delivery": delivery})))
}

/// `GET /v1/webhooks/signing-secret`.
pub(super) fn get_secret(request: &mut Request<'_>) -> ApiResult {
    Ok(ApiResponse::data(200, secret(request)))
}

/// `POST /v1/webhooks/signing-secret/rotate`.
pub(super) fn rotate_secret(request: &mut Request<'_>) -> ApiResult {
    request.deny_body_fields()?;
    let workspace = request.workspace().to_owned();
    let (seed, now) = (request.state.seed, request.now());
    request.state.workspaces.rotate_secret(&workspace, seed, now);
    get_secret(request)
}

fn secret(request: &Request<'_>) -> Value {
    let Some(workspace) = request.state.workspaces.get(request.workspace()) else {
        return Value::Null;
    };
    let previous = workspace.previous(request.now());
    json!({
        "secret": workspace.signing_secret,
        "fingerprint": workspace.fingerprint(),
        "created_at": workspace.secret_created_at.to_string(),
        "rotation": {
            "previous_valid_until": previous.map(|previous| previous.valid_until.to_string()),
            "previous_fingerprint":
                previous.map(|previous| signature::fingerprint(&previous.secret)),
        },
    })
}

/// `POST /v1/webhooks/test-deliveries`: a single attempt, which is never retried.
pub(super) fn test(request: &mut Request<'_>) -> ApiResult {
    let fields = request.fields()?;
    fields.deny_unknown(|name| name == "url", "a test delivery")?;
    let url = fields.webhook_url("url")?;
    let url = url.ok_or_else(|| fields.error("url", "is required"))?;
    let url = url.to_owned();
    let body = json!({
        "event": "webhook.test",
        "request_id": request.request_id,
        "status": "OK",
        "payload": {"message": "This is a test. Nothing has happened."},
        "created_at": request.now().to_string(),
    });
    let workspace = request.workspace().to_owned();
    let id = request.state.rng.id("dlv");
    request.state.send_test(workspace, url.clone(), body);
    Ok(ApiResponse::data(
        202,
        json!({"delivery_id": id, "event": "webhook.test", "url": url, "status": "pending"}),
    ))
}
