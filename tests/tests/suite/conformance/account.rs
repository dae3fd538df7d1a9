//! The account on the developer surface, and the routes that need no key.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_frontend};

use super::concurrency::fill_concurrency_limit;
use super::{VIDEO, parse_usd, submit, text, video};

on_every_frontend! {
    public_routes_need_no_key,
    public_routes_without_a_key_are_limited_by_address,
    the_full_key_is_not_returned,
    me_describes_the_key_and_its_workspace,
    generation_limits_count_jobs_in_flight,
    a_new_key_has_the_requested_scopes,
    seeded_keys_exist,
    balance_and_usage_include_jobs_of_the_open_surface: balance_usd("1.0000"),
}

async fn public_routes_need_no_key(mock: Mock) {
    let clients = [
        mock.client(Host::Developer),
        mock.developer(),
        mock.developer_as("svc_invalid"),
        mock.developer_as("svc_open_demo"),
    ];
    for client in clients {
        for path in [
            "/v1/health",
            "/v1/catalog",
            "/v1/bgm/catalog",
            "/v1/bgm/categories",
        ] {
            client.get(path).await.expect(200);
        }
        client.post("/v1/bgm/pick", json!({})).await.expect(200);
    }
}

async fn public_routes_without_a_key_are_limited_by_address(mock: Mock) {
    let anonymous = mock.client(Host::Developer);
    let open_key = mock.developer_as("svc_open_demo");
    for _ in 0..240 {
        anonymous.get("/v1/health").await.expect(200);
        open_key.get("/v1/health").await.expect(200);
    }
    anonymous.get_error("/v1/health", 429, "rate_limited").await;
    for _ in 0..120 {
        anonymous.post("/v1/bgm/pick", json!({})).await.expect(200);
    }
    anonymous
        .post_error("/v1/bgm/pick", json!({}), 429, "rate_limited")
        .await;
    mock.developer().get("/v1/health").await.expect(200);
}

async fn the_full_key_is_not_returned(mock: Mock) {
    let me = mock.developer().get("/v1/me").await.expect(200);
    let key = &me.data()["key"];
    for field in ["id", "name", "prefix", "scopes"] {
        assert!(key.get(field).is_some(), "{field} in {key}");
    }
    assert!(
        key.as_object().unwrap().contains_key("last_used_at"),
        "{key}"
    );
    assert!(!me.text().contains("svc_dev_demo"), "{me:?}");
}

async fn generation_limits_count_jobs_in_flight(mock: Mock) {
    let limits = |me: Value| me["generation_limits"].clone();
    let before = limits(mock.developer().get_data("/v1/me").await);
    assert_eq!(before["in_flight"], 0);
    let ids = fill_concurrency_limit(&mock.open()).await;
    assert_eq!(before["concurrent_jobs"], ids.len());
    let after = limits(mock.developer().get_data("/v1/me").await);
    assert_eq!(after["in_flight"], ids.len());
}

async fn a_new_key_has_the_requested_scopes(mock: Mock) {
    let body = json!({"kind": "developer", "workspace": "ws_demo", "scopes": ["account:read"]});
    let key = mock.create_key(body).await;
    let me = mock.developer_as(&key).get_data("/v1/me").await;
    assert_eq!(me["key"]["scopes"], json!(["account:read"]));
}

async fn seeded_keys_exist(mock: Mock) {
    for (key, workspace) in [
        ("svc_dev_demo", "ws_demo"),
        ("svc_dev_noscope", "ws_demo"),
        ("svc_sa_demo", "ws_demo"),
        ("svc_team_demo", "ws_team"),
        ("svc_dev_other", "ws_other"),
    ] {
        let me = mock.developer_as(key).get_data("/v1/me").await;
        assert_eq!(me["workspace"]["id"], workspace, "{key}");
        let scopes = me["key"]["scopes"].as_array().unwrap();
        assert_eq!(scopes.is_empty(), key == "svc_dev_noscope", "{key}");
        assert!(me.get("owner").is_some(), "{me}");
    }
}

async fn balance_and_usage_include_jobs_of_the_open_surface(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    let developer = mock.developer();
    let balance = developer.get_data("/v1/balance").await;
    assert_eq!(balance["currency"], "USD");
    assert_eq!(balance["available_usd"], "0.8750");
    assert_eq!(balance["reserved_usd"], "0.1250");
    mock.advance(8).await;
    let balance = developer.get_data("/v1/balance").await;
    assert_eq!(balance["available_usd"], "0.8750");
    assert_eq!(balance["reserved_usd"], "0.0000");
    let entries = developer.get_items("/v1/usage").await;
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
        assert_eq!(parse_usd(&entry["amount_usd"]), 1_250);
    }
    let other = mock.developer_as("svc_dev_other");
    let entries = other.get_items("/v1/usage").await;
    assert!(entries.iter().all(|entry| entry["job_id"] != id.as_str()));
}

async fn me_describes_the_key_and_its_workspace(mock: Mock) {
    let key = mock
        .create_key(json!({"kind": "developer", "workspace": "ws_new", "plan": "pro"}))
        .await;
    let client = mock.developer_as(&key);
    let me = client.get_data("/v1/me").await;
    assert!(text(&me["key"]["id"]).starts_with("key_"), "{me}");
    assert_eq!(me["workspace"]["id"], "ws_new");
    assert_eq!(me["workspace"]["plan"], "pro");
    for path in ["/v1/me", "/v1/balance", "/v1/usage"] {
        client.get_data(path).await;
    }
}
