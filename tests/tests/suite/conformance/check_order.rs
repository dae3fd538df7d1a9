//! The order of checks: a request with two errors gets the response of the earlier check.

use super::*;

on_every_frontend! {
    the_credential_is_checked_before_the_rate_limit,
    the_rate_limit_is_checked_before_the_kind_of_key,
    the_kind_of_key_is_checked_before_the_content_type,
    the_size_is_checked_before_the_json,
    the_json_is_checked_before_existence,
    the_fields_are_checked_before_the_funds: balance_usd("0.0100"),
    replay_is_checked_before_the_funds: balance_usd("0.1250"),
    the_funds_are_checked_before_concurrency: balance_usd("1.0000"),
}

/// One byte more than 4 MiB.
const TOO_LARGE: usize = 4 * 1024 * 1024 + 1;

fn spaces(count: usize) -> Bytes {
    Bytes::from(vec![b' '; count])
}

async fn the_credential_is_checked_before_the_rate_limit(mock: Mock) {
    let open = mock.open();
    for _ in 0..120 {
        open.post(IMAGE, json!({})).await.expect(400);
    }
    open.post_error(IMAGE, json!({}), 429, "rate_limited").await;
    mock.open()
        .api_key("svc_open_demo")
        .post_error(IMAGE, json!({}), 401, "unauthorized")
        .await;
}

async fn the_rate_limit_is_checked_before_the_kind_of_key(mock: Mock) {
    let developer = mock.open_as("svc_dev_demo");
    for _ in 0..120 {
        developer
            .post_error(TOP_UPS, json!({}), 403, "open_key_required")
            .await;
    }
    developer
        .post_error(TOP_UPS, json!({}), 429, "rate_limited")
        .await;
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
    open.post_bytes(VIDEO, spaces(TOO_LARGE))
        .await
        .expect_error(413, "payload_too_large");
    open.post_bytes(VIDEO, spaces(TOO_LARGE - 1))
        .await
        .expect_error(400, "invalid_request");
    let mut padded = image().to_string().into_bytes();
    padded.resize(TOO_LARGE - 1, b' ');
    open.post_bytes(IMAGE, padded).await.expect(202);
}

async fn the_json_is_checked_before_existence(mock: Mock) {
    let path = "/v1/jobs/job_unknown/cancel";
    mock.open()
        .post_bytes(path, "{")
        .await
        .expect_error(400, "invalid_request");
    mock.open().post(path, json!({})).await.expect(404);
}

async fn the_fields_are_checked_before_the_funds(mock: Mock) {
    let open = mock.open();
    let bad = with(video(), json!({"duration": 9999}));
    open.post_error(VIDEO, bad, 400, "invalid_request").await;
    open.post_error(VIDEO, video(), 402, "insufficient_funds")
        .await;
}

async fn replay_is_checked_before_the_funds(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    submit(&keyed, VIDEO, video()).await;
    assert_eq!(available(&mock.open()).await, "0.0000");
    keyed.post(VIDEO, video()).await.expect(200);
}

async fn the_funds_are_checked_before_concurrency(mock: Mock) {
    let open = mock.open();
    let stuck = with(image(), json!({"prompt": "[mock:stuck]"}));
    let mut last = open.post(IMAGE, stuck.clone()).await.expect(202);
    while last.status() == 202 {
        last = open.post(IMAGE, stuck.clone()).await;
    }
    last.expect_error(400, "concurrency_limit_reached");
    let expensive =
        json!({"model": "video-l", "prompt": "p", "duration": 30, "resolution": "1080p"});
    open.post_error(VIDEO, expensive, 402, "insufficient_funds")
        .await;
}
