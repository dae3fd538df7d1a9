//! The order of checks: of two things that are wrong, the earlier one is told.

use bytes::Bytes;
use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::{IMAGE, TOP_UPS, VIDEO, available, image, submit, video, with};

on_every_face! {
    the_credential_comes_before_the_rate_limit,
    the_rate_limit_comes_before_the_kind_of_key,
    the_kind_of_key_comes_before_the_content_type,
    the_content_type_comes_before_the_size,
    the_size_comes_before_the_json,
    the_json_comes_before_existence,
    replay_comes_before_the_fields,
    the_fields_come_before_the_funds: balance_usd("0.0100"),
    replay_comes_before_the_funds: balance_usd("0.1250"),
    existence_comes_before_the_state,
    the_funds_come_before_concurrency: balance_usd("1.0000"),
}

/// One byte more than 4 MiB.
const TOO_LARGE: usize = 4 * 1024 * 1024 + 1;

fn blanks(count: usize) -> Bytes {
    Bytes::from(vec![b' '; count])
}

async fn the_credential_comes_before_the_rate_limit(mock: Mock) {
    let open = mock.open();
    for _ in 0..120 {
        open.post(IMAGE, json!({})).await.expect(400);
    }
    open.post(IMAGE, json!({}))
        .await
        .refused(429, "rate_limited");
    mock.open()
        .api_key("svc_open_demo")
        .post(IMAGE, json!({}))
        .await
        .refused(401, "unauthorized");
}

async fn the_rate_limit_comes_before_the_kind_of_key(mock: Mock) {
    let developer = mock.caller(Host::Open).bearer("svc_dev_demo");
    for _ in 0..120 {
        developer
            .post(TOP_UPS, json!({}))
            .await
            .refused(403, "open_key_required");
    }
    developer
        .post(TOP_UPS, json!({}))
        .await
        .refused(429, "rate_limited");
}

async fn the_kind_of_key_comes_before_the_content_type(mock: Mock) {
    let developer = mock.caller(Host::Open).bearer("svc_dev_demo");
    let answer = developer
        .send("POST", TOP_UPS, Some("text/plain"), "x".into())
        .await;
    answer.refused(403, "open_key_required");
}

async fn the_content_type_comes_before_the_size(mock: Mock) {
    let answer = mock
        .open()
        .send("POST", VIDEO, Some("text/plain"), blanks(TOO_LARGE))
        .await;
    answer.refused(415, "unsupported_media_type");
}

async fn the_size_comes_before_the_json(mock: Mock) {
    let open = mock.open();
    let answer = open
        .send("POST", VIDEO, Some("application/json"), blanks(TOO_LARGE))
        .await;
    answer.refused(413, "payload_too_large");
    let largest = open
        .send(
            "POST",
            VIDEO,
            Some("application/json"),
            blanks(TOO_LARGE - 1),
        )
        .await;
    largest.refused(400, "invalid_request");
    let mut whole = image().to_string().into_bytes();
    whole.resize(TOO_LARGE - 1, b' ');
    let answer = open
        .send("POST", IMAGE, Some("application/json"), whole.into())
        .await;
    answer.expect(202);
}

async fn the_json_comes_before_existence(mock: Mock) {
    let path = "/v1/jobs/job_unknown/cancel";
    let answer = mock
        .open()
        .send("POST", path, Some("application/json"), "{".into())
        .await;
    answer.refused(400, "invalid_request");
    mock.open().post(path, json!({})).await.expect(404);
}

async fn replay_comes_before_the_fields(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    submit(&keyed, VIDEO, video()).await;
    let bad = with(video(), json!({"duration": 9999}));
    keyed
        .post(VIDEO, bad)
        .await
        .refused(409, "idempotency_conflict");
}

async fn the_fields_come_before_the_funds(mock: Mock) {
    let open = mock.open();
    let bad = with(video(), json!({"duration": 9999}));
    open.post(VIDEO, bad).await.refused(400, "invalid_request");
    open.post(VIDEO, video())
        .await
        .refused(402, "insufficient_funds");
}

async fn replay_comes_before_the_funds(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    submit(&keyed, VIDEO, video()).await;
    assert_eq!(available(&mock.open()).await, "0.0000");
    keyed.post(VIDEO, video()).await.expect(200);
}

async fn existence_comes_before_the_state(mock: Mock) {
    let path = "/v1/jobs/job_unknown";
    mock.open()
        .post_nothing(&format!("{path}/cancel"))
        .await
        .expect(404);
    mock.open().get(&format!("{path}/result")).await.expect(404);
}

async fn the_funds_come_before_concurrency(mock: Mock) {
    let open = mock.open();
    let stuck = with(image(), json!({"prompt": "[mock:stuck]"}));
    let mut last = open.post(IMAGE, stuck.clone()).await.expect(202);
    while last.status() == 202 {
        last = open.post(IMAGE, stuck.clone()).await;
    }
    last.refused(400, "concurrency_limit_reached");
    let dear = json!({"model": "video-l", "prompt": "p", "duration": 30, "resolution": "1080p"});
    open.post(VIDEO, dear)
        .await
        .refused(402, "insufficient_funds");
}
