//! The account on the developer surface.

use serde_json::{Value, json};
use svc_sdk::contract::TopUpStatus;

use super::{IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::Host;

#[test]
fn me_is_the_key_its_owner_and_its_workspace() {
    let mut mock = Mock::new();
    mock.submit(IMAGE, image("x"));
    mock.pass(1_500);
    let expected = json!({
        "key": {
            "id": "key_dev_noscope", "name": "dev noscope", "prefix": "svc_dev", "scopes": [],
            "last_used_at": "2026-01-01T00:00:01.5Z"
        },
        "owner": {"type": "user", "id": "usr_demo", "name": "demo"},
        "workspace": {"id": "ws_demo", "name": "demo", "kind": "personal", "plan": "free"},
        "generation_limits": {"concurrent_jobs": 100, "in_flight": 1}
    });
    let me = mock
        .ask(Host::Developer)
        .key("svc_dev_noscope")
        .get("/v1/me");
    assert_eq!(me.data(200), expected);
}

#[test]
fn a_teams_key_and_a_service_accounts_say_so() {
    let mut mock = Mock::new();
    let mut me = |key: &str| mock.ask(Host::Developer).key(key).get("/v1/me").data(200);
    let team = me("svc_team_demo");
    assert_eq!(
        (&team["owner"]["type"], &team["workspace"]["kind"]),
        (&json!("team"), &json!("team"))
    );
    let account = me("svc_sa_demo");
    assert_eq!(account["owner"]["type"], "service_account");
    assert_eq!(account["key"]["prefix"], "svc_sa");
    assert_eq!(account["key"]["scopes"].as_array().map(Vec::len), Some(9));
}

#[test]
fn the_balance_is_what_the_ledger_leaves() {
    let mut mock = Mock::new();
    mock.submit(VIDEO, video("x"));
    let expected = json!({"available_usd": "99.8750", "reserved_usd": "0.1250", "currency": "USD"});
    assert_eq!(mock.developer().get("/v1/balance").data(200), expected);
}

#[test]
fn usage_has_all_four_kinds_newest_first_and_no_opening_balance() {
    let mut mock = Mock::new();
    assert_eq!(mock.developer().get("/v1/usage").data(200), json!([]));
    let kept = mock.submit(IMAGE, image("x"));
    let lost = mock.submit(IMAGE, image("[mock:fail]"));
    mock.pass(2_000);
    let top_up = mock
        .open()
        .post(TOP_UPS, json!({"amount_usd_cents": 700}))
        .data(201);
    let top_up = top_up["id"].as_str().unwrap();
    let paid = TopUpStatus::Paid;
    mock.simulator
        .settle_top_up(mock.now, top_up, paid)
        .unwrap();
    let mut usage = mock.developer().get("/v1/usage").data(200);
    for entry in usage.as_array_mut().unwrap() {
        let id = entry.as_object_mut().unwrap().remove("id").unwrap();
        assert!(id.as_str().unwrap().starts_with("ent_"));
    }
    let (start, end) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z");
    let expected = json!([
        {"kind": "top_up", "amount_usd": "7.0000", "top_up_id": top_up, "created_at": end},
        {"kind": "refund", "amount_usd": "0.0050", "job_id": lost, "created_at": end},
        {"kind": "capture", "amount_usd": "0.0050", "job_id": kept, "created_at": end},
        {"kind": "reservation", "amount_usd": "0.0050", "job_id": lost, "created_at": start},
        {"kind": "reservation", "amount_usd": "0.0050", "job_id": kept, "created_at": start}
    ]);
    assert_eq!(usage, expected);
}

#[test]
fn usage_is_read_page_by_page() {
    let mut mock = Mock::new();
    for _ in 0..5 {
        mock.submit(IMAGE, image("x"));
    }
    let whole = mock.developer().get("/v1/usage").data(200);
    let mut paged = Vec::new();
    let mut path = "/v1/usage?limit=2".to_owned();
    loop {
        // What comes in between does not shift the pages.
        mock.submit(IMAGE, image("x"));
        let mut page = mock.developer().get(&path).json();
        paged.extend(page["data"].as_array().unwrap().clone());
        match page["next_cursor"].take() {
            Value::String(cursor) => path = format!("/v1/usage?limit=2&cursor={cursor}"),
            _ => break,
        }
    }
    assert_eq!(paged.len(), 6, "one came before the first page");
    assert_eq!(json!(paged[1..]), whole);
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("cursor=", "cursor"),
        ("cursor=x", "cursor"),
        ("cursor=99", "cursor"),
        ("limit=1&limit=1", "limit"),
    ] {
        let answer = mock.developer().get(&format!("/v1/usage?{query}"));
        let error = answer.refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{query}");
    }
}
