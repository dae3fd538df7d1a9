//! Runs, queues and secrets in saved states.

use super::*;

on_every_frontend! {
    runs_continue_after_a_restore,
    reset_removes_all_runs,
    the_same_seed_gives_the_same_runs,
}

const HOOK: &str = "https://hooks.example.com/svc";

/// Starts runs of each kind and a queue, and rotates the secret.
async fn populate(mock: &Mock) -> (Vec<(Kind, String)>, String) {
    let mut runs = Vec::new();
    for kind in Kind::ALL {
        runs.push((kind, start_run(mock, kind, "[mock:cost=1.5]").await));
        mock.advance(3).await;
    }
    let with_webhook = with(instruction("[mock:cost=0.5]"), json!({"webhook_url": HOOK}));
    runs.push((Kind::Format, start_demo(mock, with_webhook).await));
    runs.push((Kind::Format, start_run(mock, Kind::Format, "[mock:fail=mcp_unavailable]").await));
    let items: Vec<_> = (3..9).map(|n| instruction(&format!("[mock:seconds={n}]"))).collect();
    let body = json!({"items": items, "concurrency": 2});
    let queue = mock.developer().post_data(BULK, body, 202).await;
    let rotate = "/v1/webhooks/signing-secret/rotate";
    mock.developer().post_empty(rotate).await.expect(200);
    mock.advance(2).await;
    (runs, text(&queue["queue_id"]))
}

/// Returns everything that the API shows of the runs and the queue.
async fn observe(mock: &Mock, runs: &[(Kind, String)], queue: &str) -> Vec<Value> {
    let mut values = Vec::new();
    for (kind, id) in runs {
        values.push(receipt(mock, *kind, id).await);
        values.push(json!(ledger_total(&mock.developer(), "capture", id).await));
    }
    let path = format!("/v1/format-run-queues/{queue}");
    for path in [path.as_str(), RUNS, "/v1/webhooks/signing-secret", "/v1/balance"] {
        values.push(mock.developer().get_data(path).await);
    }
    // The request id differs between reads.
    for value in &mut values {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("request_id");
        }
    }
    values
}

async fn runs_continue_after_a_restore(mock: Mock) {
    let (runs, queue) = populate(&mock).await;
    let state = mock.state().await;
    let mut first = Vec::new();
    for _ in 0..12 {
        first.push(observe(&mock, &runs, &queue).await);
        mock.advance(3).await;
    }
    let second_mock = mock.start_another(Setup::default()).await;
    for target in [&mock, &second_mock] {
        target.put_state(&state).await.expect_success();
    }
    for step in &first {
        assert_eq!(&observe(&mock, &runs, &queue).await, step);
        mock.advance(3).await;
    }
    for (kind, id) in &runs {
        let read = receipt(&second_mock, *kind, id).await;
        assert_eq!(read["run_id"], *id.as_str());
    }
}

async fn reset_removes_all_runs(mock: Mock) {
    let (runs, queue) = populate(&mock).await;
    mock.control().post_empty("/reset").await;
    for (kind, id) in &runs {
        mock.developer().get(&kind.run(id)).await.expect(404);
    }
    let path = format!("/v1/format-run-queues/{queue}");
    mock.developer().get_error(&path, 404, "format_run_queue_not_found").await;
    assert_no_runs(&mock).await;
}

async fn the_same_seed_gives_the_same_runs(mock: Mock) {
    let second_mock = mock.start_another(Setup::default()).await;
    let (runs, queue) = populate(&mock).await;
    let (twins, other) = populate(&second_mock).await;
    assert_eq!((&runs, &queue), (&twins, &other));
    for _ in 0..5 {
        let (mut one, mut two) =
            (observe(&mock, &runs, &queue).await, observe(&second_mock, &runs, &queue).await);
        for value in one.iter_mut().chain(&mut two) {
            // The ports of the hosts differ.
            *value = json!(without_hosts(&value.to_string()));
        }
        assert_eq!(one, two);
        mock.advance(4).await;
        second_mock.advance(4).await;
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
