//! The progress of a bulk queue, step by step.

use std::collections::BTreeMap;

use super::*;

const TOTAL: usize = 40;
const CONCURRENCY: usize = 5;

on_every_frontend! {
    items_of_different_durations_start_in_order: "plan=scale balance=1000",
}

async fn items_of_different_durations_start_in_order(mock: Mock) {
    let developer = mock.developer();
    let seconds = (0..TOTAL).map(|index| 5 + (index * 7) % 23);
    let items = seconds.map(|it| json!({"instruction": format!("[mock:seconds={it}]")}));
    let body = json!({"items": items.collect::<Vec<_>>(), "concurrency": CONCURRENCY});
    let created = developer.post("/v1/formats/fmt_demo/bulk-runs", body).await;
    let mut queue = created.expect(202).data();
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    let mut started = 0;
    for _ in 0..1_000 {
        let before = std::mem::replace(&mut started, check(&queue));
        assert!((before..=before + CONCURRENCY).contains(&started), "{before}, then {started}");
        if queue["status"] == "completed" {
            assert_eq!(queue["counts"]["completed"], TOTAL, "{queue}");
            return;
        }
        mock.advance(0.5).await;
        queue = developer.get(&path).await.data();
    }
    panic!("the queue did not complete: {queue}");
}

/// Asserts that a queue is consistent, and returns how many of its items were started.
#[track_caller]
fn check(queue: &Value) -> usize {
    let items = queue["items"].as_array().unwrap();
    let started = items.iter().take_while(|item| item["run_id"].is_string()).count();
    let names = ["queued", "running", "completed", "failed", "skipped", "canceled"];
    let mut counts = BTreeMap::from(names.map(|name| (name, 0)));
    let mut active = 0;
    for (index, item) in items.iter().enumerate() {
        let status = item["status"].as_str().unwrap();
        *counts.entry(status).or_default() += 1;
        assert_eq!(item["index"], index);
        if index < started {
            active += usize::from(["queued", "running"].contains(&status));
        } else {
            assert!(item["run_id"].is_null() && status == "queued", "not in order: {queue}");
        }
    }
    counts.insert("total", TOTAL);
    assert_eq!(queue["counts"], json!(counts), "{queue}");
    assert_eq!(items.len(), TOTAL);
    assert!(active <= CONCURRENCY, "{active} runs at once: {queue}");
    let is_running = active > 0 || started < TOTAL;
    assert_eq!(queue["status"], if is_running { "running" } else { "completed" });
    started
}
