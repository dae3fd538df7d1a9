//! Faults: each kind breaks what it says, as often as it says, and nothing else.

use std::time::Duration;

use serde_json::json;
use svc_tests::{FaceKind, Host, Mock, Setup, on_every_face};

use super::{IMAGE, VIDEO, image, submit, video};

on_every_face! {
    an_overload_answers_503_with_an_envelope,
    a_rate_limit_answers_429,
    a_proxy_answers_502_without_an_envelope,
    a_connection_dropped_before_has_done_nothing,
    a_connection_dropped_after_has_done_it,
    a_truncated_answer_is_no_whole_json,
    a_garbage_answer_is_a_200_without_json,
    a_delayed_answer_comes_late,
    a_fault_happens_once_unless_it_says_otherwise,
    a_fault_happens_as_often_as_it_says,
    a_fault_hits_its_operation_alone,
    a_fault_hits_its_surface_alone,
    a_fault_for_everything_hits_everything,
    faults_can_be_taken_back,
    a_fault_that_never_happens_never_happens,
    faults_of_chance_follow_the_seed,
    what_is_no_fault_is_refused,
}

async fn an_overload_answers_503_with_an_envelope(mock: Mock) {
    mock.fault(json!({"kind": "status_503", "retry_after_seconds": 7}))
        .await;
    let answer = mock.open().post(VIDEO, video()).await;
    assert_eq!(answer.number("retry-after"), 7);
    answer.refused(503, "database_busy");
    assert!(mock.jobs().await.is_empty(), "nothing ran");
    mock.open().post(VIDEO, video()).await.expect(202);
}

