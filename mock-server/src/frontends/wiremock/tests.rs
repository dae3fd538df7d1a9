use std::time::Duration;

use serde_json::json;
use svc_sdk::contract::{JobStatus, Plan};
use wiremock::matchers::{method, path};

use super::*;
use crate::clock::Speed;
use crate::frontends::testing::{get, image, post};

async fn submit(service: &MockService) -> crate::frontends::testing::RawMessage {
    post(service.base_url(), "/v1/image-router/generate", image("async")).await
}

#[tokio::test]
async fn a_submit_is_processed_once_and_visible_through_the_methods() {
    let service = MockService::builder().clock_manual().plan(Plan::Pro).start().await;
    let receipt = submit(&service).await;
    assert_eq!(receipt.status(), 202);
    assert!(receipt.header("x-svc-request-id").is_some());
    assert_eq!(receipt.header("ratelimit-limit"), Some("300"));
    service.advance(Duration::from_secs(5)).unwrap();
    let jobs = service.jobs();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0]["status"], JobStatus::Completed.as_str());
    assert_eq!(service.requests(0).len(), 1);
}

#[tokio::test]
async fn mocks_of_a_test_take_precedence_over_the_service() {
    let service = MockService::start().await;
    Mock::given(method("GET"))
        .and(path("/v1/jobs"))
        .respond_with(ResponseTemplate::new(418))
        .up_to_n_times(1)
        .expect(1)
        .mount(service.open_server())
        .await;
    assert_eq!(get(service.base_url(), "/v1/jobs").await.status(), 418);
    assert!(service.requests(0).is_empty());
    assert_eq!(submit(&service).await.status(), 202);
    assert_eq!(get(service.base_url(), "/v1/jobs").await.status(), 200);
}

#[tokio::test]
async fn concurrent_requests_get_their_own_responses() {
    let service = MockService::start().await;
    let submits: Vec<_> = (0..20)
        .map(|index| {
            let url = service.base_url().to_owned();
            tokio::spawn(async move {
                let body = json!({
                    "model": "image-i", "prompt": "a fox", "metadata": {"index": index},
                });
                let receipt = post(&url, "/v1/image-router/generate", body).await.json();
                (index, receipt["data"]["job"]["id"].as_str().unwrap().to_owned())
            })
        })
        .collect();
    for submit in submits {
        let (index, id) = submit.await.unwrap();
        let job = get(service.base_url(), &format!("/v1/jobs/{id}")).await.json();
        assert_eq!(job["data"]["metadata"]["index"], index);
    }
}

#[tokio::test]
async fn a_sync_submit_does_not_block_other_requests() {
    let service = MockService::builder().speed(Speed::new(20.0).unwrap()).start().await;
    let url = service.base_url().to_owned();
    let path = "/v1/image-router/generate";
    let pending = tokio::spawn(async move { post(&url, path, image("sync")).await });
    while service.jobs().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(service.base_url(), "/v1/jobs").await.status(), 200);
    assert!(!pending.is_finished());
    let response = pending.await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(service.jobs()[0]["status"], "completed");
}
