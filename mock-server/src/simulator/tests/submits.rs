//! Submits: receipts, idempotency, prices.

use serde_json::{Value, json};

use super::{ESTIMATE, IMAGE, Mock, VIDEO, image, video};
use crate::engine::Host;

const HOUR: u64 = 3_600_000;

#[test]
fn a_submit_gives_a_receipt() {
    let mut mock = Mock::new();
    let body = json!({"model": "video-f", "prompt": "x", "metadata": {"order": [1, null]}});
    let answer = mock.open().post(VIDEO, body);
    let receipt = answer.data(202);
    let id = receipt["job"]["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "request_id": answer.header("x-svc-request-id"),
        "job": {
            "id": id, "status": "queued", "type": "video_generation", "model": "video-f",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
            "metadata": {"order": [1, null]}, "price_usd": "0.7035"
        },
        "status_url": format!("http://127.0.0.1:4010/v1/jobs/{id}/status"),
        "result_url": format!("http://127.0.0.1:4010/v1/jobs/{id}/result"),
        "cancel_url": format!("http://127.0.0.1:4010/v1/jobs/{id}/cancel"),
        "next_poll_after_seconds": 4
    });
    assert_eq!(receipt, expected);
    assert_eq!(answer.header("content-type"), "application/json");
}

#[test]
fn the_same_submit_with_the_same_key_is_one_job() {
    let mut mock = Mock::new();
    let first = mock.open().once("order-1").post(VIDEO, video("x"));
    mock.pass(9_000);
    let reordered = r#"{ "prompt":"x", "duration":2, "model":"video-l" }"#;
    let again = mock
        .open()
        .once("order-1")
        .header("content-type", "application/json")
        .send("POST", VIDEO, reordered);
    assert_eq!((first.status(), again.status()), (202, 200));
    assert_eq!(first.json(), again.json());
    assert_ne!(
        first.header("x-svc-request-id"),
        again.header("x-svc-request-id")
    );
    assert_eq!(mock.simulator.jobs().len(), 1);
}

#[test]
fn a_key_for_another_request_is_a_conflict_whatever_that_request_is() {
    let mut mock = Mock::new();
    mock.open()
        .once("order-1")
        .post(VIDEO, video("x"))
        .data(202);
    for other in [
        video("y"),
        json!({}),
        json!([]),
        json!({"model": "video-l", "prompt": "x", "duration": 2.0}),
    ] {
        mock.open()
            .once("order-1")
            .post(VIDEO, other)
            .refused(409, "idempotency_conflict");
    }
    // Another operation, another workspace: another key.
    mock.open()
        .once("order-1")
        .post(IMAGE, image("x"))
        .data(202);
    let other = serde_json::from_value(json!({"kind": "open", "workspace": "ws_b"})).unwrap();
    let key = mock.simulator.add_key(mock.now, other).unwrap().key;
    mock.ask(Host::Open)
        .key(&key)
        .once("order-1")
        .post(VIDEO, video("y"))
        .data(202);
}

#[test]
fn a_key_is_kept_for_24_hours() {
    let mut mock = Mock::new();
    mock.open()
        .once("order-1")
        .post(VIDEO, video("x"))
        .data(202);
    mock.pass(24 * HOUR - 1);
    assert_eq!(
        mock.open().once("order-1").post(VIDEO, video("x")).status(),
        200
    );
    mock.pass(1);
    assert_eq!(
        mock.open().once("order-1").post(VIDEO, video("x")).status(),
        202
    );
}

#[test]
fn operations_that_have_no_use_for_an_idempotency_key_ignore_it() {
    let mut mock = Mock::new();
    let body = json!({"model": "image-i", "input": {"prompt": "x"}});
    assert_eq!(mock.open().once("").post(ESTIMATE, body).status(), 200);
    assert_eq!(mock.open().once("a\tb").get("/v1/jobs").status(), 200);
}

