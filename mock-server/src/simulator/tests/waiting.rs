//! Pending replies of submits that wait for their job: `sync` and `subscribe`.

use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::contract::JobStatus;

use super::{IMAGE, Mock, VIDEO};
use crate::engine::{PendingReply, Reply};

fn body_of(reply: &Reply) -> Value {
    serde_json::from_slice(reply.response.body()).unwrap()
}

#[track_caller]
fn submit_pending(mock: &mut Mock, path: &str, more: Value) -> (PendingReply, Reply) {
    let model = if path == IMAGE { "image-i" } else { "video-l" };
    let mut body = json!({"model": model, "prompt": "x", "mode": "sync"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let reply = mock.open().idempotency_key("k").post(path, body).0;
    assert_eq!(reply.response.status(), 202);
    (reply.pending.clone().expect("a pending reply"), reply)
}

#[test]
fn the_reply_has_the_whole_job_once_it_has_ended() {
    let mut mock = Mock::new();
    let (pending, first) = submit_pending(&mut mock, IMAGE, json!({}));
    assert_eq!(pending.until, mock.now.after(Duration::from_secs(2)));
    let predicted = mock.simulator.predict(&pending);
    mock.advance_millis(1_999);
    let early = mock.simulator.resume(mock.now, &pending);
    assert_eq!(early.pending.as_ref(), Some(&pending));
    mock.advance_millis(1);
    let reply = mock.simulator.resume(mock.now, &pending);
    assert_eq!((reply.response.status().as_u16(), &reply.pending), (200, &None));
    assert_eq!(format!("{:?}", predicted.response), format!("{:?}", reply.response));
    let (receipt, response) = (body_of(&first), body_of(&reply));
    assert_eq!(response["data"]["job"]["status"], "completed");
    assert_eq!(response["data"]["job"]["result"]["artifacts"].as_array().unwrap().len(), 1);
    assert_eq!(response["data"]["status_url"], receipt["data"]["status_url"]);
    assert_eq!(response["data"]["next_poll_after_seconds"], 0);
    assert_eq!(
        reply.response.headers()["x-svc-request-id"],
        receipt["data"]["request_id"].as_str().unwrap()
    );
    assert!(reply.response.headers().contains_key("ratelimit-remaining"));
}

#[test]
fn a_replay_does_not_wait() {
    let mut mock = Mock::new();
    let (_, first) = submit_pending(&mut mock, IMAGE, json!({}));
    let body = json!({"model": "image-i", "prompt": "x", "mode": "sync"});
    let again = mock.open().idempotency_key("k").post(IMAGE, body);
    assert!(again.0.pending.is_none());
    assert_eq!((again.status(), again.json()), (200, body_of(&first)));
}

#[test]
fn a_reset_ends_the_wait_for_its_jobs() {
    let mut mock = Mock::new();
    let (pending, _) = submit_pending(&mut mock, VIDEO, json!({}));
    mock.simulator.reset();
    let reply = mock.simulator.resume(mock.now, &pending);
    assert_eq!((reply.response.status().as_u16(), reply.pending), (202, None));
}

#[test]
fn the_log_has_the_status_of_the_final_reply() {
    let mut mock = Mock::new();
    submit_pending(&mut mock, IMAGE, json!({}));
    assert_eq!(mock.simulator.requests(0)[0]["status"], 200);
    let (other, _) = submit_pending(&mut mock, VIDEO, json!({"wait_timeout_seconds": 1}));
    assert_eq!(mock.simulator.requests(1)[0]["status"], 202);
    mock.simulator.end_job(&other.job_id, JobStatus::Completed, None).unwrap();
    mock.simulator.resume(mock.now, &other);
    assert_eq!(mock.simulator.requests(1)[0]["status"], 200);
}
