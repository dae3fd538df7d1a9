//! Faults as the simulator hands them to a frontend, and the request log.

use std::time::Duration;

use serde_json::{Value, json};

use super::{IMAGE, Mock, image};
use crate::engine::{Host, Transmission};

fn fault(mock: &mut Mock, fault: Value) {
    mock.simulator.state.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
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
    mock.advance_millis(2_000);
    let end = mock.simulator.resume(mock.now, &truncated.pending.unwrap());
    assert_eq!((end.transmission, end.response.status().as_u16()), (Transmission::Truncate, 200));
    let end = mock.simulator.resume(mock.now, &garbage.pending.unwrap());
    assert!(serde_json::from_slice::<Value>(end.response.body()).is_err());
}

#[test]
fn a_logged_request_has_every_field() {
    let mut mock = Mock::new();
    mock.open().idempotency_key("order-1").post("/v1/image-router/generate?x=y", image("x"));
    mock.request(Host::Media).get("/nothing");
    let entries = mock.simulator.requests(0);
    let expected = json!({
        "seq": 1, "at": "2026-01-01T00:00:00Z", "method": "POST", "path": "/v1/image-router/generate?x=y",
        "surface": "open", "operation": "image_generate", "key": "key_open_demo", "workspace": "ws_demo", "request_id": entries[0]["request_id"],
        "headers": {
            "authorization": "[redacted]", "content-type": "application/json", "idempotency-key": "order-1"
        },
        "status": 202, "code": null, "idempotency_key": "order-1", "fault": null, "fault_id": null
    });
    assert_eq!(entries[0], expected);
    assert_eq!((&entries[1]["surface"], &entries[1]["operation"]), (&json!("media"), &json!(null)));
    assert_eq!(mock.simulator.requests(1).len(), 1);
}
