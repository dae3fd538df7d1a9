//! `GET /state` and `PUT /state`: the same requests get the same answers after a restore.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Answer, Caller, Host, Mock, Setup, on_every_face};

use super::{ESTIMATE, IMAGE, TOP_UPS, VIDEO, image, submit, text, video, video_of};

on_every_face! {
    after_a_restore_the_same_requests_get_the_same_answers,
    another_mock_goes_on_where_this_one_was,
    a_state_survives_being_written_and_read_again,
    the_same_seed_and_the_same_requests_give_the_same_answers,
    what_is_no_state_is_refused_and_changes_nothing,
    a_state_with_anything_else_in_it_is_refused_or_works,
}

async fn state(mock: &Mock) -> Value {
    mock.control().get("/state").await.expect(200).json()
}

async fn restore(mock: &Mock, state: &Value) -> Answer {
    let body = Bytes::from(state.to_string());
    mock.control()
        .send("PUT", "/state", Some("application/json"), body)
        .await
}

/// Jobs in every stage, money, keys, faults.
async fn lived_in(mock: &Mock) {
    let open = mock.open();
    submit(&open, VIDEO, video()).await;
    submit(&open, VIDEO, video_of("[mock:fail]")).await;
    mock.advance(9).await;
    submit(
        &open.clone().idempotency_key("order-1"),
        VIDEO,
        video_of("[mock:seconds=60]"),
    )
    .await;
    let canceled = submit(&open, IMAGE, image()).await;
    open.post_nothing(&format!("/v1/jobs/{canceled}/cancel"))
        .await
        .expect(200);
    mock.advance(7).await;
    open.post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .await
        .expect(201);
    mock.new_key(json!({"kind": "open", "workspace": "ws_new", "plan": "pro"}))
        .await;
    mock.fault(json!({"kind": "status_503", "operation": "jobs_list", "times": 2}))
        .await;
    open.get("/v1/jobs").await.expect(503);
}

/// What goes on from there: every answer, with its status, its service headers and its body.
async fn continued(mock: &Mock) -> Vec<String> {
    let open = mock.open();
    let mut answers = vec![
        open.get("/v1/jobs").await,
        open.get("/v1/jobs").await,
        open.clone()
            .idempotency_key("order-1")
            .post(VIDEO, video_of("[mock:seconds=60]"))
            .await,
        open.clone()
            .idempotency_key("order-1")
            .post(VIDEO, video())
            .await,
        open.post(VIDEO, video()).await,
        open.post(IMAGE, image()).await,
        open.post(IMAGE, json!({})).await,
        open.post(TOP_UPS, json!({"amount_usd_cents": 700})).await,
        open.post(ESTIMATE, json!({"model": "auto", "input": {"prompt": "p"}}))
            .await,
    ];
    let made = mock
        .control()
        .post("/keys", json!({"kind": "open", "workspace": "ws_demo"}))
        .await;
    answers.push(
        mock.caller(Host::Open)
            .bearer(&text(&made.json()["key"]))
            .get("/v1/jobs")
            .await,
    );
    answers.push(made);
    mock.advance(50).await;
    answers.push(open.get("/v1/jobs").await);
    for job in mock.jobs().await {
        let id = text(&job["id"]);
        for suffix in ["", "/status", "/result"] {
            answers.push(open.get(&format!("/v1/jobs/{id}{suffix}")).await);
        }
    }
    answers.push(mock.control().get("/ledger").await);
    answers.push(mock.control().get("/clock").await);
    answers.iter().map(|answer| told(mock, answer)).collect()
}

/// An answer as text, with the names of the hosts in the place of their URLs.
fn told(mock: &Mock, answer: &Answer) -> String {
    let headers = [
        "x-svc-request-id",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "retry-after",
    ];
    let mut text = answer.status().to_string();
    for name in headers {
        text += &format!("\n{name}: {:?}", answer.header(name));
    }
    text += "\n";
    text += &answer.text();
    for host in Host::ALL {
        text = text.replace(mock.base_url(host), &format!("{{{host:?}}}"));
    }
    text
}

#[track_caller]
fn same(one: &[String], other: &[String]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one, other);
    }
}

async fn after_a_restore_the_same_requests_get_the_same_answers(mock: Mock) {
    lived_in(&mock).await;
    let saved = state(&mock).await;
    let first = continued(&mock).await;
    let answer = restore(&mock, &saved).await;
    assert!(answer.status() < 300, "{answer:?}");
    same(&first, &continued(&mock).await);
}

