//! The public timeline of a job.

use svc_tests::{Client, Mock, on_every_frontend};

use super::{VIDEO, submit, text, video};

on_every_frontend! {
    a_timeline_lists_the_events_so_far,
    timelines_are_private_to_their_workspace,
}

async fn event_types(client: &Client, id: &str) -> Vec<String> {
    let events = client.get_items(&format!("/v1/jobs/{id}/events")).await;
    let times: Vec<_> = events
        .iter()
        .map(|event| text(&event["created_at"]))
        .collect();
    assert!(times.is_sorted_by_key(|time| time.trim_end_matches('Z').to_owned()));
    events.iter().map(|event| text(&event["type"])).collect()
}

async fn a_timeline_lists_the_events_so_far(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let developer = mock.developer();
    assert_eq!(event_types(&developer, &id).await, ["queued"]);
    mock.advance(1).await;
    assert_eq!(event_types(&developer, &id).await, ["queued", "processing"]);
    mock.advance(7).await;
    let all = ["queued", "processing", "generation_started", "completed"];
    assert_eq!(event_types(&developer, &id).await, all);
}

async fn timelines_are_private_to_their_workspace(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let path = format!("/v1/jobs/{id}/events");
    let other = mock.developer_as("svc_dev_other");
    other.get_error(&path, 404, "job_not_found").await;
    mock.developer()
        .get_error("/v1/jobs/job_none/events", 404, "job_not_found")
        .await;
}
