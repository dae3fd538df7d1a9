use wiremock::matchers::{method, path};

use super::*;
use crate::clock::Speed;
use crate::frontends::testing::{get, image, post};

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
    let submit = post(service.base_url(), "/v1/image-router/generate", image("async")).await;
    assert_eq!(submit.status(), 202);
    assert_eq!(service.jobs().len(), 1);
    assert_eq!(get(service.base_url(), "/v1/jobs").await.status(), 200);
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
