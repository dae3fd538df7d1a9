//! Injected faults.

use std::time::Duration;

use super::*;

on_every_frontend! {
    status_503_returns_an_error_envelope,
    drop_before_has_no_effect,
    drop_after_applies_the_request,
    truncate_cuts_the_body,
    delay_delays_the_response,
    a_fault_applies_once_or_as_often_as_times_says,
    a_fault_applies_to_its_operation_only,
    a_fault_applies_to_its_surface_only,
    a_fault_without_a_filter_applies_to_all_operations,
    faults_can_be_removed,
    random_faults_are_reproducible_by_seed,
}

async fn status_503_returns_an_error_envelope(mock: Mock) {
    mock.add_fault(json!({"kind": "status_503", "retry_after_seconds": 7}))
        .await;
    let response = mock.open().post(VIDEO, video()).await;
    assert_eq!(response.int_header("retry-after"), 7);
    response.expect_error(503, "database_busy");
    assert!(mock.jobs().await.is_empty(), "the request was executed");
    mock.open().post(VIDEO, video()).await.expect(202);
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
        assert!(
            !response.is_json() && !response.body().is_empty(),
            "{response:?}"
        );
    } else {
        assert!(truncated.is_err(), "{truncated:?}");
    }
    assert_eq!(mock.jobs().await.len(), 1, "the request was not executed");
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn delay_delays_the_response(mock: Mock) {
    mock.add_fault(json!({"kind": "delay", "delay_ms": 60_000}))
        .await;
    let client = mock.open();
    let delayed = tokio::time::timeout(Duration::from_millis(50), client.get("/v1/jobs"));
    assert!(delayed.await.is_err(), "the response was not delayed");
    mock.add_fault(json!({"kind": "delay", "delay_ms": 1}))
        .await;
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn a_fault_applies_once_or_as_often_as_times_says(mock: Mock) {
    for (fault, times) in [
        (json!({"kind": "status_503"}), 1),
        (json!({"kind": "status_503", "times": 3}), 3),
    ] {
        mock.add_fault(fault).await;
        for _ in 0..times {
            mock.open().get("/v1/jobs").await.expect(503);
        }
        for _ in 0..5 {
            mock.open().get("/v1/jobs").await.expect(200);
        }
    }
}

async fn a_fault_applies_to_its_operation_only(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    mock.add_fault(json!({"kind": "status_503", "operation": "jobs_status"}))
        .await;
    let open = mock.open();
    open.get(&format!("/v1/jobs/{id}")).await.expect(200);
    open.get("/v1/jobs").await.expect(200);
    open.post(IMAGE, image()).await.expect(202);
    open.get(&format!("/v1/jobs/{id}/status")).await.expect(503);
    open.get(&format!("/v1/jobs/{id}/status")).await.expect(200);
}

async fn a_fault_applies_to_its_surface_only(mock: Mock) {
    mock.add_fault(json!({"kind": "status_503", "surface": "developer"}))
        .await;
    mock.open().get("/v1/jobs").await.expect(200);
    mock.developer().get("/v1/jobs").await.expect(503);
    mock.developer().get("/v1/jobs").await.expect(200);
    mock.add_fault(json!({"kind": "status_503", "surface": "open", "operation": "jobs_list"}))
        .await;
    mock.developer().get("/v1/jobs").await.expect(200);
    mock.open().get("/v1/jobs").await.expect(503);
}

async fn a_fault_without_a_filter_applies_to_all_operations(mock: Mock) {
    mock.add_fault(json!({"kind": "status_503", "times": 1_000}))
        .await;
    mock.open().get("/v1/jobs").await.expect(503);
    mock.developer().get("/v1/jobs").await.expect(503);
    mock.open().post(VIDEO, video()).await.expect(503);
    mock.control().get("/clock").await.expect(200);
}

async fn faults_can_be_removed(mock: Mock) {
    mock.add_fault(json!({"kind": "status_503", "times": 1_000}))
        .await;
    mock.open().get("/v1/jobs").await.expect(503);
    mock.control()
        .send("DELETE", "/faults", None, "".into())
        .await
        .expect_success();
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn random_faults_are_reproducible_by_seed(mock: Mock) {
    let mut runs = Vec::new();
    for seed in [7, 7] {
        let mock = mock.start_another(Setup::default().seed(seed)).await;
        mock.add_fault(json!({"kind": "status_503", "times": 1_000, "probability": 0.5}))
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
