//! The order of checks when a run is started: of two things that are wrong, the earlier is told.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Caller, Host, Mock, on_every_face};

use super::{RUNS, nothing_happened, run_of, with};

on_every_face! {
    each_check_comes_before_the_next,
    a_replay_comes_before_the_fields_and_after_existence,
    a_spent_budget_comes_after_the_credential_and_before_the_scope,
    funds_are_looked_at_last: balance_usd("0"),
}

const JSON: Option<&str> = Some("application/json");
const NONE: &str = "/v1/formats/fmt_none/runs";
const INACTIVE: &str = "/v1/formats/fmt_inactive/runs";

fn large() -> Bytes {
    Bytes::from(format!(
        "{{\"instruction\": \"{}\"",
        "x".repeat(4 * 1024 * 1024)
    ))
}

async fn each_check_comes_before_the_next(mock: Mock) {
    let (anonymous, developer) = (mock.caller(Host::Developer), mock.developer());
    let poor = mock.caller(Host::Developer).bearer("svc_dev_noscope");
    let send = |caller: &Caller, path: &'static str, kind: Option<&'static str>, body: Bytes| {
        let caller = caller.clone();
        async move { caller.send("POST", path, kind, body).await }
    };
    let broken = || Bytes::from_static(b"{\"instruction\": ");
    let text = Some("text/plain");
    send(&anonymous, NONE, text, large())
        .await
        .refused(401, "unauthorized");
    send(&poor, NONE, text, large())
        .await
        .refused(403, "insufficient_scope");
    send(&developer, NONE, text, large())
        .await
        .refused(415, "unsupported_media_type");
    send(&developer, NONE, JSON, large())
        .await
        .refused(413, "payload_too_large");
    send(&developer, NONE, JSON, broken())
        .await
        .refused(400, "invalid_request");
    let bad = || Bytes::from(json!({}).to_string());
    send(&developer, NONE, JSON, bad())
        .await
        .refused(404, "format_not_found");
    send(&developer, INACTIVE, JSON, bad())
        .await
        .refused(400, "invalid_request");
    let good = Bytes::from(run_of("x").to_string());
    send(&developer, INACTIVE, JSON, good)
        .await
        .refused(409, "format_inactive");
    nothing_happened(&mock).await;
}

async fn a_replay_comes_before_the_fields_and_after_existence(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    keyed.post(RUNS, run_of("x")).await.expect(202);
    keyed
        .post(RUNS, json!({}))
        .await
        .refused(409, "idempotency_conflict");
    keyed
        .post(NONE, run_of("x"))
        .await
        .refused(404, "format_not_found");
    let once = with(run_of("y"), json!({"on_active_run": "reject"}));
    let keyed = mock.developer().idempotency_key("order-2");
    keyed
        .post(RUNS, once.clone())
        .await
        .refused(409, "format_run_in_progress");
    mock.advance(10).await;
    keyed.post(RUNS, once.clone()).await.expect(202);
    keyed.post(RUNS, once).await.expect(200);
}

async fn a_spent_budget_comes_after_the_credential_and_before_the_scope(mock: Mock) {
    let poor = mock.caller(Host::Developer).bearer("svc_dev_noscope");
    for _ in 0..120 {
        poor.post(RUNS, json!({}))
            .await
            .refused(403, "insufficient_scope");
    }
    poor.post(RUNS, json!({}))
        .await
        .refused(429, "rate_limited");
    let revoked = mock.caller(Host::Developer).bearer("svc_revoked");
    revoked
        .post(RUNS, json!({}))
        .await
        .refused(401, "unauthorized");
}

async fn funds_are_looked_at_last(mock: Mock) {
    let developer = mock.developer();
    let rows: [(&str, Value, u16, &str); 4] = [
        (RUNS, json!({}), 400, "invalid_request"),
        (NONE, run_of("x"), 404, "format_not_found"),
        (INACTIVE, run_of("x"), 409, "format_inactive"),
        (RUNS, run_of("x"), 402, "insufficient_credits"),
    ];
    for (path, body, status, code) in rows {
        developer.post(path, body).await.refused(status, code);
    }
}
