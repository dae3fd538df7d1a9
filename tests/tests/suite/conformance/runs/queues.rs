//! Progress of bulk queues.

use std::collections::BTreeMap;

use super::*;

on_every_frontend! {
    items_of_different_durations_start_in_order: plan("scale").balance_usd("1000"),
    concurrency_1_runs_one_item_at_a_time,
    a_stuck_item_does_not_block_the_queue,
}

/// Asserts that a queue is consistent and returns the statuses of its items in order.
#[track_caller]
fn assert_consistent(queue: &Value, total: usize, concurrency: usize) -> Vec<String> {
    let items = queue["items"].as_array().unwrap();
    assert_eq!(items.len(), total);
    let statuses: Vec<_> = items.iter().map(|item| text(&item["status"])).collect();
    for (index, item) in items.iter().enumerate() {
        assert_eq!(item["index"], index);
        let is_waiting = item["run_id"].is_null();
        assert!(!is_waiting || item["status"] == "queued", "{item}");
    }
    let counts = queue["counts"].as_object().unwrap();
    assert_eq!(counts["total"], total);
    let names = ["queued", "running", "completed", "failed", "skipped", "canceled"];
    let mut sum = 0;
    for name in names {
        let count = counts[name].as_u64().unwrap();
        let shown = statuses.iter().filter(|status| *status == name).count();
        assert_eq!(count, shown as u64, "{name} of {queue}");
        sum += count;
    }
    assert_eq!(sum, total as u64, "sum of the counts");
    assert!(counts["running"].as_u64().unwrap() <= concurrency as u64, "{counts:?}");
    let is_active = |status: &String| ["queued", "running"].contains(&status.as_str());
    let in_flight = items
        .iter()
        .zip(&statuses)
        .filter(|(item, status)| !item["run_id"].is_null() && is_active(status));
    assert!(in_flight.count() <= concurrency, "too many active runs: {queue}");
    let is_running = statuses.iter().any(is_active);
    let expected = if is_running { "running" } else { "completed" };
    assert_eq!(queue["status"], expected);
    statuses
}

/// Runs a queue to its end, checking it at every step.
///
/// Returns the final status of each item and the number of the step at which its run was started.
async fn run_queue(mock: &Mock, body: Value, step: f64) -> (Vec<String>, Vec<usize>) {
    let total = body["items"].as_array().unwrap().len();
    let concurrency = usize::try_from(body["concurrency"].as_u64().unwrap()).unwrap();
    let queue = mock.developer().post_data(BULK, body, 202).await;
    assert_consistent(&queue, total, concurrency);
    let id = text(&queue["queue_id"]);
    let mut first_steps = vec![usize::MAX; total];
    for number in 0..2_000 {
        let queue = read_queue(mock, &id).await;
        let statuses = assert_consistent(&queue, total, concurrency);
        for (first, item) in first_steps.iter_mut().zip(queue["items"].as_array().unwrap()) {
            if item["run_id"].is_string() && *first == usize::MAX {
                *first = number;
            }
        }
        if queue["status"] == "completed" {
            return (statuses, first_steps);
        }
        mock.advance(step).await;
    }
    panic!("the queue {id} did not complete");
}

async fn items_of_different_durations_start_in_order(mock: Mock) {
    let item = |index: usize| instruction(&format!("[mock:seconds={}]", 5 + (index * 7) % 23));
    let items: Vec<_> = (0..40).map(item).collect();
    let (ends, first_steps) =
        run_queue(&mock, json!({"items": items, "concurrency": 5}), 0.5).await;
    assert!(first_steps.is_sorted(), "{first_steps:?}");
    assert!(ends.iter().all(|end| end == "completed"), "{ends:?}");
    let mut at_once = BTreeMap::new();
    for step in &first_steps {
        *at_once.entry(step).or_insert(0) += 1;
    }
    assert!(at_once.values().all(|count| *count <= 5), "{at_once:?}");
}

async fn concurrency_1_runs_one_item_at_a_time(mock: Mock) {
    let items = vec![instruction("x"); 4];
    let (_, first_steps) = run_queue(&mock, json!({"items": items, "concurrency": 1}), 1.0).await;
    let gaps: Vec<_> = first_steps.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= 10), "{first_steps:?}");
}

async fn a_stuck_item_does_not_block_the_queue(mock: Mock) {
    let mut items = vec![instruction("x"); 5];
    items[1] = instruction("[mock:stuck]");
    let body = json!({"items": items, "concurrency": 2});
    let queue = mock.developer().post_data(BULK, body, 202).await;
    mock.advance(1_000).await;
    let queue = read_queue(&mock, &text(&queue["queue_id"])).await;
    let statuses = assert_consistent(&queue, 5, 2);
    assert_eq!(statuses, ["completed", "running", "completed", "completed", "completed"]);
}

/// Returns the status of a queue.
async fn read_queue(mock: &Mock, id: &str) -> Value {
    let path = format!("/v1/format-run-queues/{id}");
    mock.developer().get_data(&path).await
}