#[test]
fn an_estimate_says_what_will_be_charged() {
    let mut mock = Mock::new();
    let input = json!({"prompt": "x", "duration": 15, "resolution": "720p"});
    let estimate = mock
        .open()
        .post(ESTIMATE, json!({"model": "video-f", "input": input}))
        .data(200);
    let expected = json!({
        "model": "video-f", "price_usd": "4.5360", "currency": "USD", "unit": "second",
        "unit_price_usd": "0.3024", "units": 15
    });
    assert_eq!(estimate, expected);
    let auto = mock
        .open()
        .post(ESTIMATE, json!({"model": "auto", "input": {"prompt": "x"}}))
        .data(200);
    assert_eq!(
        (&auto["model"], &auto["price_usd"]),
        (&json!("video-h"), &json!("0.2890"))
    );
    let images = json!({"model": "image-i", "input": {"prompt": "x", "num_images": 3, "resolution": "1080p"}});
    let images = mock.open().post(ESTIMATE, images).data(200);
    assert_eq!(
        (&images["unit"], &images["units"], &images["price_usd"]),
        (&json!("image"), &json!(3), &json!("0.0225"))
    );
    assert!(mock.simulator.jobs().is_empty());
}

#[test]
fn an_estimate_judges_fields_as_the_submit_would() {
    let mut mock = Mock::new();
    let rows = [
        (json!({"input": {}}), "model"),
        (json!({"model": "video-f"}), "input"),
        (json!({"model": "video-f", "input": null}), "input"),
        (json!({"model": "video-x", "input": {}}), "model"),
        (json!({"model": "video-f", "input": {}}), "input.prompt"),
        (
            json!({"model": "video-f", "input": {"prompt": "x", "duration": 3}}),
            "input.duration",
        ),
        (
            json!({"model": "video-f", "input": {"prompt": "x", "model": "video-f"}}),
            "input.model",
        ),
        (
            json!({"model": "video-f", "input": {"prompt": "x", "mode": "webhook"}}),
            "input.webhook_url",
        ),
        (
            json!({"model": "video-f", "input": {"prompt": "x"}, "colour": 1}),
            "colour",
        ),
    ];
    for (body, field) in rows {
        let error = mock
            .open()
            .post(ESTIMATE, body.clone())
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{body}");
    }
}

#[test]
fn a_magic_word_refuses_the_create_with_the_codes_own_status() {
    let mut mock = Mock::new();
    let rows = [
        ("idempotency_key_in_use", 409),
        ("studio_agent_upstream_unavailable", 503),
        ("attachment_too_large", 413),
        ("organization_wallet_not_provisioned", 402),
        ("generation_failed", 400),
        ("no_such_code", 400),
    ];
    for (code, status) in rows {
        let answer = mock
            .open()
            .post(IMAGE, image(&format!("a fox [mock:refuse={code}]")));
        answer.refused(status, code);
        assert_eq!(
            answer.header("retry-after"),
            if status == 503 { "1" } else { "" }
        );
    }
    let estimate = json!({"model": "image-i", "input": {"prompt": "[mock:refuse=database_busy]"}});
    mock.open().post(ESTIMATE, estimate).data(200);
}

#[test]
fn every_job_of_a_workspace_counts_against_its_plan() {
    let mut mock = Mock::new();
    let ids: Vec<String> = (0..100)
        .map(|_| mock.submit(IMAGE, image("[mock:stuck]")))
        .collect();
    let error = mock
        .open()
        .once("k")
        .post(IMAGE, image("x"))
        .refused(400, "concurrency_limit_reached");
    assert_eq!(error["details"], json!({"limit": 100}));
    let cancel = mock
        .open()
        .post(&format!("/v1/jobs/{}/cancel", ids[0]), json!({}));
    assert_eq!(cancel.status(), 200);
    mock.open().once("k").post(IMAGE, image("x")).data(202);
}

#[test]
fn the_same_requests_at_the_same_moments_give_the_same_bytes() {
    let run = |seed| {
        let mut mock = Mock::with(crate::engine::Settings {
            seed,
            ..Default::default()
        });
        let mut bytes = Vec::new();
        let ask =
            |mock: &mut Mock, path: &str, body: Value| mock.open().post(path, body).0.response;
        for response in [
            ask(&mut mock, VIDEO, video("x")),
            ask(&mut mock, IMAGE, image("[mock:fail]")),
        ] {
            bytes.push(format!("{response:?}"));
        }
        mock.pass(10_000);
        bytes.push(format!("{:?}", mock.open().get("/v1/jobs").0.response));
        bytes.push(json!(mock.simulator.ledger()).to_string());
        bytes
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
