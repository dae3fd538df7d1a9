//! A job's timeline.

use serde_json::{Value, json};

use super::{Mock, VIDEO, video};
use crate::engine::Host;

fn events(mock: &mut Mock, id: &str) -> Value {
    mock.developer()
        .get(&format!("/v1/jobs/{id}/events"))
        .data(200)
}

fn kinds(mock: &mut Mock, id: &str) -> Vec<String> {
    let events = events(mock, id);
    let kinds = events.as_array().unwrap().iter();
    kinds
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_timeline_grows_with_the_job() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    assert_eq!(kinds(&mut mock, &id), ["queued"]);
    mock.pass(800);
    assert_eq!(kinds(&mut mock, &id), ["queued", "processing"]);
    mock.pass(1_600);
    let started = ["queued", "processing", "generation_started"];
    assert_eq!(kinds(&mut mock, &id), started);
    mock.pass(60_000);
    let expected = json!([
        {"type": "queued", "job_id": id, "created_at": "2026-01-01T00:00:00Z"},
        {"type": "processing", "job_id": id, "created_at": "2026-01-01T00:00:00.8Z"},
        {"type": "generation_started", "job_id": id, "created_at": "2026-01-01T00:00:02.4Z"},
        {"type": "completed", "job_id": id, "created_at": "2026-01-01T00:00:08Z"}
    ]);
    assert_eq!(events(&mut mock, &id), expected);
}

#[test]
fn a_job_that_ended_early_did_not_go_on() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    mock.pass(1_000);
    mock.open()
        .send("POST", &format!("/v1/jobs/{id}/cancel"), "")
        .data(200);
    mock.pass(60_000);
    assert_eq!(kinds(&mut mock, &id), ["queued", "processing", "canceled"]);
    let id = mock.submit(VIDEO, video("[mock:fail=provider_unavailable]"));
    mock.pass(8_000);
    let last = &events(&mut mock, &id)[3];
    assert_eq!(last["type"], "failed");
    assert_eq!(last["error"]["code"], "provider_unavailable");
}

#[test]
fn a_foreign_job_has_no_timeline() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    let path = format!("/v1/jobs/{id}/events");
    mock.ask(Host::Developer)
        .key("svc_dev_other")
        .get(&path)
        .refused(404, "job_not_found");
    mock.developer()
        .get("/v1/jobs/job_none/events")
        .refused(404, "job_not_found");
    mock.open().get(&path).refused(404, "not_found");
}