async fn another_mock_goes_on_where_this_one_was(mock: Mock) {
    lived_in(&mock).await;
    let saved = state(&mock).await;
    let other = mock
        .another(Setup::default().seed(99).balance_usd("3").plan("scale"))
        .await;
    submit(&other.open(), VIDEO, video()).await;
    let answer = restore(&other, &saved).await;
    assert!(answer.status() < 300, "{answer:?}");
    same(&continued(&mock).await, &continued(&other).await);
}

async fn a_state_survives_being_written_and_read_again(mock: Mock) {
    lived_in(&mock).await;
    let saved = state(&mock).await;
    assert!(restore(&mock, &saved).await.status() < 300);
    assert_eq!(state(&mock).await, saved);
}

async fn the_same_seed_and_the_same_requests_give_the_same_answers(mock: Mock) {
    let mut runs = Vec::new();
    for seed in [5, 5, 6] {
        let mock = mock.another(Setup::default().seed(seed)).await;
        lived_in(&mock).await;
        runs.push(continued(&mock).await);
    }
    same(&runs[0], &runs[1]);
    assert_ne!(runs[0], runs[2], "another seed makes other identifiers");
}

async fn what_is_no_state_is_refused_and_changes_nothing(mock: Mock) {
    lived_in(&mock).await;
    let saved = state(&mock).await;
    let whole = saved.to_string();
    let deep = "[".repeat(100_000);
    for document in [
        "",
        "null",
        "{}",
        "[]",
        "7",
        "\"state\"",
        &whole[..whole.len() / 2],
        &deep,
    ] {
        let body = Bytes::copy_from_slice(document.as_bytes());
        let answer = mock
            .control()
            .send("PUT", "/state", Some("application/json"), body)
            .await;
        assert_eq!(answer.status(), 400, "{document:.60} got\n{answer:?}");
    }
    for name in saved.as_object().expect("one JSON document").keys() {
        let mut broken = saved.clone();
        broken[name] = json!({"not": ["what", "belongs", "here"]});
        assert_eq!(
            restore(&mock, &broken).await.status(),
            400,
            "with another {name}"
        );
        broken.as_object_mut().unwrap().remove(name);
        let answer = restore(&mock, &broken).await;
        assert!(
            answer.status() == 400 || answer.status() < 300,
            "without {name} got\n{answer:?}"
        );
        assert!(restore(&mock, &saved).await.status() < 300);
    }
    assert_eq!(state(&mock).await, saved);
}

/// Where each value of a document is that has no other values in it.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(field, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{at}/{index}"), found);
            }
        }
        _ => found.push(at.to_owned()),
    }
}

async fn a_state_with_anything_else_in_it_is_refused_or_works(mock: Mock) {
    lived_in(&mock).await;
    let saved = state(&mock).await;
    let mut paths = Vec::new();
    leaves(&saved, "", &mut paths);
    let others = [
        json!(null),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!("x"),
        json!([]),
        json!({}),
        json!(true),
    ];
    // Not every value in every place: that takes seconds and has found no more.
    for (index, path) in paths.iter().enumerate() {
        for (number, other) in others.iter().enumerate() {
            if (number + index) % others.len() == 0 {
                edited(&mock, &saved, path, other).await;
            }
        }
    }
    assert!(restore(&mock, &saved).await.status() < 300);
    assert_eq!(state(&mock).await, saved);
}

/// Restores the state with that other value in that place, and uses what comes of it.
async fn edited(mock: &Mock, saved: &Value, path: &str, other: &Value) {
    let mut document = saved.clone();
    *document.pointer_mut(path).unwrap() = other.clone();
    let answer = restore(mock, &document).await;
    let said = format!("{path} as {other}");
    assert!(answer.status() < 500, "{said} got\n{answer:?}");
    if answer.status() == 400 {
        return;
    }
    let get = |caller: Caller, path: &'static str| async move {
        caller.try_send("GET", path, None, Bytes::new()).await
    };
    let mut answers = Vec::new();
    for _ in 0..2 {
        for path in ["/clock", "/jobs", "/ledger", "/requests", "/state"] {
            answers.push(get(mock.control(), path).await.unwrap());
        }
        answers.extend(get(mock.open(), "/v1/jobs").await);
        answers.extend(mock.open().try_post(IMAGE, image()).await);
        let step = json!({"seconds": 70});
        answers.push(mock.control().post("/clock/advance", step).await);
    }
    for answer in answers {
        assert!(answer.status() != 500, "{said} got\n{answer:?}");
    }
}
