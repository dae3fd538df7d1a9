//! Workspaces, keys and grants that the control API changes.

use super::runs::{Kind, RUNS, instruction, receipt, start};
use super::*;

const TEAM_RUNS: &str = "/v1/formats/fmt_team/runs";

on_every_frontend! {
    a_workspace_is_created_and_changed,
    a_balance_can_be_set,
    runs_need_the_wallet_of_the_organization,
    the_wallet_of_the_organization_pays_for_runs,
    a_team_workspace_can_be_created,
    a_revoked_key_is_rejected,
    a_granted_format_can_be_read_and_run,
    a_grant_does_not_replace_the_key_of_a_team,
    a_granted_archived_format_stays_unknown,
    a_reset_undoes_all_changes,
}

async fn update(mock: &Mock, workspace: &str, body: Value) -> Value {
    let path = format!("/workspaces/{workspace}");
    mock.control().post(&path, body).await.expect(200).json()
}

async fn developer_in(mock: &Mock, workspace: &str) -> Client {
    let body = json!({"kind": "developer", "workspace": workspace});
    mock.developer_as(&mock.create_key(body).await)
}

async fn a_workspace_is_created_and_changed(mock: Mock) {
    let created = update(&mock, "ws_new", json!({"balance_usd": 2.5, "plan": "pro"})).await;
    let expected = json!({
        "id": "ws_new",
        "name": "new",
        "kind": "personal",
        "plan": "pro",
        "balance_usd": "2.5000",
        "organization_wallet": "none",
        "organization_balance_usd": null,
    });
    assert_eq!(created, expected);
    let developer = developer_in(&mock, "ws_new").await;
    let balance = developer.get_data("/v1/balance").await;
    assert_eq!(balance["available_usd"], "2.5000");
    let limit = |client: Client| async move {
        let response = client.get("/v1/jobs").await;
        response.int_header("ratelimit-limit")
    };
    assert_eq!(limit(developer.clone()).await, 12_000);
    let changed = update(&mock, "ws_new", json!({"plan": "scale"})).await;
    assert_eq!(
        (&changed["plan"], &changed["balance_usd"]),
        (&json!("scale"), &json!("2.5000"))
    );
    assert_eq!(limit(developer).await, 48_000);
    assert_eq!(update(&mock, "ws_new", json!({})).await, changed);
}

async fn a_balance_can_be_set(mock: Mock) {
    submit(&mock.open(), VIDEO, video()).await;
    mock.advance(8).await;
    submit(&mock.open(), VIDEO, video()).await;
    update(&mock, "ws_demo", json!({"balance_usd": "0.0049"})).await;
    let error = mock
        .open()
        .post_error(IMAGE, image(), 402, "insufficient_funds")
        .await;
    assert_eq!(error["details"]["available_usd"], "0.0049");
    let ledger = mock.control().get_json("/ledger").await;
    let balance = &ledger["workspaces"]["ws_demo"];
    assert_eq!(balance["available_usd"], "0.0049");
    assert_eq!(balance["reserved_usd"], "0.1250");
    assert_eq!(balance["opening_usd"], "0.2549");
    // A snapshot with a balance that was set is consistent.
    let state = mock.state().await;
    mock.put_state(state).await.expect(200);
    mock.advance(8).await;
    update(&mock, "ws_demo", json!({"balance_usd": 1})).await;
    submit(&mock.open(), IMAGE, image()).await;
}

async fn runs_need_the_wallet_of_the_organization(mock: Mock) {
    update(&mock, "ws_demo", json!({"organization_wallet": "missing"})).await;
    let developer = mock.developer();
    for kind in Kind::ALL {
        let error = developer
            .post_error(
                kind.start(),
                kind.body("x"),
                402,
                "organization_wallet_not_provisioned",
            )
            .await;
        assert_eq!(error["details"]["workspace_id"], "ws_demo", "{kind:?}");
    }
    let bulk = json!({"items": [instruction("x")]});
    developer
        .post_error(
            "/v1/formats/fmt_demo/bulk-runs",
            bulk,
            402,
            "organization_wallet_not_provisioned",
        )
        .await;
    // Jobs are paid from the balance of the workspace.
    submit(&mock.open(), IMAGE, image()).await;
    update(&mock, "ws_demo", json!({"organization_wallet": "none"})).await;
    start(&developer, RUNS, instruction("x")).await;
}

async fn the_wallet_of_the_organization_pays_for_runs(mock: Mock) {
    let provisioned = update(
        &mock,
        "ws_demo",
        json!({"organization_wallet": "provisioned"}),
    )
    .await;
    assert_eq!(provisioned["organization_balance_usd"], "100.0000");
    let developer = mock.developer();
    let id = start(&developer, RUNS, instruction("[mock:cost=3]")).await;
    mock.advance(10).await;
    let run = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(run["usage"]["billable_amount_usd_micros"], 3_000_000);
    let after = update(&mock, "ws_demo", json!({})).await;
    assert_eq!(after["balance_usd"], "100.0000");
    assert_eq!(after["organization_balance_usd"], "97.0000");
    let entries = mock.ledger().await;
    let is_of_run = |entry: &Value| entry["run_id"] == *id && entry["wallet"] == "organization";
    assert!(
        !entries.is_empty() && entries.iter().all(is_of_run),
        "{entries:?}"
    );
    let usage = developer.get_items("/v1/usage").await;
    assert_eq!(usage.len(), entries.len());
    // Each request sees the wallet as it is: too little for this run, and not its own balance.
    update(&mock, "ws_demo", json!({"organization_balance_usd": "0.5"})).await;
    let error = developer
        .post_error(
            RUNS,
            instruction("[mock:cost=1]"),
            402,
            "insufficient_credits",
        )
        .await;
    assert_eq!(error["details"]["available_usd"], "0.5000");
    let state = mock.state().await;
    mock.put_state(state).await.expect(200);
}

