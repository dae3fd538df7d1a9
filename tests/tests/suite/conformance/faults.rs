//! Injected faults.

use std::time::Duration;

use super::*;

scripts! {
    status_503_returns_an_error_envelope r#"
        control /faults {"kind": "status_503", "retry_after_seconds": 7} => 200
        open video => 503 database_busy @retry-after=7
        control /jobs => 200 #=0
        open video => 202
    "#
    a_fault_applies_once_or_as_often_as_times_says r#"
        for <fields> <times> in {} 1, {"times":3} 3
          control /faults {"kind": "status_503"} <fields> => 200
          repeat <times>
            open /v1/jobs => 503
          repeat 5
            open /v1/jobs => 200
    "#
    a_fault_applies_to_its_operation_and_surface_only r#"
        open video => 202 job.id=<id>
        control /faults {"kind": "status_503", "operation": "jobs_status"} => 200
        open /v1/jobs/<id> => 200
        open /v1/jobs => 200
        open image => 202
        open /v1/jobs/<id>/status => 503
        open /v1/jobs/<id>/status => 200
        control /faults {"kind": "status_503", "surface": "developer"} => 200
        open /v1/jobs => 200
        developer /v1/jobs => 503
        developer /v1/jobs => 200
        control /faults {"kind": "status_503", "surface": "open", "operation": "jobs_list"} => 200
        developer /v1/jobs => 200
        open /v1/jobs => 503
    "#
    a_fault_without_a_filter_applies_to_all_operations_until_it_is_removed r#"
        control /faults {"kind": "status_503", "times": 1000} => 200
        open /v1/jobs => 503
        developer /v1/jobs => 503
        open video => 503
        control /clock => 200
        control DELETE /faults => 200
        open /v1/jobs => 200
    "#
}

on_every_frontend! {
    drop_before_has_no_effect,
    drop_after_applies_the_request,
    truncate_cuts_the_body,
    delay_delays_the_response,
    random_faults_are_reproducible_by_seed,
}

async fn drop_before_has_no_effect(mock: Mock) {
    mock.add_fault(json!({"kind": "drop_before"})).await;
    mock.open().try_post(VIDEO, video()).await.unwrap_err();
    assert!(mock.jobs().await.is_empty(), "the request was executed");
    let keyed = mock.open().idempotency_key("order-1");
    mock.add_fault(json!({"kind": "drop_before"})).await;
    keyed.try_post(VIDEO, video()).await.unwrap_err();
    keyed.post(VIDEO, video()).await.expect(202);
}

async fn drop_after_applies_the_request(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    mock.add_fault(json!({"kind": "drop_after"})).await;
    keyed.try_post(VIDEO, video()).await.unwrap_err();
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 1, "the request was not executed");
    let replayed = keyed.post_data(VIDEO, video(), 200).await;
    assert_eq!(replayed["job"]["id"], jobs[0]["id"]);
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn truncate_cuts_the_body(mock: Mock) {
    mock.add_fault(json!({"kind": "truncate"})).await;
    let truncated = mock.open().try_post(VIDEO, video()).await;
    if mock.kind() == FrontendKind::Wiremock {
        // The wiremock frontend shortens the body but keeps the connection intact.
        let response = truncated.unwrap().expect(202);
        assert!(!response.is_json() && !response.body().is_empty(), "{response:?}");
    } else {
        assert!(truncated.is_err(), "{truncated:?}");
    }
    assert_eq!(mock.jobs().await.len(), 1, "the request was not executed");
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn delay_delays_the_response(mock: Mock) {
    mock.add_fault(json!({"kind": "delay", "delay_ms": 60_000})).await;
    let client = mock.open();
    let delayed = tokio::time::timeout(Duration::from_millis(50), client.get("/v1/jobs"));
    assert!(delayed.await.is_err(), "the response was not delayed");
    mock.add_fault(json!({"kind": "delay", "delay_ms": 1})).await;
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn random_faults_are_reproducible_by_seed(mock: Mock) {
    let mut runs = Vec::new();
    for seed in [7, 7] {
        let mock = mock.start_another(Setup::default().seed(seed)).await;
        mock.add_fault(json!({"kind": "status_503", "times": 1_000, "probability": 0.5})).await;
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(mock.open().get("/v1/jobs").await.status());
        }
        runs.push(statuses);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].contains(&200) && runs[0].contains(&503), "{:?}", runs[0]);
}
