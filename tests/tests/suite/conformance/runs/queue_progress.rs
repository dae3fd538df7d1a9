//! A bulk queue and its runs: what each says of the other.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_face};

use super::{BULK, Kind, RUNS, STORYBOARD, receipt, run_of, text, with};

on_every_face! {
    a_queue_says_where_it_is_read,
    a_run_of_a_queue_names_it,
    runs_of_a_queue_are_runs_of_the_format,
    a_run_of_a_queue_can_be_canceled_alone,
    a_queue_is_its_owners,
    a_queue_needs_no_width,
    each_item_has_its_own_fields,
    a_first_party_format_takes_queues,
}

/// How a queue stands.
pub(super) async fn progress(mock: &Mock, id: &str) -> Value {
    let path = format!("/v1/format-run-queues/{id}");
    mock.developer().get(&path).await.expect(200).data()
}

async fn queue(mock: &Mock, items: Vec<Value>) -> Value {
    let body = json!({"items": items, "concurrency": 2});
    mock.developer().post(BULK, body).await.expect(202).data()
}

async fn a_queue_says_where_it_is_read(mock: Mock) {
    let queue = queue(&mock, vec![run_of("x"); 3]).await;
    let id = text(&queue["queue_id"]);
    let path = mock.path_of(Host::Developer, &queue["status_url"]);
    assert_eq!(path, format!("/v1/format-run-queues/{id}"));
    assert!(queue["next_poll_after_seconds"].is_number(), "{queue}");
    assert_eq!(progress(&mock, &id).await["queue_id"], queue["queue_id"]);
}

async fn a_run_of_a_queue_names_it(mock: Mock) {
    let queue = queue(&mock, vec![run_of("x"); 5]).await;
    let id = text(&queue["queue_id"]);
    mock.advance(1_000).await;
    let queue = progress(&mock, &id).await;
    for (index, item) in queue["items"].as_array().unwrap().iter().enumerate() {
        let run = receipt(&mock, Kind::Format, &text(&item["run_id"])).await;
        assert_eq!(run["queue_id"], *id.as_str());
        assert_eq!(run["item_index"], index);
        assert_eq!(run["status"], item["status"]);
    }
}

async fn runs_of_a_queue_are_runs_of_the_format(mock: Mock) {
    queue(&mock, vec![run_of("x"); 3]).await;
    mock.advance(1_000).await;
    let listed = mock.developer().get(RUNS).await.expect(200).items();
    assert_eq!(listed.len(), 3);
    let by_slug = mock
        .developer()
        .get("/v1/formats/demo/teaser/runs")
        .await
        .expect(200)
        .items();
    assert_eq!(by_slug, listed);
}

async fn a_run_of_a_queue_can_be_canceled_alone(mock: Mock) {
    let queue = queue(&mock, vec![run_of("x"); 4]).await;
    let id = text(&queue["queue_id"]);
    mock.advance(5).await;
    let first = text(&progress(&mock, &id).await["items"][0]["run_id"]);
    let cancel = format!("{}/cancel", Kind::Format.run(&first));
    mock.developer().post_nothing(&cancel).await.expect(200);
    mock.advance(1_000).await;
    let counts = progress(&mock, &id).await["counts"].clone();
    assert_eq!(counts["canceled"], 1, "{counts}");
    assert_eq!(counts["completed"], 3, "{counts}");
}

async fn a_queue_is_its_owners(mock: Mock) {
    let queue = queue(&mock, vec![run_of("x")]).await;
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    for key in ["svc_dev_other", "svc_team_demo"] {
        let stranger = mock.caller(Host::Developer).bearer(key);
        stranger
            .get(&path)
            .await
            .refused(404, "format_run_queue_not_found");
    }
    let colleague = mock.caller(Host::Developer).bearer("svc_sa_demo");
    colleague.get(&path).await.expect(200);
}

async fn a_queue_needs_no_width(mock: Mock) {
    let body = json!({"items": vec![run_of("x"); 20]});
    let queue = mock.developer().post(BULK, body).await.expect(202).data();
    let width = queue["concurrency"].as_u64().unwrap();
    assert!((1..=16).contains(&width), "{queue}");
    mock.advance(1_000).await;
    assert_eq!(
        progress(&mock, &text(&queue["queue_id"])).await["status"],
        "completed"
    );
}

async fn each_item_has_its_own_fields(mock: Mock) {
    let cap = |usd: u64| json!({"generation_spend_cap_usd": usd});
    let items = vec![
        with(run_of("[mock:cost=2]"), cap(1)),
        with(run_of("[mock:cost=2]"), cap(3)),
        json!({"input": {"prompt": "[mock:fail=unattended_blocked]"}}),
    ];
    let queue = queue(&mock, items).await;
    mock.advance(1_000).await;
    let queue = progress(&mock, &text(&queue["queue_id"])).await;
    let statuses: Vec<_> = (0..3)
        .map(|index| text(&queue["items"][index]["status"]))
        .collect();
    assert_eq!(statuses, ["failed", "completed", "failed"]);
    let run = receipt(&mock, Kind::Format, &text(&queue["items"][2]["run_id"])).await;
    assert_eq!(run["error"]["code"], "unattended_blocked");
}

async fn a_first_party_format_takes_queues(mock: Mock) {
    let body = json!({"items": [run_of("x")], "concurrency": 1});
    let path = format!("{STORYBOARD}/bulk-runs");
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    let queue = stranger.post(&path, body).await.expect(202).data();
    mock.advance(20).await;
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    assert_eq!(
        stranger.get(&path).await.expect(200).data()["status"],
        "completed"
    );
}
