//! What is wrong with a request is said in the service's order, and nothing is done before the
//! last check has passed.

use serde_json::{Value, json};
use svc_sdk::types::Usd;

use super::{Answer, ESTIMATE, IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::{Host, Settings};

/// A request with everything wrong from a place in the order on.
fn ask(mock: &mut Mock, key: &str, content_type: &str, body: &[u8]) -> Answer {
    mock.ask(Host::Open)
        .key(key)
        .header("content-type", content_type)
        .header("idempotency-key", "a\tb")
        .send("POST", TOP_UPS, body.to_vec())
}

#[test]
fn what_is_checked_first_is_said_first() {
    let mut mock = Mock::new();
    let huge = [b"{".as_slice(), &vec![b' '; 4 * 1024 * 1024]].concat();
    ask(&mut mock, "nobody", "text/plain", &huge).refused(401, "unauthorized");
    ask(&mut mock, "svc_dev_demo", "text/plain", &huge).refused(403, "open_key_required");
    let media_type =
        ask(&mut mock, "svc_open_demo", "text/plain", &huge).refused(415, "unsupported_media_type");
    assert_eq!(
        media_type["details"],
        json!({"received_content_type": "text/plain"})
    );
    let size = ask(&mut mock, "svc_open_demo", "application/json", &huge)
        .refused(413, "payload_too_large");
    assert_eq!(size["details"], json!({"limit_bytes": 4_194_304}));
    let syntax =
        ask(&mut mock, "svc_open_demo", "application/json", b"{").refused(400, "invalid_request");
    assert_eq!(syntax["details"], json!({"field": "body"}));
    let header =
        ask(&mut mock, "svc_open_demo", "application/json", b"{}").refused(400, "invalid_request");
    assert_eq!(header["details"], json!({"field": "Idempotency-Key"}));
}

#[test]
fn scope_is_judged_before_existence() {
    let mut mock = Mock::new();
    let path = "/v1/format-runs/no_such/cancel";
    mock.ask(Host::Developer)
        .key("svc_dev_noscope")
        .post(path, json!({}))
        .refused(403, "insufficient_scope");
    let redeliver = "/v1/jobs/no_such/webhook/redeliver";
    mock.ask(Host::Developer)
        .key("svc_dev_noscope")
        .post(redeliver, json!({}))
        .refused(403, "insufficient_scope");
}

#[test]
fn existence_comes_before_fields_and_fields_before_state() {
    let mut mock = Mock::new();
    mock.open()
        .post("/v1/jobs/no_such/cancel", json!({"user_id": "x"}))
        .refused(404, "job_not_found");
    let id = mock.submit(IMAGE, image("x"));
    mock.pass(2_000);
    let path = format!("/v1/jobs/{id}/cancel");
    let error = mock
        .open()
        .post(&path, json!({"user_id": "x"}))
        .refused(400, "invalid_request");
    assert_eq!(error["details"], json!({"field": "user_id"}));
    mock.open()
        .post(&path, json!({}))
        .refused(409, "job_generation_already_started");
}

#[test]
fn fields_come_before_funds_and_funds_before_concurrency() {
    let balance: Usd = "0.5000".parse().unwrap();
    let mut mock = Mock::with(Settings {
        balance,
        ..Settings::default()
    });
    for _ in 0..100 {
        mock.submit(IMAGE, image("[mock:stuck]"));
    }
    let bad = json!({"model": "video-l", "prompt": "x", "colour": 1});
    mock.open().post(VIDEO, bad).refused(400, "invalid_request");
    let error = mock
        .open()
        .post(IMAGE, image("x"))
        .refused(402, "insufficient_funds");
    assert_eq!(
        error["details"],
        json!({"required_usd": "0.0050", "available_usd": "0.0000"})
    );
    let id = mock
        .open()
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .data(201)["id"]
        .take();
    mock.simulator
        .settle_top_up(mock.now, id.as_str().unwrap(), "paid".into())
        .unwrap();
    mock.open()
        .post(IMAGE, image("[mock:refuse=stripe_error]"))
        .refused(400, "concurrency_limit_reached");
    assert_eq!(mock.simulator.jobs().len(), 100);
    mock.books_are_balanced();
}

#[test]
fn a_refused_create_leaves_nothing_behind() {
    let mut mock = Mock::new();
    let refusals: [(&str, Value); 4] = [
        (VIDEO, json!({"model": "video-x", "prompt": "x"})),
        (VIDEO, video("[mock:refuse=database_busy]")),
        (TOP_UPS, json!({"amount_usd_cents": 499})),
        (
            TOP_UPS,
            json!({"amount_usd_cents": 500, "success_url": "https://a.example/[mock:refuse=stripe_error]"}),
        ),
    ];
    for (path, body) in refusals {
        assert!(mock.open().once("k").post(path, body).status() >= 400);
    }
    assert!(mock.simulator.jobs().is_empty() && mock.simulator.ledger().is_empty());
    // The key is free again.
    mock.open().once("k").post(VIDEO, video("x")).data(202);
    mock.open()
        .once("k")
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .data(201);
}

#[test]
fn a_write_without_a_body_need_not_say_what_it_is() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    let path = format!("/v1/jobs/{id}/cancel");
    assert_eq!(mock.open().send("POST", &path, "").status(), 200);
    assert_eq!(mock.open().post(&path, json!({})).status(), 200);
    mock.open()
        .send("POST", &path, "{}")
        .refused(415, "unsupported_media_type");
    mock.open()
        .post(&path, json!([]))
        .refused(400, "invalid_request");
    let parameters = mock
        .open()
        .header("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(parameters.send("POST", &path, "{}").status(), 200);
    let nothing = mock
        .open()
        .send("POST", VIDEO, "")
        .refused(400, "invalid_request");
    assert_eq!(nothing["details"], json!({"field": "body"}));
}

#[test]
fn a_body_that_is_no_object_or_says_a_thing_twice_is_refused() {
    let mut mock = Mock::new();
    for body in [
        "[]",
        "null",
        "7",
        "\"x\"",
        "{} x",
        "{\"model\": \"video-l\", \"model\": \"video-f\"}",
    ] {
        for path in [VIDEO, IMAGE, ESTIMATE, TOP_UPS] {
            let answer = mock
                .open()
                .header("content-type", "application/json")
                .send("POST", path, body);
            answer.refused(400, "invalid_request");
        }
    }
}
