//! The public timeline of a job: a pull snapshot, not a stream.

use svc_tests::{Caller, Host, Mock, on_every_face};

use super::{VIDEO, submit, text, video};

on_every_face! {
    a_timeline_tells_what_has_happened_so_far,
    a_timeline_is_the_workspaces_own,
}

async fn kinds(caller: &Caller, id: &str) -> Vec<String> {
    let events = caller.get(&format!("/v1/jobs/{id}/events")).await;
    let events = events.expect(200).items();
    let times: Vec<_> = events
        .iter()
        .map(|event| text(&event["created_at"]))
        .collect();
    assert!(times.is_sorted_by_key(|time| time.trim_end_matches('Z').to_owned()));
    events.iter().map(|event| text(&event["type"])).collect()
}

async fn a_timeline_tells_what_has_happened_so_far(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let developer = mock.developer();
    assert_eq!(kinds(&developer, &id).await, ["queued"]);
    mock.advance(1).await;
    assert_eq!(kinds(&developer, &id).await, ["queued", "processing"]);
    mock.advance(7).await;
    let all = ["queued", "processing", "generation_started", "completed"];
    assert_eq!(kinds(&developer, &id).await, all);
}

async fn a_timeline_is_the_workspaces_own(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let path = format!("/v1/jobs/{id}/events");
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    stranger.get(&path).await.refused(404, "job_not_found");
    let answer = mock.developer().get("/v1/jobs/job_none/events").await;
    answer.refused(404, "job_not_found");
}
