//! Bulk queues: a hundred runs at sixteen at once, told truly at every step.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_face};

use super::super::text;
use super::queue_progress::progress;
use super::{BULK, run_of};

on_every_face! {
    a_hundred_items_at_sixteen_are_told_truly_at_every_step: plan("scale").balance_usd("1000"),
    items_of_any_length_start_in_their_order: plan("scale").balance_usd("1000"),
    one_at_a_time_is_one_at_a_time,
    an_item_that_is_stuck_holds_its_place_alone,
}

/// Asserts what holds of a queue at every moment, and gives the statuses in order.
#[track_caller]
fn is_true(queue: &Value, total: usize, concurrency: usize) -> Vec<String> {
    let items = queue["items"].as_array().unwrap();
    assert_eq!(items.len(), total);
    let statuses: Vec<_> = items.iter().map(|item| text(&item["status"])).collect();
    for (index, item) in items.iter().enumerate() {
        assert_eq!(item["index"], index);
        let waits = item["run_id"].is_null();
        assert!(
            !waits || item["status"] == "queued",
            "no run and yet: {item}"
        );
    }
    let counts = queue["counts"].as_object().unwrap();
    assert_eq!(counts["total"], total);
    let names = [
        "queued",
        "running",
        "completed",
        "failed",
        "skipped",
        "canceled",
    ];
    let mut sum = 0;
    for name in names {
        let said = counts[name].as_u64().unwrap();
        let shown = statuses.iter().filter(|status| *status == name).count();
        assert_eq!(said, shown as u64, "{name} of {queue}");
        sum += said;
    }
    assert_eq!(sum, total as u64, "the counts are the whole");
    assert!(
        counts["running"].as_u64().unwrap() <= concurrency as u64,
        "{counts:?}"
    );
    let is_open = |status: &String| ["queued", "running"].contains(&status.as_str());
    let in_flight = items
        .iter()
        .zip(&statuses)
        .filter(|(item, status)| !item["run_id"].is_null() && is_open(status));
    assert!(
        in_flight.count() <= concurrency,
        "more runs than the window is wide: {queue}"
    );
    let over = !statuses.iter().any(is_open);
    assert_eq!(queue["status"], if over { "completed" } else { "running" });
    statuses
}

/// Steps through a queue until it is over, and gives what each item ended as and the index of the
/// step in which it first had a run.
async fn watched(mock: &Mock, body: Value, step: f64) -> (Vec<String>, Vec<usize>) {
    let total = body["items"].as_array().unwrap().len();
    let concurrency = usize::try_from(body["concurrency"].as_u64().unwrap()).unwrap();
    let queue = mock.developer().post(BULK, body).await.expect(202).data();
    is_true(&queue, total, concurrency);
    let id = text(&queue["queue_id"]);
    let mut started = vec![usize::MAX; total];
    for number in 0..2_000 {
        let queue = progress(mock, &id).await;
        let statuses = is_true(&queue, total, concurrency);
        for (first, item) in started.iter_mut().zip(queue["items"].as_array().unwrap()) {
            if item["run_id"].is_string() && *first == usize::MAX {
                *first = number;
            }
        }
        if queue["status"] == "completed" {
            return (statuses, started);
        }
        mock.advance(step).await;
    }
    panic!("the queue {id} does not end");
}

async fn a_hundred_items_at_sixteen_are_told_truly_at_every_step(mock: Mock) {
    let words = |index: usize| match index % 10 {
        3 => run_of("[mock:fail=provider_unavailable]"),
        7 => run_of("[mock:skip]"),
        _ => run_of("x"),
    };
    let items: Vec<_> = (0..100).map(words).collect();
    let (ends, started) = watched(&mock, json!({"items": items, "concurrency": 16}), 1.0).await;
    assert!(started.is_sorted(), "in their order: {started:?}");
    for (index, end) in ends.iter().enumerate() {
        let expected = match index % 10 {
            3 => "failed",
            7 => "skipped",
            _ => "completed",
        };
        assert_eq!(end, expected, "item {index}");
    }
}

async fn items_of_any_length_start_in_their_order(mock: Mock) {
    let item = |index: usize| run_of(&format!("[mock:seconds={}]", 5 + (index * 7) % 23));
    let items: Vec<_> = (0..40).map(item).collect();
    let (ends, started) = watched(&mock, json!({"items": items, "concurrency": 5}), 0.5).await;
    assert!(started.is_sorted(), "in their order: {started:?}");
    assert!(ends.iter().all(|end| end == "completed"), "{ends:?}");
    let mut at_once = BTreeMap::new();
    for step in &started {
        *at_once.entry(step).or_insert(0) += 1;
    }
    assert!(at_once.values().all(|count| *count <= 5), "{at_once:?}");
}

async fn one_at_a_time_is_one_at_a_time(mock: Mock) {
    let items = vec![run_of("x"); 4];
    let (_, started) = watched(&mock, json!({"items": items, "concurrency": 1}), 1.0).await;
    let gaps: Vec<_> = started.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.iter().all(|gap| *gap >= 10),
        "each waits for the one before: {started:?}"
    );
}

async fn an_item_that_is_stuck_holds_its_place_alone(mock: Mock) {
    let mut items = vec![run_of("x"); 5];
    items[1] = run_of("[mock:stuck]");
    let body = json!({"items": items, "concurrency": 2});
    let queue = mock.developer().post(BULK, body).await.expect(202).data();
    mock.advance(1_000).await;
    let queue = progress(&mock, &text(&queue["queue_id"])).await;
    let statuses = is_true(&queue, 5, 2);
    assert_eq!(
        statuses,
        [
            "completed",
            "running",
            "completed",
            "completed",
            "completed"
        ]
    );
}