async fn a_rate_limit_answers_429(mock: Mock) {
    mock.fault(json!({"kind": "status_429", "retry_after_seconds": 3}))
        .await;
    let answer = mock.open().get("/v1/jobs").await;
    assert_eq!(answer.number("retry-after"), 3);
    answer.refused(429, "rate_limited");
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_proxy_answers_502_without_an_envelope(mock: Mock) {
    mock.fault(json!({"kind": "status_502_html"})).await;
    let answer = mock
        .open()
        .try_send("GET", "/v1/jobs", None, "".into())
        .await
        .unwrap()
        .expect(502);
    assert!(
        !answer.is_json() && answer.text().contains('<'),
        "{answer:?}"
    );
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_connection_dropped_before_has_done_nothing(mock: Mock) {
    mock.fault(json!({"kind": "drop_before"})).await;
    assert!(
        mock.open().try_post(VIDEO, video()).await.is_err(),
        "an answer came"
    );
    assert!(mock.jobs().await.is_empty(), "nothing ran");
    let keyed = mock.open().idempotency_key("order-1");
    mock.fault(json!({"kind": "drop_before"})).await;
    assert!(
        keyed.try_post(VIDEO, video()).await.is_err(),
        "an answer came"
    );
    keyed.post(VIDEO, video()).await.expect(202);
}

async fn a_connection_dropped_after_has_done_it(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    mock.fault(json!({"kind": "drop_after"})).await;
    assert!(
        keyed.try_post(VIDEO, video()).await.is_err(),
        "an answer came"
    );
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 1, "it was done");
    let replayed = keyed.post(VIDEO, video()).await.expect(200).data();
    assert_eq!(replayed["job"]["id"], jobs[0]["id"]);
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn a_truncated_answer_is_no_whole_json(mock: Mock) {
    mock.fault(json!({"kind": "truncate"})).await;
    let cut = mock.open().try_post(VIDEO, video()).await;
    if mock.kind() == FaceKind::Wiremock {
        // There the text is cut, and the connection is whole.
        let answer = cut.unwrap().expect(202);
        assert!(!answer.is_json() && !answer.body().is_empty(), "{answer:?}");
    } else {
        assert!(cut.is_err(), "a whole answer came: {cut:?}");
    }
    assert_eq!(mock.jobs().await.len(), 1, "it was done");
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_garbage_answer_is_a_200_without_json(mock: Mock) {
    mock.fault(json!({"kind": "garbage"})).await;
    let answer = mock
        .open()
        .try_send("GET", "/v1/jobs", None, "".into())
        .await
        .unwrap()
        .expect(200);
    assert!(!answer.is_json(), "{answer:?}");
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_delayed_answer_comes_late(mock: Mock) {
    mock.fault(json!({"kind": "delay", "delay_ms": 60_000}))
        .await;
    let caller = mock.open();
    let late = caller.get("/v1/jobs");
    assert!(
        tokio::time::timeout(Duration::from_millis(50), late)
            .await
            .is_err(),
        "it came at once"
    );
    mock.fault(json!({"kind": "delay", "delay_ms": 1})).await;
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_fault_happens_once_unless_it_says_otherwise(mock: Mock) {
    mock.fault(json!({"kind": "status_503"})).await;
    mock.open().get("/v1/jobs").await.expect(503);
    for _ in 0..5 {
        mock.open().get("/v1/jobs").await.expect(200);
    }
}

async fn a_fault_happens_as_often_as_it_says(mock: Mock) {
    mock.fault(json!({"kind": "status_503", "times": 3})).await;
    for _ in 0..3 {
        mock.open().get("/v1/jobs").await.expect(503);
    }
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_fault_hits_its_operation_alone(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    mock.fault(json!({"kind": "status_503", "operation": "jobs_status"}))
        .await;
    let open = mock.open();
    open.get(&format!("/v1/jobs/{id}")).await.expect(200);
    open.get("/v1/jobs").await.expect(200);
    open.post(IMAGE, image()).await.expect(202);
    open.get(&format!("/v1/jobs/{id}/status")).await.expect(503);
    open.get(&format!("/v1/jobs/{id}/status")).await.expect(200);
}

async fn a_fault_hits_its_surface_alone(mock: Mock) {
    mock.fault(json!({"kind": "status_503", "surface": "developer"}))
        .await;
    mock.open().get("/v1/jobs").await.expect(200);
    mock.developer().get("/v1/jobs").await.expect(503);
    mock.developer().get("/v1/jobs").await.expect(200);
    mock.fault(json!({"kind": "status_503", "surface": "open", "operation": "jobs_list"}))
        .await;
    mock.developer().get("/v1/jobs").await.expect(200);
    mock.open().get("/v1/jobs").await.expect(503);
}

async fn a_fault_for_everything_hits_everything(mock: Mock) {
    mock.fault(json!({"kind": "status_503", "times": 1_000}))
        .await;
    mock.open().get("/v1/jobs").await.expect(503);
    mock.developer().get("/v1/jobs").await.expect(503);
    mock.open().post(VIDEO, video()).await.expect(503);
    mock.control().get("/clock").await.expect(200);
}

async fn faults_can_be_taken_back(mock: Mock) {
    mock.fault(json!({"kind": "status_503", "times": 1_000}))
        .await;
    mock.open().get("/v1/jobs").await.expect(503);
    let answer = mock
        .control()
        .send("DELETE", "/faults", None, "".into())
        .await;
    assert!(answer.status() < 300, "{answer:?}");
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_fault_that_never_happens_never_happens(mock: Mock) {
    mock.fault(json!({"kind": "status_503", "times": 1_000, "probability": 0}))
        .await;
    for _ in 0..20 {
        mock.open().get("/v1/jobs").await.expect(200);
    }
}

async fn faults_of_chance_follow_the_seed(mock: Mock) {
    let mut runs = Vec::new();
    for seed in [7, 7] {
        let mock = mock.another(Setup::default().seed(seed)).await;
        mock.fault(json!({"kind": "status_503", "times": 1_000, "probability": 0.5}))
            .await;
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(mock.open().get("/v1/jobs").await.status());
        }
        runs.push(statuses);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(
        runs[0].contains(&200) && runs[0].contains(&503),
        "{:?}",
        runs[0]
    );
}

async fn what_is_no_fault_is_refused(mock: Mock) {
    for body in [
        json!({}),
        json!({"kind": "earthquake"}),
        json!({"kind": 7}),
        json!({"kind": "status_503", "times": -1}),
        json!({"kind": "status_503", "times": "often"}),
        json!({"kind": "status_503", "probability": "x"}),
        json!({"kind": "status_503", "surface": "moon"}),
        json!({"kind": "status_503", "operation": "no_such_operation"}),
    ] {
        let answer = mock.control().post("/faults", body.clone()).await;
        assert_eq!(answer.status(), 400, "{body} got\n{answer:?}");
    }
    mock.caller(Host::Open)
        .bearer("svc_open_demo")
        .get("/v1/jobs")
        .await
        .expect(200);
}
