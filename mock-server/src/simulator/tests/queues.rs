//! Bulk queues: in order, so many at a time, and counted right at every moment.

use serde_json::{Value, json};

use super::Mock;

const BULK: &str = "/v1/formats/fmt_demo/bulk-runs";

/// The number of items in each status, as the items say themselves.
fn counted(queue: &Value, status: &str) -> usize {
    let items = queue["items"].as_array().unwrap().iter();
    items.filter(|item| item["status"] == status).count()
}

#[track_caller]
fn counts_are_right(queue: &Value) {
    let mut sum = 0;
    for status in [
        "queued",
        "running",
        "completed",
        "failed",
        "skipped",
        "canceled",
    ] {
        assert_eq!(queue["counts"][status], counted(queue, status), "{status}");
        sum += counted(queue, status);
    }
    assert_eq!(queue["counts"]["total"], sum);
}

/// How many runs have begun and not ended.
fn in_flight(queue: &Value) -> usize {
    let ended = ["completed", "failed", "skipped", "canceled"];
    let items = queue["items"].as_array().unwrap().iter();
    let reserved = items.filter(|item| !item["run_id"].is_null());
    reserved
        .filter(|item| !ended.contains(&item["status"].as_str().unwrap()))
        .count()
}

#[test]
fn a_hundred_items_run_in_order_and_never_more_than_sixteen_at_once() {
    let mut mock = Mock::new();
    let seconds = |index: usize| [1.0, 2.5, 0.0, 7.0, 3.3][index % 5];
    let words = |index: usize| match index % 10 {
        3 => "[mock:skip]",
        6 => "[mock:fail]",
        _ => "",
    };
    let items: Vec<_> = (0..100)
        .map(|index| json!({"instruction": format!("{}[mock:seconds={}]", words(index), seconds(index))}))
        .collect();
    let receipt = mock.order(BULK, json!({"items": items, "concurrency": 16}));
    let path = format!(
        "/v1/format-run-queues/{}",
        receipt["queue_id"].as_str().unwrap()
    );
    assert_eq!(
        (&receipt["concurrency"], &receipt["status"]),
        (&json!(16), &json!("running"))
    );
    let (mut most, mut reserved) = (0, 0);
    for _ in 0..400 {
        let queue = mock.read(&path);
        counts_are_right(&queue);
        assert!(in_flight(&queue) <= 16);
        most = most.max(in_flight(&queue));
        let items = queue["items"].as_array().unwrap();
        let so_far = items
            .iter()
            .take_while(|item| !item["run_id"].is_null())
            .count();
        assert!(
            items[so_far..].iter().all(|item| item["run_id"].is_null()),
            "out of order"
        );
        assert!(so_far >= reserved);
        reserved = so_far;
        mock.books_are_balanced();
        if queue["status"] == "completed" {
            break;
        }
        mock.pass(100);
    }
    let queue = mock.read(&path);
    assert_eq!(
        (&queue["status"], most, reserved),
        (&json!("completed"), 16, 100)
    );
    assert_eq!(
        (
            &queue["counts"]["skipped"],
            &queue["counts"]["failed"],
            &queue["counts"]["completed"]
        ),
        (&json!(10), &json!(10), &json!(80))
    );
    assert_eq!(queue["next_poll_after_seconds"], 0);
    let last = mock.receipt(queue["items"][99]["run_id"].as_str().unwrap());
    assert_eq!(
        (&last["queue_id"], &last["item_index"]),
        (&receipt["queue_id"], &json!(99))
    );
    assert_eq!(
        mock.read("/v1/formats/fmt_demo/runs")
            .as_array()
            .unwrap()
            .len(),
        100
    );
}

