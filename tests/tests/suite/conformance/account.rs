//! The account on the developer surface: who calls, what is left, what was spent; and the routes
//! that need no key.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_face};

use super::concurrency::fill;
use super::{VIDEO, submit, text, units, video};

on_every_face! {
    public_routes_need_no_key,
    public_routes_without_a_key_are_limited_by_address,
    the_full_key_is_never_returned,
    a_key_says_who_calls,
    generation_limits_tell_the_limit,
    a_new_key_has_the_scopes_that_it_was_given,
    the_keys_of_the_start_are_there,
    the_developer_surface_shows_the_same_balance_and_ledger: balance_usd("1.0000"),
}

async fn public_routes_need_no_key(mock: Mock) {
    let callers = [
        mock.caller(Host::Developer),
        mock.developer(),
        mock.caller(Host::Developer).bearer("nonsense"),
        mock.caller(Host::Developer).bearer("svc_open_demo"),
    ];
    for caller in callers {
        for path in [
            "/v1/health",
            "/v1/catalog",
            "/v1/bgm/catalog",
            "/v1/bgm/categories",
        ] {
            caller.get(path).await.expect(200);
        }
        caller.post("/v1/bgm/pick", json!({})).await.expect(200);
    }
}

async fn public_routes_without_a_key_are_limited_by_address(mock: Mock) {
    let stranger = mock.caller(Host::Developer);
    let foreign = mock.caller(Host::Developer).bearer("svc_open_demo");
    for _ in 0..240 {
        stranger.get("/v1/health").await.expect(200);
        foreign.get("/v1/health").await.expect(200);
    }
    stranger
        .get("/v1/health")
        .await
        .refused(429, "rate_limited");
    for _ in 0..120 {
        stranger.post("/v1/bgm/pick", json!({})).await.expect(200);
    }
    let answer = stranger.post("/v1/bgm/pick", json!({})).await;
    answer.refused(429, "rate_limited");
    mock.developer().get("/v1/health").await.expect(200);
}

async fn the_full_key_is_never_returned(mock: Mock) {
    let me = mock.developer().get("/v1/me").await.expect(200);
    let key = &me.data()["key"];
    for field in ["id", "name", "prefix", "scopes"] {
        assert!(key.get(field).is_some(), "no {field} in {key}");
    }
    assert!(
        key.as_object().unwrap().contains_key("last_used_at"),
        "{key}"
    );
    assert!(!me.text().contains("svc_dev_demo"), "{me:?}");
}

async fn generation_limits_tell_the_limit(mock: Mock) {
    let limits = |me: Value| me["generation_limits"].clone();
    let before = limits(mock.developer().get("/v1/me").await.expect(200).data());
    assert_eq!(before["in_flight"], 0);
    let ids = fill(&mock.open()).await;
    assert_eq!(before["concurrent_jobs"], ids.len());
    let after = limits(mock.developer().get("/v1/me").await.expect(200).data());
    assert_eq!(after["in_flight"], ids.len());
}

async fn a_new_key_has_the_scopes_that_it_was_given(mock: Mock) {
    let body = json!({"kind": "developer", "workspace": "ws_demo", "scopes": ["account:read"]});
    let key = mock.new_key(body).await;
    let me = mock
        .caller(Host::Developer)
        .bearer(&key)
        .get("/v1/me")
        .await
        .expect(200)
        .data();
    assert_eq!(me["key"]["scopes"], json!(["account:read"]));
}

async fn the_keys_of_the_start_are_there(mock: Mock) {
    for (key, workspace) in [
        ("svc_dev_demo", "ws_demo"),
        ("svc_dev_noscope", "ws_demo"),
        ("svc_sa_demo", "ws_demo"),
        ("svc_team_demo", "ws_team"),
        ("svc_dev_other", "ws_other"),
    ] {
        let me = mock
            .caller(Host::Developer)
            .bearer(key)
            .get("/v1/me")
            .await
            .expect(200)
            .data();
        assert_eq!(me["workspace"]["id"], workspace, "{key}");
        let scopes = me["key"]["scopes"].as_array().unwrap();
        assert_eq!(scopes.is_empty(), key == "svc_dev_noscope", "{key}");
        assert!(me.get("owner").is_some(), "{me}");
    }
}

async fn the_developer_surface_shows_the_same_balance_and_ledger(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    let developer = mock.developer();
    let balance = developer.get("/v1/balance").await.expect(200).data();
    assert_eq!(balance["currency"], "USD");
    assert_eq!(balance["available_usd"], "0.8750");
    assert_eq!(balance["reserved_usd"], "0.1250");
    mock.advance(8).await;
    let balance = developer.get("/v1/balance").await.expect(200).data();
    assert_eq!(balance["available_usd"], "0.8750");
    assert_eq!(balance["reserved_usd"], "0.0000");
    let entries = developer.get("/v1/usage").await.expect(200).items();
    let of_job: Vec<_> = entries
        .iter()
        .filter(|entry| entry["job_id"] == id.as_str())
        .collect();
    let kinds: Vec<_> = of_job.iter().map(|entry| text(&entry["kind"])).collect();
    assert_eq!(kinds, ["capture", "reservation"], "newest first");
    for entry in of_job {
        assert!(
            entry["id"].is_string() && entry["created_at"].is_string(),
            "{entry}"
        );
        assert_eq!(units(&entry["amount_usd"]), 1_250);
    }
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    let entries = stranger.get("/v1/usage").await.expect(200).items();
    assert!(entries.iter().all(|entry| entry["job_id"] != id.as_str()));
}

async fn a_key_says_who_calls(mock: Mock) {
    let key = mock
        .new_key(json!({"kind": "developer", "workspace": "ws_new", "plan": "pro"}))
        .await;
    let caller = mock.caller(Host::Developer).bearer(&key);
    let me = caller.get("/v1/me").await.expect(200).data();
    assert!(text(&me["key"]["id"]).starts_with("key_"), "{me}");
    assert_eq!(me["workspace"]["id"], "ws_new");
    assert_eq!(me["workspace"]["plan"], "pro");
    for path in ["/v1/me", "/v1/balance", "/v1/usage"] {
        caller.get(path).await.expect(200).data();
    }
}
