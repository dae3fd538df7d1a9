//! Comparison of the mock's responses with the fields and value types of the fixtures.

use std::mem::discriminant;

use super::*;
use crate::fixtures::answer_of;

on_every_frontend! {
    receipts_have_the_fields_of_the_fixtures,
    statuses_have_the_fields_of_the_fixtures,
    queues_have_the_fields_of_the_fixtures,
    formats_and_actions_have_the_fields_of_the_fixtures,
}

/// Asserts that an object has the fields of a fixture, with the same JSON types unless one is null.
#[track_caller]
fn assert_same_fields(actual: &Value, name: &str) {
    let expected = answer_of(name);
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(actual), names(&expected), "{name}");
    for (field, expected) in expected.as_object().unwrap() {
        let value = &actual[field];
        let same = discriminant(value) == discriminant(expected);
        assert!(same || value.is_null() || expected.is_null(), "{name}: {field} is {value}");
    }
}

async fn receipts_have_the_fields_of_the_fixtures(mock: Mock) {
    for kind in Kind::ALL {
        let created = mock.developer().post_data(kind.start(), kind.body("x"), 202).await;
        assert_same_fields(&created, &format!("run-{}-created", kind.name()));
        let id = text(&created["run_id"]);
        mock.advance(5).await;
        let running = mock.developer().get_data(&kind.run(&id)).await;
        assert_same_fields(&running, &format!("run-{}-running", kind.name()));
        mock.advance(5).await;
        let completed = mock.developer().get_data(&kind.run(&id)).await;
        assert_same_fields(&completed, &format!("run-{}-completed", kind.name()));
        let listed = mock.developer().get_items(kind.list()).await;
        assert_same_fields(&listed[0], &format!("run-{}-completed", kind.name()));
    }
}

async fn statuses_have_the_fields_of_the_fixtures(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        mock.advance(5).await;
        let path = format!("{}/status", kind.run(&id));
        let short = mock.developer().get_data(&path).await;
        assert_same_fields(&short, "run-status-format-running");
    }
}

async fn queues_have_the_fields_of_the_fixtures(mock: Mock) {
    let body = json!({"items": [instruction("x"), instruction("y")], "concurrency": 1});
    let created = mock.developer().post_data(BULK, body, 202).await;
    assert_same_fields(&created, "queue-created");
    let path = format!("/v1/format-run-queues/{}", text(&created["queue_id"]));
    let read = mock.developer().get_data(&path).await;
    assert_same_fields(&read, "queue-running");
    let counts = |value: &Value| value["counts"].as_object().unwrap().len();
    assert_eq!(counts(&read), counts(&answer_of("queue-running")));
}

async fn formats_and_actions_have_the_fields_of_the_fixtures(mock: Mock) {
    for (path, name) in [("/v1/formats/fmt_media", "format"), ("/v1/actions/act_daily", "action")] {
        let record = mock.developer().get_data(path).await;
        assert_same_fields(&record, name);
    }
}
