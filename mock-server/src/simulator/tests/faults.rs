//! Faults, and the journal that tells of them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{IMAGE, Mock, VIDEO, image, video};
use crate::engine::{Host, Transmission};

fn fault(mock: &mut Mock, fault: Value) {
    mock.simulator
        .add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
}

#[test]
fn a_status_fault_does_nothing_and_says_when_to_come_again() {
    let mut mock = Mock::new();
    for (kind, status, code) in [
        ("status_503", 503, "database_busy"),
        ("status_429", 429, "rate_limited"),
    ] {
        fault(&mut mock, json!({"kind": kind, "retry_after_seconds": 7}));
        let answer = mock.open().once("k").post(VIDEO, video("x"));
        answer.refused(status, code);
        assert_eq!(
            (
                answer.header("retry-after"),
                answer.header("ratelimit-limit")
            ),
            ("7", "120")
        );
    }
    assert!(mock.simulator.jobs().is_empty());
    mock.open().once("k").post(VIDEO, video("x")).data(202);
}

#[test]
fn a_proxys_page_is_no_envelope() {
    let mut mock = Mock::new();
    fault(&mut mock, json!({"kind": "status_502_html"}));
    let answer = mock.open().post(VIDEO, video("x"));
    assert_eq!(
        (answer.status(), answer.header("content-type")),
        (502, "text/html; charset=utf-8")
    );
    assert!(serde_json::from_slice::<Value>(answer.0.response.body()).is_err());
    assert!(mock.simulator.jobs().is_empty());
}

#[test]
fn a_broken_connection_comes_before_or_after_the_work() {
    let mut mock = Mock::new();
    for (kind, transmission, jobs) in [
        ("drop_before", Transmission::Close, 0),
        ("drop_after", Transmission::Close, 1),
        ("truncate", Transmission::Truncate, 2),
    ] {
        fault(&mut mock, json!({"kind": kind}));
        let reply = mock.open().post(VIDEO, video("x")).0;
        assert_eq!(
            (reply.transmission, mock.simulator.jobs().len()),
            (transmission, jobs),
            "{kind}"
        );
    }
    let statuses: Vec<Value> = mock
        .simulator
        .journal(0)
        .iter()
        .map(|entry| entry["status"].clone())
        .collect();
    assert_eq!(json!(statuses), json!([null, null, 202]));
    assert_eq!(mock.simulator.journal(0)[1]["fault"], "drop_after");
}

#[test]
fn garbage_is_a_success_that_nobody_can_read() {
    let mut mock = Mock::new();
    fault(&mut mock, json!({"kind": "garbage"}));
    let answer = mock.open().post(VIDEO, video("x"));
    assert_eq!(
        (answer.status(), answer.header("content-type")),
        (200, "application/json")
    );
    assert!(serde_json::from_slice::<Value>(answer.0.response.body()).is_err());
    assert_eq!(mock.simulator.jobs().len(), 1);
}

#[test]
fn garbage_in_the_place_of_a_file_does_not_keep_the_files_length() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image("x"));
    mock.pass(2_000);
    let result = mock.open().get(&format!("/v1/jobs/{id}/result")).data(200);
    let url = result["artifacts"][0]["url"].as_str().unwrap();
    let path = format!("/artifacts/{}", url.rsplit('/').next().unwrap());
    fault(&mut mock, json!({"kind": "garbage", "surface": "media"}));
    let answer = mock
        .ask(Host::Media)
        .header("range", "bytes=0-99")
        .get(&path);
    let headers = answer.0.response.headers();
    assert_eq!(
        (
            answer.status(),
            headers.get("content-length"),
            headers.get("content-range")
        ),
        (200, None, None)
    );
    assert!(serde_json::from_slice::<Value>(answer.0.response.body()).is_err());
}

#[test]
fn a_delay_is_real_time() {
    let mut mock = Mock::new();
    fault(&mut mock, json!({"kind": "delay", "delay_ms": 250}));
    assert_eq!(
        mock.open().get("/v1/jobs").0.delay,
        Duration::from_millis(250)
    );
    fault(&mut mock, json!({"kind": "delay"}));
    assert_eq!(mock.open().get("/v1/jobs").0.delay, Duration::from_secs(1));
    assert_eq!(mock.open().get("/v1/jobs").0.delay, Duration::ZERO);
}

#[test]
fn a_fault_applies_to_a_pending_reply_when_it_is_sent() {
    let mut mock = Mock::new();
    fault(&mut mock, json!({"kind": "truncate", "delay_ms": 5}));
    fault(&mut mock, json!({"kind": "garbage"}));
    let body = json!({"model": "image-i", "prompt": "x", "mode": "sync"});
    let truncated = mock.open().post(IMAGE, body.clone()).0;
    assert_eq!(
        (truncated.transmission, truncated.delay),
        (Transmission::Truncate, Duration::from_millis(5))
    );
    let garbage = mock.open().post(IMAGE, body).0;
    mock.pass(2_000);
    let end = mock.simulator.resume(mock.now, &truncated.pending.unwrap());
    assert_eq!(
        (end.transmission, end.response.status().as_u16()),
        (Transmission::Truncate, 200)
    );
    let end = mock.simulator.resume(mock.now, &garbage.pending.unwrap());
    assert!(serde_json::from_slice::<Value>(end.response.body()).is_err());
}

#[test]
fn the_media_host_fails_too_where_it_is_meant() {
    let mut mock = Mock::new();
    fault(&mut mock, json!({"kind": "status_503", "surface": "media"}));
    mock.open().get("/v1/jobs").data(200);
    mock.ask(Host::Media)
        .get("/artifacts/x.png")
        .refused(503, "database_busy");
    fault(
        &mut mock,
        json!({"kind": "status_503", "operation": "checkout"}),
    );
    mock.ask(Host::Media)
        .get("/artifacts/x.png")
        .refused(404, "not_found");
    assert_eq!(mock.ask(Host::Media).get("/checkout/x").status(), 503);
    mock.simulator.clear_faults();
    assert!(mock.simulator.faults().is_empty());
}

#[test]
fn the_journal_tells_who_asked_for_what() {
    let mut mock = Mock::new();
    mock.open()
        .once("order-1")
        .post("/v1/image-router/generate?x=y", image("x"));
    mock.ask(Host::Media).get("/nothing");
    let entries = mock.simulator.journal(0);
    let expected = json!({
        "seq": 1, "at": "2026-01-01T00:00:00Z", "method": "POST", "path": "/v1/image-router/generate?x=y",
        "surface": "open", "operation": "image_generate", "request_id": entries[0]["request_id"],
        "headers": {
            "authorization": "[redacted]", "content-type": "application/json", "idempotency-key": "order-1"
        },
        "status": 202, "idempotency_key": "order-1", "fault": null
    });
    assert_eq!(entries[0], expected);
    assert_eq!(
        (&entries[1]["surface"], &entries[1]["operation"]),
        (&json!("media"), &json!(null))
    );
    assert_eq!(mock.simulator.journal(1).len(), 1);
}
