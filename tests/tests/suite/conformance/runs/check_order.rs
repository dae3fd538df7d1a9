//! The order of checks when a run is started.

use super::*;

on_every_frontend! {
    checks_run_in_the_documented_order,
    replay_is_checked_after_existence_and_before_the_fields,
    the_rate_limit_is_checked_after_the_credential_and_before_the_scope,
    funds_are_checked_last: balance_usd("0"),
}

const JSON: Option<&str> = Some("application/json");
const UNKNOWN: &str = "/v1/formats/fmt_none/runs";
const INACTIVE: &str = "/v1/formats/fmt_inactive/runs";

fn large() -> Bytes {
    Bytes::from(format!(
        "{{\"instruction\": \"{}\"",
        "x".repeat(4 * 1024 * 1024)
    ))
}

async fn checks_run_in_the_documented_order(mock: Mock) {
    let (anonymous, developer) = (mock.client(Host::Developer), mock.developer());
    let no_scopes = mock.developer_as("svc_dev_noscope");
    let send = |client: &Client, path: &'static str, kind: Option<&'static str>, body: Bytes| {
        let client = client.clone();
        async move { client.send("POST", path, kind, body).await }
    };
    let broken = || Bytes::from_static(b"{\"instruction\": ");
    let text = Some("text/plain");
    send(&anonymous, UNKNOWN, text, large())
        .await
        .expect_error(401, "unauthorized");
    send(&no_scopes, UNKNOWN, text, large())
        .await
        .expect_error(403, "insufficient_scope");
    send(&developer, UNKNOWN, text, large())
        .await
        .expect_error(415, "unsupported_media_type");
    send(&developer, UNKNOWN, JSON, large())
        .await
        .expect_error(413, "payload_too_large");
    send(&developer, UNKNOWN, JSON, broken())
        .await
        .expect_error(400, "invalid_request");
    let bad = || Bytes::from(json!({}).to_string());
    send(&developer, UNKNOWN, JSON, bad())
        .await
        .expect_error(404, "format_not_found");
    send(&developer, INACTIVE, JSON, bad())
        .await
        .expect_error(400, "invalid_request");
    let good = Bytes::from(instruction("x").to_string());
    send(&developer, INACTIVE, JSON, good)
        .await
        .expect_error(409, "format_inactive");
    assert_no_runs(&mock).await;
}

async fn replay_is_checked_after_existence_and_before_the_fields(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    keyed.post(RUNS, instruction("x")).await.expect(202);
    keyed
        .post_error(RUNS, json!({}), 409, "idempotency_conflict")
        .await;
    keyed
        .post_error(UNKNOWN, instruction("x"), 404, "format_not_found")
        .await;
    let exclusive = with(instruction("y"), json!({"on_active_run": "reject"}));
    let keyed = mock.developer().idempotency_key("order-2");
    keyed
        .post_error(RUNS, exclusive.clone(), 409, "format_run_in_progress")
        .await;
    mock.advance(10).await;
    keyed.post(RUNS, exclusive.clone()).await.expect(202);
    keyed.post(RUNS, exclusive).await.expect(200);
}

async fn the_rate_limit_is_checked_after_the_credential_and_before_the_scope(mock: Mock) {
    let no_scopes = mock.developer_as("svc_dev_noscope");
    for _ in 0..120 {
        no_scopes
            .post_error(RUNS, json!({}), 403, "insufficient_scope")
            .await;
    }
    no_scopes
        .post_error(RUNS, json!({}), 429, "rate_limited")
        .await;
    let revoked = mock.developer_as("svc_revoked");
    revoked
        .post_error(RUNS, json!({}), 401, "unauthorized")
        .await;
}

async fn funds_are_checked_last(mock: Mock) {
    let developer = mock.developer();
    let rows: [(&str, Value, u16, &str); 4] = [
        (RUNS, json!({}), 400, "invalid_request"),
        (UNKNOWN, instruction("x"), 404, "format_not_found"),
        (INACTIVE, instruction("x"), 409, "format_inactive"),
        (RUNS, instruction("x"), 402, "insufficient_credits"),
    ];
    for (path, body, status, code) in rows {
        developer.post_error(path, body, status, code).await;
    }
}
