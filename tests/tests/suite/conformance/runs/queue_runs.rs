//! Bulk queues and their runs.

use super::*;

on_every_frontend! {
    a_queue_has_a_status_url,
    a_run_of_a_queue_has_its_queue_id_and_index,
    runs_of_a_queue_are_listed_with_the_format,
    each_item_has_its_own_fields,
    first_party_formats_accept_queues,
}

/// Returns the status of a queue.
pub(super) async fn read_queue(mock: &Mock, id: &str) -> Value {
    let path = format!("/v1/format-run-queues/{id}");
    mock.developer().get_data(&path).await
}

async fn queue(mock: &Mock, items: Vec<Value>) -> Value {
    let body = json!({"items": items, "concurrency": 2});
    mock.developer().post_data(BULK, body, 202).await
}

async fn a_queue_has_a_status_url(mock: Mock) {
    let queue = queue(&mock, vec![instruction("x"); 3]).await;
    let id = text(&queue["queue_id"]);
    let path = mock.path_of(Host::Developer, &queue["status_url"]);
    assert_eq!(path, format!("/v1/format-run-queues/{id}"));
    assert!(queue["next_poll_after_seconds"].is_number(), "{queue}");
    assert_eq!(read_queue(&mock, &id).await["queue_id"], queue["queue_id"]);
}

async fn a_run_of_a_queue_has_its_queue_id_and_index(mock: Mock) {
    let queue = queue(&mock, vec![instruction("x"); 5]).await;
    let id = text(&queue["queue_id"]);
    mock.advance(1_000).await;
    let queue = read_queue(&mock, &id).await;
    for (index, item) in queue["items"].as_array().unwrap().iter().enumerate() {
        let run = receipt(&mock, Kind::Format, &text(&item["run_id"])).await;
        assert_eq!(run["queue_id"], *id.as_str());
        assert_eq!(run["item_index"], index);
        assert_eq!(run["status"], item["status"]);
    }
}

async fn runs_of_a_queue_are_listed_with_the_format(mock: Mock) {
    queue(&mock, vec![instruction("x"); 3]).await;
    mock.advance(1_000).await;
    let listed = mock.developer().get_items(RUNS).await;
    assert_eq!(listed.len(), 3);
    let by_slug = mock.developer().get_items(RUNS_BY_SLUG).await;
    assert_eq!(by_slug, listed);
}

async fn each_item_has_its_own_fields(mock: Mock) {
    let cap = |usd: u64| json!({"generation_spend_cap_usd": usd});
    let items = vec![
        with(instruction("[mock:cost=2]"), cap(1)),
        with(instruction("[mock:cost=2]"), cap(3)),
        json!({"input": {"prompt": "[mock:fail=unattended_blocked]"}}),
    ];
    let queue = queue(&mock, items).await;
    mock.advance(1_000).await;
    let queue = read_queue(&mock, &text(&queue["queue_id"])).await;
    let statuses: Vec<_> = (0..3)
        .map(|index| text(&queue["items"][index]["status"]))
        .collect();
    assert_eq!(statuses, ["failed", "completed", "failed"]);
    let run = receipt(&mock, Kind::Format, &text(&queue["items"][2]["run_id"])).await;
    assert_eq!(run["error"]["code"], "unattended_blocked");
}

async fn first_party_formats_accept_queues(mock: Mock) {
    let body = json!({"items": [instruction("x")], "concurrency": 1});
    let path = format!("{STORYBOARD}/bulk-runs");
    let other = mock.developer_as("svc_dev_other");
    let queue = other.post_data(&path, body, 202).await;
    mock.advance(20).await;
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    assert_eq!(other.get_data(&path).await["status"], "completed");
}
