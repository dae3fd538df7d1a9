//! The order of checks: a request with two errors gets the response of the earlier check.

use super::*;

scripts! {
    the_credential_the_rate_limit_and_the_kind_of_key_come_first r#"
        repeat 120
          open /v1/image-router/generate {} => 400
        open /v1/image-router/generate {} => 429 rate_limited
        open x-api-key=svc_open_demo /v1/image-router/generate {} => 401 unauthorized
        repeat 120
          open:svc_dev_demo /v1/open/top-ups {} => 403 open_key_required
        open:svc_dev_demo /v1/open/top-ups {} => 429 rate_limited
    "#
    the_fields_are_checked_before_the_funds [balance_usd("0.0100")] r#"
        open video {"duration": 9999} => 400 invalid_request
        open video => 402 insufficient_funds
    "#
    replay_is_checked_before_the_funds [balance_usd("0.1250")] r#"
        open key=order-1 video => 202
        available 0.0000
        open key=order-1 video => 200
    "#
}

on_every_frontend! {
    the_kind_of_key_is_checked_before_the_content_type,
    the_size_is_checked_before_the_json,
    the_json_is_checked_before_existence,
}

/// One byte more than 4 MiB.
const TOO_LARGE: usize = 4 * 1024 * 1024 + 1;

fn spaces(count: usize) -> Bytes {
    Bytes::from(vec![b' '; count])
}

async fn the_kind_of_key_is_checked_before_the_content_type(mock: Mock) {
    let developer = mock.open_as("svc_dev_demo");
    developer
        .send("POST", TOP_UPS, Some("text/plain"), "x".into())
        .await
        .expect_error(403, "open_key_required");
}

async fn the_size_is_checked_before_the_json(mock: Mock) {
    let open = mock.open();
    open.post_bytes(VIDEO, spaces(TOO_LARGE)).await.expect_error(413, "payload_too_large");
    open.post_bytes(VIDEO, spaces(TOO_LARGE - 1)).await.expect_error(400, "invalid_request");
    let mut padded = image().to_string().into_bytes();
    padded.resize(TOO_LARGE - 1, b' ');
    open.post_bytes(IMAGE, padded).await.expect(202);
}

async fn the_json_is_checked_before_existence(mock: Mock) {
    let path = "/v1/jobs/job_unknown/cancel";
    mock.open().post_bytes(path, "{").await.expect_error(400, "invalid_request");
    mock.open().post(path, json!({})).await.expect(404);
}
