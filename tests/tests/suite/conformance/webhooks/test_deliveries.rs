//! Test deliveries of webhooks.

use serde_json::json;
use svc_tests::{Mock, Receiver, Reply, on_every_frontend, on_every_socket_frontend};

use super::{
    TEST, assert_no_more_attempts, complete_video_with_webhook, secret_of, wait_for_outcomes,
};

on_every_frontend! {
    a_public_url_is_required,
}

on_every_socket_frontend! {
    a_test_event_is_signed,
    a_test_event_contains_no_job,
    a_failed_test_shows_its_status,
}

async fn a_public_url_is_required(mock: Mock) {
    for body in [
        json!({}),
        json!({"url": null}),
        json!({"url": 7}),
        json!({"url": ""}),
        json!({"url": "http://hooks.example.com/"}),
        json!({"url": "https://localhost/"}),
        json!({"url": "https://192.168.0.1/"}),
        json!({"url": format!("https://hooks.example.com/{}", "x".repeat(2_048))}),
    ] {
        mock.developer()
            .post_error(TEST, body.clone(), 400, "invalid_request")
            .await;
    }
    assert!(mock.deliveries().await.is_empty());
}

async fn a_test_event_is_signed(mock: Mock, receiver: Receiver) {
    let body = json!({"url": "https://hooks.example.com/try"});
    mock.developer().post(TEST, body).await.expect_success();
    mock.advance(0).await;
    let deliveries = receiver.wait_for(1).await;
    assert_eq!(deliveries[0].path(), "/try");
    let secret = secret_of(&mock.developer()).await;
    deliveries[0].assert_signed_with(&[&secret]);
    let event = deliveries[0].json();
    assert_eq!(event["event"], "webhook.test");
    assert!(event.get("job_id").is_none(), "{event}");
    wait_for_outcomes(&mock, 1).await;
    assert_no_more_attempts(&mock, &receiver, 1).await;
}

async fn a_test_event_contains_no_job(mock: Mock, receiver: Receiver) {
    let id = complete_video_with_webhook(&mock, 1).await;
    let body = json!({"url": "https://hooks.example.com/try"});
    mock.developer().post(TEST, body).await;
    mock.advance(0).await;
    let event = receiver.wait_for(2).await[1].json();
    assert!(!event.to_string().contains(&id), "{event}");
}

async fn a_failed_test_shows_its_status(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(404)]);
    let body = json!({"url": "https://hooks.example.com/try"});
    mock.developer().post(TEST, body).await;
    mock.advance(0).await;
    receiver.wait_for(1).await;
    let attempts = wait_for_outcomes(&mock, 1).await;
    assert_eq!(attempts[0]["event"], "webhook.test");
    assert_eq!(attempts[0]["status"], 404);
}
