//! Rate limits per minute and key, counted separately for reads and writes.

use super::*;

on_every_frontend! {
    rate_limit_headers_count_down,
    rejected_requests_count,
    the_plan_sets_the_limits,
    the_demo_workspace_has_the_limits_of_its_plan: plan("pro"),
    writes_are_limited_per_minute,
    reads_are_limited_per_minute,
    keys_are_counted_separately,
    head_is_a_read_and_an_estimate_is_a_write,
    reads_without_a_key_are_limited_by_address,
    writes_without_a_key_are_limited_by_address,
}

const LIMITS: [(&str, u64, u64); 5] = [
    ("free", 120, 4_800),
    ("pro", 300, 12_000),
    ("startup", 600, 24_000),
    ("scale", 1_200, 48_000),
    ("enterprise", 1_200, 48_000),
];

/// Asserts the rate limit headers.
#[track_caller]
fn assert_limit(response: &Response, limit: u64, remaining: u64) {
    let headers = ["ratelimit-limit", "ratelimit-remaining"].map(|name| response.int_header(name));
    assert_eq!(headers, [limit, remaining], "{response:?}");
    assert!(response.int_header("ratelimit-reset") <= 60, "{response:?}");
}

async fn send_invalid_write(client: &Client) -> Response {
    client.post(IMAGE, json!({})).await
}

async fn rate_limit_headers_count_down(mock: Mock) {
    let open = mock.open();
    assert_limit(&open.get("/v1/jobs").await, 4_800, 4_799);
    assert_limit(&open.get("/v1/video-router/models").await, 4_800, 4_798);
    let submitted = open.post(IMAGE, image()).await.expect(202);
    assert_limit(&submitted, 120, 119);
    let id = submitted.data()["job"]["id"].as_str().unwrap().to_owned();
    assert_limit(&cancel(&open, &id).await, 120, 118);
    assert_limit(
        &open.get(&format!("/v1/jobs/{id}/status")).await,
        4_800,
        4_797,
    );
    assert_limit(
        &open.post(TOP_UPS, json!({"amount_usd_cents": 500})).await,
        120,
        117,
    );
    let developer = mock.developer();
    assert_limit(&developer.get("/v1/jobs").await, 4_800, 4_799);
}

async fn rejected_requests_count(mock: Mock) {
    let open = mock.open();
    let keyed = mock.open().idempotency_key("order-1");
    submit(&keyed, VIDEO, video()).await;
    let json_type = Some("application/json");
    let too_large = Bytes::from(vec![b' '; 4 * 1024 * 1024 + 1]);
    let invalid_amount = json!({"amount_usd_cents": 1});
    let rejected = [
        (open.post(VIDEO, json!({})).await, 400),
        (open.send("POST", VIDEO, json_type, "{".into()).await, 400),
        (
            open.send("POST", VIDEO, Some("text/plain"), "{}".into())
                .await,
            415,
        ),
        (open.send("POST", VIDEO, json_type, too_large).await, 413),
        (open.post_empty("/v1/jobs/job_unknown/cancel").await, 404),
        (keyed.post(VIDEO, image()).await, 409),
        (open.post(TOP_UPS, invalid_amount).await, 400),
    ];
    for (index, (response, status)) in (0..).zip(rejected) {
        let response = response.expect(status);
        assert_limit(&response, 120, 118 - index);
    }
    assert_limit(
        &open.get("/v1/jobs/job_unknown").await.expect(404),
        4_800,
        4_799,
    );
    let developer = mock.open_as("svc_dev_demo");
    let limited = developer.get("/v1/open/top-ups/top_x").await.expect(403);
    assert_limit(&limited, 4_800, 4_799);
}

async fn the_plan_sets_the_limits(mock: Mock) {
    for (plan, writes, reads) in LIMITS {
        let workspace = format!("ws_{plan}");
        let key = mock
            .create_key(json!({"kind": "open", "workspace": workspace, "plan": plan}))
            .await;
        let client = mock.open_as(&key);
        assert_limit(&client.get("/v1/jobs").await, reads, reads - 1);
        assert_limit(&client.post(ESTIMATE, json!({})).await, writes, writes - 1);
    }
}

async fn the_demo_workspace_has_the_limits_of_its_plan(mock: Mock) {
    assert_limit(&mock.open().get("/v1/jobs").await, 12_000, 11_999);
    assert_limit(&mock.developer().get("/v1/jobs").await, 12_000, 11_999);
}

async fn writes_are_limited_per_minute(mock: Mock) {
    let open = mock.open();
    for count in 1..=120 {
        assert_limit(
            &send_invalid_write(&open).await.expect(400),
            120,
            120 - count,
        );
    }
    let limited = send_invalid_write(&open).await;
    assert_limit(&limited, 120, 0);
    let wait = limited.int_header("retry-after");
    assert!((1..=60).contains(&wait), "retry-after {wait}");
    let error = limited.expect_error(429, "rate_limited");
    assert_eq!(error["details"]["scope"], "write");
    let read = open.get("/v1/jobs").await.expect(200);
    assert_limit(&read, 4_800, 4_799);
}

async fn reads_are_limited_per_minute(mock: Mock) {
    let open = mock.open();
    for count in 1..=4_800 {
        let response = open.get("/v1/jobs/job_unknown/status").await;
        assert_limit(&response, 4_800, 4_800 - count);
    }
    let limited = open.get("/v1/jobs").await;
    assert!(limited.int_header("retry-after") >= 1, "{limited:?}");
    let error = limited.expect_error(429, "rate_limited");
    assert_eq!(error["details"]["scope"], "read");
    send_invalid_write(&open).await.expect(400);
}

async fn keys_are_counted_separately(mock: Mock) {
    let open = mock.open();
    for _ in 0..5 {
        send_invalid_write(&open).await.expect(400);
    }
    let other = mock.new_open_client("ws_demo").await;
    assert_limit(&send_invalid_write(&other).await, 120, 119);
    // The header in which a key is sent makes no difference.
    let same = mock.client(Host::Open).api_key("svc_open_demo");
    assert_limit(&send_invalid_write(&same).await, 120, 114);
}

async fn head_is_a_read_and_an_estimate_is_a_write(mock: Mock) {
    let head = mock.open().head("/v1/jobs").await.expect(200);
    assert_limit(&head, 4_800, 4_799);
    let estimate = json!({"model": "image-i", "input": {"prompt": "p"}});
    let estimate = mock.open().post(ESTIMATE, estimate).await.expect(200);
    assert_limit(&estimate, 120, 119);
}

async fn reads_without_a_key_are_limited_by_address(mock: Mock) {
    let anonymous = mock.open_as("svc_invalid");
    for _ in 0..480 {
        anonymous.get("/v1/jobs").await.expect(401);
    }
    let limited = anonymous.get("/v1/jobs").await;
    assert!(limited.int_header("retry-after") >= 1, "{limited:?}");
    limited.expect_error(429, "rate_limited");
    mock.open().get("/v1/jobs").await.expect(200);
    anonymous.post(IMAGE, image()).await.expect(401);
    mock.advance(60).await;
    anonymous.get("/v1/jobs").await.expect(401);
}

async fn writes_without_a_key_are_limited_by_address(mock: Mock) {
    let anonymous = mock.client(Host::Open);
    for _ in 0..120 {
        anonymous.post(IMAGE, image()).await.expect(401);
    }
    anonymous
        .post_error(IMAGE, image(), 429, "rate_limited")
        .await;
    mock.open().post(IMAGE, image()).await.expect(202);
}