#[test]
fn a_run_that_is_canceled_makes_room_at_once() {
    let mut mock = Mock::new();
    let items = vec![json!({"instruction": "[mock:stuck]"}); 3];
    let queue = mock.order(BULK, json!({"items": items, "concurrency": 1}));
    let path = format!(
        "/v1/format-run-queues/{}",
        queue["queue_id"].as_str().unwrap()
    );
    for index in 0..3 {
        mock.pass(30_000);
        let queue = mock.read(&path);
        assert_eq!(in_flight(&queue), 1);
        let run = queue["items"][index]["run_id"].as_str().unwrap().to_owned();
        mock.developer()
            .post(&format!("/v1/format-runs/{run}/cancel"), json!({}))
            .data(200);
    }
    let queue = mock.read(&path);
    assert_eq!(
        (&queue["status"], &queue["counts"]["canceled"]),
        (&json!("completed"), &json!(3))
    );
}

#[test]
fn a_queue_is_another_owners_business() {
    let mut mock = Mock::new();
    let queue = mock.order(BULK, json!({"items": [{"instruction": "x"}]}));
    assert_eq!(queue["concurrency"], 4);
    let path = format!(
        "/v1/format-run-queues/{}",
        queue["queue_id"].as_str().unwrap()
    );
    let other = mock
        .ask(crate::engine::Host::Developer)
        .key("svc_dev_other")
        .get(&path);
    other.refused(404, "format_run_queue_not_found");
}

#[test]
fn a_bad_queue_begins_nothing_and_names_the_item() {
    let mut mock = Mock::new();
    let good = json!({"instruction": "x"});
    let rows = [
        (json!({}), "items"),
        (json!({"items": []}), "items"),
        (json!({"items": vec![good.clone(); 101]}), "items"),
        (json!({"items": "x"}), "items"),
        (json!({"items": [good, 7]}), "items[1]"),
        (json!({"items": [good], "concurrency": 0}), "concurrency"),
        (json!({"items": [good], "concurrency": 17}), "concurrency"),
        (json!({"items": [good], "concurrency": "4"}), "concurrency"),
        (
            json!({"items": [good], "webhook_url": "http://hooks.example/"}),
            "webhook_url",
        ),
    ];
    for (body, field) in rows {
        let error = mock
            .developer()
            .post(BULK, body)
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field);
    }
    let unknown = mock
        .developer()
        .post(BULK, json!({"items": [good], "instruction": "x"}));
    unknown.refused(400, "unknown_parameter");
    for (item, code) in [
        (json!({}), "invalid_request"),
        (json!({"thread_id": "t"}), "unknown_parameter"),
        (
            json!({"input": {}, "output_schema": {}}),
            "output_schema_invalid",
        ),
        (
            json!({"attachments": [{"asset_id": "asset_none"}]}),
            "attachment_not_found",
        ),
    ] {
        let error = mock
            .developer()
            .post(BULK, json!({"items": [good, good, item]}))
            .refused(400, code);
        assert_eq!(error["details"]["index"], 2, "{code}");
    }
    let gone = json!({"attachments": [{"url": "https://cdn.invalid/"}]});
    let error = mock
        .developer()
        .post(BULK, json!({"items": [good, gone]}))
        .refused(502, "attachment_fetch_failed");
    assert_eq!(
        (
            &error["details"]["index"],
            &error["details"]["attachment_index"]
        ),
        (&json!(1), &json!(0))
    );
    assert_eq!(mock.read("/v1/formats/fmt_demo/runs"), json!([]));
}

#[test]
fn each_run_of_a_queue_is_announced_to_its_own_address_or_the_queues() {
    let mut mock = Mock::new();
    let items =
        json!([{"instruction": "x"}, {"instruction": "x", "webhook_url": "https://own.example/"}]);
    mock.order(
        BULK,
        json!({"items": items, "webhook_url": "https://all.example/"}),
    );
    mock.pass(10_000);
    mock.simulator.advance(mock.now);
    let sent = mock.simulator.take_deliveries(|_| true);
    let urls: Vec<_> = sent.iter().map(|delivery| delivery.url.as_str()).collect();
    assert_eq!(urls, ["https://all.example/", "https://own.example/"]);
}
