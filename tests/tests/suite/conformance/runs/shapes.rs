//! What the mock answers has the fields that the fixtures have, and values of the same kinds.

use std::mem::discriminant;

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_face};

use super::{BULK, Kind, started, text};
use crate::fixtures::answer_of;

on_every_face! {
    receipts_have_the_fields_of_the_fixtures,
    short_forms_have_the_fields_of_the_fixtures,
    queues_have_the_fields_of_the_fixtures,
    formats_and_actions_have_the_fields_of_the_fixtures,
}

/// Asserts that two objects have the same fields, and values of the same kind where neither is null.
#[track_caller]
fn alike(found: &Value, name: &str) {
    let expected = answer_of(name);
    let names = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(names(found), names(&expected), "{name}");
    for (field, expected) in expected.as_object().unwrap() {
        let value = &found[field];
        let same = discriminant(value) == discriminant(expected);
        assert!(
            same || value.is_null() || expected.is_null(),
            "{name}: {field} is {value}"
        );
    }
}

async fn receipts_have_the_fields_of_the_fixtures(mock: Mock) {
    for kind in Kind::ALL {
        let created = mock
            .developer()
            .post(kind.start(), kind.body("x"))
            .await
            .expect(202)
            .data();
        alike(&created, &format!("run-{}-created", kind.name()));
        let id = text(&created["run_id"]);
        mock.advance(5).await;
        let running = mock
            .developer()
            .get(&kind.run(&id))
            .await
            .expect(200)
            .data();
        alike(&running, &format!("run-{}-running", kind.name()));
        mock.advance(5).await;
        let completed = mock
            .developer()
            .get(&kind.run(&id))
            .await
            .expect(200)
            .data();
        alike(&completed, &format!("run-{}-completed", kind.name()));
        let listed = mock.developer().get(kind.list()).await.expect(200).items();
        alike(&listed[0], &format!("run-{}-completed", kind.name()));
    }
}

async fn short_forms_have_the_fields_of_the_fixtures(mock: Mock) {
    for kind in Kind::ALL {
        let id = started(&mock, kind, "x").await;
        mock.advance(5).await;
        let path = format!("{}/status", kind.run(&id));
        let short = mock.developer().get(&path).await.expect(200).data();
        alike(&short, "run-status-format-running");
    }
}

async fn queues_have_the_fields_of_the_fixtures(mock: Mock) {
    let body = json!({"items": [super::run_of("x"), super::run_of("y")], "concurrency": 1});
    let created = mock.developer().post(BULK, body).await.expect(202).data();
    alike(&created, "queue-created");
    let path = format!("/v1/format-run-queues/{}", text(&created["queue_id"]));
    let read = mock.developer().get(&path).await.expect(200).data();
    alike(&read, "queue-running");
    let counts = |value: &Value| value["counts"].as_object().unwrap().len();
    assert_eq!(counts(&read), counts(&answer_of("queue-running")));
}

async fn formats_and_actions_have_the_fields_of_the_fixtures(mock: Mock) {
    for (path, name) in [
        ("/v1/formats/fmt_media", "format"),
        ("/v1/actions/act_daily", "action"),
    ] {
        let record = mock.developer().get(path).await.expect(200).data();
        alike(&record, name);
    }
}
