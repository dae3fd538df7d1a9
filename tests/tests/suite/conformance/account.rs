//! The account on the developer surface, and the routes that need no key.

use super::*;

on_every_frontend! {
    public_routes_need_no_key,
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
        for path in ["/health", "/v1/health"] {
            assert_eq!(client.get_data(path).await["status"], "ok");
        }
        for path in ["/v1/catalog", "/v1/bgm/catalog", "/v1/bgm/categories"] {
            client.get(path).await.expect(200);
        }
        client.post("/v1/bgm/pick", json!({})).await.expect(200);
    }
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