async fn a_team_workspace_can_be_created(mock: Mock) {
    let created = update(&mock, "ws_crew", json!({"team": true})).await;
    assert_eq!(created["kind"], "team");
    let crew = developer_in(&mock, "ws_crew").await;
    assert_eq!(crew.get_data("/v1/me").await["workspace"]["kind"], "team");
    // A team key is judged by its grant, not by its kind.
    crew.post_error(TEAM_RUNS, instruction("x"), 404, "format_not_found")
        .await;
    let grant = json!({"format": "fmt_team", "workspace": "ws_crew"});
    mock.control().post("/grants", grant).await.expect(201);
    crew.post_data(TEAM_RUNS, instruction("x"), 202).await;
}

async fn a_revoked_key_is_rejected(mock: Mock) {
    let body = json!({"kind": "developer", "workspace": "ws_new"});
    let created = mock.control().post("/keys", body).await.expect(201).json();
    let client = mock.developer_as(&text(&created["key"]));
    client.get("/v1/me").await.expect(200);
    let path = format!("/keys/{}", text(&created["id"]));
    for _ in 0..2 {
        let revoked = mock
            .control()
            .request("DELETE", &path)
            .await
            .expect(200)
            .json();
        assert_eq!(
            (&revoked["id"], &revoked["revoked"]),
            (&created["id"], &json!(true))
        );
        client.get_error("/v1/me", 401, "unauthorized").await;
    }
    mock.control()
        .request("DELETE", "/keys/key_none")
        .await
        .expect(404);
    mock.control()
        .request("DELETE", "/keys/key_open_demo")
        .await
        .expect(200);
    mock.open().get_error("/v1/jobs", 401, "unauthorized").await;
    mock.developer().get("/v1/me").await.expect(200);
}

async fn a_granted_format_can_be_read_and_run(mock: Mock) {
    let other = mock.developer_as("svc_dev_other");
    for path in ["/v1/formats/fmt_demo", "/v1/formats/demo/teaser", RUNS] {
        other.get_error(path, 404, "format_not_found").await;
    }
    other
        .post_error(RUNS, instruction("x"), 404, "format_not_found")
        .await;
    let grant = json!({"format": "demo/teaser", "workspace": "ws_other"});
    let granted = mock
        .control()
        .post("/grants", grant)
        .await
        .expect(201)
        .json();
    assert_eq!(
        granted,
        json!({"format": "fmt_demo", "workspace": "ws_other"})
    );
    let listed = mock.control().get_json("/grants").await;
    assert_eq!(listed, json!({"data": [granted]}));
    assert_eq!(
        other.get_data("/v1/formats/demo/teaser").await["id"],
        "fmt_demo"
    );
    let formats = other.get_items("/v1/formats").await;
    assert!(
        formats.iter().any(|format| format["id"] == "fmt_demo"),
        "{formats:?}"
    );
    // The run belongs to the caller, who also pays for it.
    let id = start(&other, RUNS, instruction("x")).await;
    mock.advance(10).await;
    assert_eq!(other.get_items(RUNS).await[0]["run_id"], *id);
    assert!(mock.developer().get_items(RUNS).await.is_empty());
    assert!(
        mock.ledger()
            .await
            .iter()
            .all(|entry| entry["workspace"] == "ws_other")
    );
}

async fn a_grant_does_not_replace_the_key_of_a_team(mock: Mock) {
    let grant = json!({"format": "fmt_team", "workspace": "ws_demo"});
    mock.control().post("/grants", grant).await.expect(201);
    let developer = mock.developer();
    developer.get("/v1/formats/fmt_team").await.expect(200);
    let formats = developer.get_items("/v1/formats").await;
    assert!(
        formats.iter().any(|format| format["id"] == "fmt_team"),
        "{formats:?}"
    );
    developer
        .post_error(TEAM_RUNS, instruction("x"), 403, "workspace_key_required")
        .await;
}

async fn a_granted_archived_format_stays_unknown(mock: Mock) {
    let archived = json!({"format": "fmt_archived", "workspace": "ws_other"});
    mock.control().post("/grants", archived).await.expect(201);
    let other = mock.developer_as("svc_dev_other");
    other
        .get_error("/v1/formats/fmt_archived", 404, "format_not_found")
        .await;
}

async fn a_reset_undoes_all_changes(mock: Mock) {
    let initial = mock.state().await;
    update(
        &mock,
        "ws_demo",
        json!({"balance_usd": 1, "organization_wallet": "missing"}),
    )
    .await;
    let control = mock.control();
    let grant = json!({"format": "fmt_demo", "workspace": "ws_other"});
    control.post("/grants", grant).await.expect(201);
    control
        .request("DELETE", "/keys/key_dev_demo")
        .await
        .expect(200);
    let asset = json!({"workspace": "ws_demo", "content_type": "image/png", "bytes": 9});
    control.post("/assets", asset).await.expect(201);
    let address = json!({"host": "a.example", "address": "10.0.0.1"});
    control.post("/dns", address).await.expect(200);
    assert_ne!(mock.state().await, initial);
    // The changes are part of the state.
    let changed = mock.state().await;
    mock.put_state(&changed).await.expect(200);
    assert_eq!(mock.state().await, changed);
    control.post("/reset", json!({})).await.expect(200);
    assert_eq!(mock.state().await, initial);
    mock.client(Host::Developer)
        .get("/v1/health")
        .await
        .expect(200);
}
