//! The order of checks when a run is started.

use super::*;

scripts! {
    replay_is_checked_after_existence_and_before_the_fields r#"
        developer key=order-1 run => 202
        developer key=order-1 /v1/formats/fmt_demo/runs {} => 409 idempotency_conflict
        developer key=order-1 /v1/formats/fmt_none/runs {"instruction": "x"} => 404 format_not_found
        developer key=order-2 run {"on_active_run": "reject"} => 409 format_run_in_progress
        advance 10
        developer key=order-2 run {"on_active_run": "reject"} => 202
        developer key=order-2 run {"on_active_run": "reject"} => 200
    "#
    the_rate_limit_is_checked_after_the_credential_and_before_the_scope r#"
        repeat 120
          developer:svc_dev_noscope /v1/formats/fmt_demo/runs {} => 403 insufficient_scope
        developer:svc_dev_noscope /v1/formats/fmt_demo/runs {} => 429 rate_limited
        developer:svc_revoked /v1/formats/fmt_demo/runs {} => 401 unauthorized
    "#
    funds_are_checked_last [balance_usd("0")] r#"
        developer /v1/formats/fmt_demo/runs {} => 400 invalid_request
        developer /v1/formats/fmt_none/runs {"instruction": "x"} => 404 format_not_found
        developer /v1/formats/fmt_inactive/runs {"instruction": "x"} => 409 format_inactive
        developer run => 402 insufficient_credits
    "#
}

on_every_frontend! { checks_run_in_the_documented_order }

const JSON: Option<&str> = Some("application/json");
const UNKNOWN: &str = "/v1/formats/fmt_none/runs";
const INACTIVE: &str = "/v1/formats/fmt_inactive/runs";

fn large() -> Bytes {
    Bytes::from(format!("{{\"instruction\": \"{}\"", "x".repeat(4 * 1024 * 1024)))
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
    send(&anonymous, UNKNOWN, text, large()).await.expect_error(401, "unauthorized");
    send(&no_scopes, UNKNOWN, text, large()).await.expect_error(403, "insufficient_scope");
    send(&developer, UNKNOWN, text, large()).await.expect_error(415, "unsupported_media_type");
    send(&developer, UNKNOWN, JSON, large()).await.expect_error(413, "payload_too_large");
    send(&developer, UNKNOWN, JSON, broken()).await.expect_error(400, "invalid_request");
    let bad = || Bytes::from(json!({}).to_string());
    send(&developer, UNKNOWN, JSON, bad()).await.expect_error(404, "format_not_found");
    send(&developer, INACTIVE, JSON, bad()).await.expect_error(400, "invalid_request");
    let good = Bytes::from(instruction("x").to_string());
    send(&developer, INACTIVE, JSON, good).await.expect_error(409, "format_inactive");
    assert_no_runs(&mock).await;
}
