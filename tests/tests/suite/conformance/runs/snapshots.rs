//! Runs, queues and secrets are part of the state: what is restored goes on as it would have.

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_face};

use super::{BULK, Kind, RUNS, booked, receipt, run_of, start, started, text, with};

on_every_face! {
    what_is_restored_goes_on_as_it_would_have,
    a_reset_leaves_no_run,
    mocks_of_one_seed_tell_the_same_of_their_runs,
}

const HOOK: &str = "https://hooks.example.com/svc";

/// Runs of each kind at different points of their lives, a queue, a rotated secret.
async fn a_busy_hour(mock: &Mock) -> (Vec<(Kind, String)>, String) {
    let mut runs = Vec::new();
    for kind in Kind::ALL {
        runs.push((kind, started(mock, kind, "[mock:cost=1.5]").await));
        mock.advance(3).await;
    }
    let told = with(run_of("[mock:cost=0.5]"), json!({"webhook_url": HOOK}));
    runs.push((Kind::Format, start(&mock.developer(), RUNS, told).await));
    runs.push((
        Kind::Format,
        started(mock, Kind::Format, "[mock:fail=mcp_unavailable]").await,
    ));
    let items: Vec<_> = (3..9)
        .map(|n| run_of(&format!("[mock:seconds={n}]")))
        .collect();
    let body = json!({"items": items, "concurrency": 2});
    let queue = mock.developer().post(BULK, body).await.expect(202).data();
    let rotate = "/v1/webhooks/signing-secret/rotate";
    mock.developer().post_nothing(rotate).await.expect(200);
    mock.advance(2).await;
    (runs, text(&queue["queue_id"]))
}

/// All that can be seen of it.
async fn seen(mock: &Mock, runs: &[(Kind, String)], queue: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    for (kind, id) in runs {
        seen.push(receipt(mock, *kind, id).await);
        seen.push(json!(booked(&mock.developer(), "capture", id).await));
    }
    let path = format!("/v1/format-run-queues/{queue}");
    for path in [
        path.as_str(),
        RUNS,
        "/v1/webhooks/signing-secret",
        "/v1/balance",
    ] {
        seen.push(mock.developer().get(path).await.expect(200).data());
    }
    // Each read has a request id of its own.
    for value in &mut seen {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("request_id");
        }
    }
    seen
}

async fn what_is_restored_goes_on_as_it_would_have(mock: Mock) {
    let (runs, queue) = a_busy_hour(&mock).await;
    let state = mock.control().get("/state").await.expect(200).json();
    let mut first = Vec::new();
    for _ in 0..12 {
        first.push(seen(&mock, &runs, &queue).await);
        mock.advance(3).await;
    }
    let fresh = mock.another(svc_tests::Setup::default()).await;
    for place in [&mock, &fresh] {
        let put = bytes::Bytes::from(state.to_string());
        let answer = place
            .control()
            .send("PUT", "/state", Some("application/json"), put)
            .await;
        assert!(answer.status() < 300, "{answer:?}");
    }
    for step in &first {
        assert_eq!(&seen(&mock, &runs, &queue).await, step);
        mock.advance(3).await;
    }
    for (kind, id) in &runs {
        let read = receipt(&fresh, *kind, id).await;
        assert_eq!(read["run_id"], *id.as_str());
    }
}

async fn a_reset_leaves_no_run(mock: Mock) {
    let (runs, queue) = a_busy_hour(&mock).await;
    mock.control().post_nothing("/reset").await;
    for (kind, id) in &runs {
        mock.developer().get(&kind.run(id)).await.expect(404);
    }
    let path = format!("/v1/format-run-queues/{queue}");
    mock.developer()
        .get(&path)
        .await
        .refused(404, "format_run_queue_not_found");
    super::nothing_happened(&mock).await;
}

async fn mocks_of_one_seed_tell_the_same_of_their_runs(mock: Mock) {
    let twin = mock.another(svc_tests::Setup::default()).await;
    let (runs, queue) = a_busy_hour(&mock).await;
    let (twins, other) = a_busy_hour(&twin).await;
    assert_eq!((&runs, &queue), (&twins, &other));
    for _ in 0..5 {
        let (mut one, mut two) = (
            seen(&mock, &runs, &queue).await,
            seen(&twin, &runs, &queue).await,
        );
        for value in one.iter_mut().chain(&mut two) {
            // The hosts' ports differ.
            *value = json!(without_hosts(&value.to_string()));
        }
        assert_eq!(one, two);
        mock.advance(4).await;
        twin.advance(4).await;
    }
}

fn without_hosts(text: &str) -> String {
    let mut parts = text.split("http://127.0.0.1:");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    clean
}
