//! Snapshots of the whole state, and restoring them.

use serde_json::{Value, json};

use super::{IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::Host;

/// Returns a mock whose state has an entry of each kind.
fn used_mock() -> Mock {
    let mut mock = Mock::new();
    mock.open().idempotency_key("k").post(VIDEO, video("[mock:fail]"));
    mock.submit(IMAGE, image("[mock:stuck]"));
    mock.submit(
        IMAGE,
        json!({"model": "image-i", "prompt": "x", "metadata": {"a": [1.5, "ä", null]}}),
    );
    mock.open()
        .post(TOP_UPS, json!({"amount_usd_cents": 700, "success_url": "https://shop.example/"}));
    let mia = json!({"avatar_handle": "mia", "input": {"prompt": "[mock:seconds=1]"}});
    mock.submit_developer("/v1/avatar-1.0/generate", mia);
    let preview = json!({"avatar_handle": "ada", "script": "Hi."});
    mock.submit_developer("/v1/avatar-video-previews", preview);
    let captions = json!({"video_url": "https://cdn.example.com/a.mp4"});
    mock.submit_developer("/v1/video-captions", captions);
    let items: Vec<_> = (1..6)
        .map(|n| json!({"instruction": format!("[mock:seconds={n}][mock:harvest-unavailable]")}))
        .collect();
    let bulk = json!({"items": items, "concurrency": 2});
    mock.submit_developer("/v1/formats/fmt_media/bulk-runs", bulk);
    let agent = json!({"instruction": "[mock:outage]", "generation_spend_cap_usd": 1});
    mock.submit_developer("/v1/agent/completions", agent);
    let key = json!({"kind": "open", "workspace": "ws_b", "plan": "pro"});
    mock.simulator.state.add_key(serde_json::from_value(key).unwrap()).unwrap();
    let fault = json!({"kind": "status_503", "operation": "jobs_get", "probability": 0.3});
    mock.simulator.state.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
    mock.request(Host::Open).get("/v1/jobs");
    mock.advance_millis(1_500);
    mock
}

#[test]
fn a_snapshot_includes_the_timers_that_are_due() {
    let mut mock = used_mock();
    mock.advance_millis(60_000);
    let document = mock.simulator.snapshot(mock.now);
    mock.simulator.advance(mock.now);
    assert_eq!(document, mock.simulator.snapshot(mock.now));
}

#[test]
fn an_invalid_document_is_rejected_and_changes_nothing() {
    let mut mock = used_mock();
    let good = mock.simulator.snapshot(mock.now);
    let broken = |path: &str, value: Value| {
        let mut document = good.clone();
        *document.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
        document
    };
    let mut extra = good.clone();
    extra["state"]["surprise"] = json!(1);
    let mut less = good.clone();
    less["state"].as_object_mut().unwrap().remove("journal");
    let twice = good["state"]["jobs"][0].clone();
    for document in [
        json!(null),
        json!({}),
        json!([]),
        json!({"version": 4, "state": {}}),
        json!({"version": 3, "state": {}}),
        extra,
        less,
        broken("/version", json!(7)),
        broken("/state/now", json!(-1)),
        broken("/state/jobs/0/workspace", json!("ws_none")),
        broken("/state/jobs/0/status", json!("dreaming")),
        broken("/state/jobs/1", twice),
        broken("/state/resources/0/job_id", json!("job_none")),
        broken("/state/resources/0/workspace", json!("ws_other")),
        broken("/state/resources/1", good["state"]["resources"][0].clone()),
        broken("/state/jobs", json!([])),
        broken("/state/ledger/accounts/ws_demo/available", json!("1000.0000")),
        broken("/state/ledger/entries/0/1/amount", json!("-1")),
        broken("/state/ledger/entries/1/0", json!(0)),
        broken("/state/ledger/entries/0/1/workspace", json!("ws_none")),
        broken("/state/ledger/next_seq", json!(1)),
        broken("/state/ledger/accounts", json!({})),
        broken("/state/keys/svc_open_demo/workspace", json!("ws_none")),
        broken("/state/jobs/1/price", json!("-0.0050")),
        broken("/state/jobs/1/price", json!("5.0000")),
        broken("/state/faults/0/probability", json!(7)),
        broken("/state/runs/0/order/workspace", json!("ws_none")),
        broken("/state/runs/0/order/subject", json!("fmt_none")),
        broken("/state/runs/0/status", json!("dreaming")),
        broken("/state/runs/0/place/index", json!(3)),
        broken("/state/runs/1", good["state"]["runs"][0].clone()),
        broken("/state/runs/0/spend/begun", json!(9)),
        broken("/state/runs/1/spend/pieces/2", json!("90.0000")),
        broken("/state/runs", json!([])),
        broken("/state/queues/0/items/0/run_id", json!(null)),
        broken("/state/queues/0/workspace", json!("ws_none")),
        broken("/state/queues", json!([])),
        broken("/state/timers/0", json!([0, {"job_ends": 99}])),
        broken("/state/timers", json!([])),
        broken("/state/balance", json!("-1.0000")),
        broken("/state/jobs/0/price", json!("-0.0050")),
        broken("/state/idempotency/expiring/0/receipt/job", json!("job_none")),
        broken("/state/idempotency/expiring/0/body", json!("00")),
        broken("/state/idempotency/lasting", good["state"]["idempotency"]["expiring"].clone()),
        broken("/state/runs/0/order/cost", json!("-1.0000")),
        broken("/state/runs/0/order/cap", json!("0.0000")),
        broken("/state/queues/0/concurrency", json!(0)),
        broken("/state/queues/0/concurrency", json!(17)),
        broken("/state/queues/0/items/4/order/workspace", json!("ws_none")),
        broken("/state/queues/0/items/4/order/subject", json!("fmt_none")),
        broken("/state/queues/0/items/4/order/cost", json!("-1.0000")),
    ] {
        assert!(mock.simulator.restore(document.clone()).is_err(), "{document}");
    }
    assert_eq!(mock.simulator.snapshot(mock.now), good);
}
