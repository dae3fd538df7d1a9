//! Redeliveries of the events of jobs, and test deliveries.

use super::*;

on_every_socket_frontend! {
    a_test_event_is_signed,
    a_failed_test_shows_its_status,
    redelivery_sends_the_event_with_a_new_signature,
    redelivery_works_after_the_last_attempt,
    redelivery_does_not_count_as_an_attempt,
}

on_every_frontend! {
    redelivery_requires_an_ended_job_with_a_webhook,
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

async fn redeliver(mock: &Mock, id: &str) -> Response {
    let path = format!("/v1/jobs/{id}/webhook/redeliver");
    mock.developer().post_empty(&path).await
}

async fn redelivery_requires_an_ended_job_with_a_webhook(mock: Mock) {
    let response = redeliver(&mock, "job_none").await;
    response.expect_error(404, "job_not_found");
    let without_webhook = submit(&mock.open(), VIDEO, video()).await;
    let with_webhook = submit_video_with_webhook(&mock, "a red fox").await;
    for step in [0, 3] {
        mock.advance(step).await;
        let response = redeliver(&mock, &with_webhook).await;
        response.expect_error(409, "job_not_terminal");
    }
    mock.advance(5).await;
    let response = redeliver(&mock, &without_webhook).await;
    response.expect_error(409, "webhook_not_configured");
}

async fn redelivery_sends_the_event_with_a_new_signature(mock: Mock, receiver: Receiver) {
    let id = submit_video_with_webhook(&mock, "[mock:fail]").await;
    mock.advance(8).await;
    wait_for_outcomes(&mock, 1).await;
    mock.advance(500).await;
    redeliver(&mock, &id).await.expect_success();
    mock.advance(0).await;
    let deliveries = receiver.wait_for(2).await;
    assert_eq!(deliveries[1].json(), deliveries[0].json());
    assert_eq!(deliveries[1].path(), deliveries[0].path());
    assert_eq!(deliveries[1].timestamp(), deliveries[0].timestamp() + 500);
    let secret = secret_of(&mock.developer()).await;
    deliveries[1].assert_signed_with(&[&secret]);
}

async fn redelivery_works_after_the_last_attempt(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500)]);
    let id = complete_video_with_webhook(&mock, 1).await;
    advance_until_attempts(&mock, &receiver, ATTEMPTS).await;
    for extra in 1..=3 {
        redeliver(&mock, &id).await.expect(202);
        mock.advance(0).await;
        receiver.wait_for(ATTEMPTS + extra).await;
        wait_for_outcomes(&mock, ATTEMPTS + extra).await;
        assert_no_more_attempts(&mock, &receiver, ATTEMPTS + extra).await;
    }
}

async fn redelivery_does_not_count_as_an_attempt(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500)]);
    let id = complete_video_with_webhook(&mock, 1).await;
    redeliver(&mock, &id).await.expect(202);
    mock.advance(0).await;
    receiver.wait_for(2).await;
    wait_for_outcomes(&mock, 2).await;
    advance_until_attempts(&mock, &receiver, ATTEMPTS + 1).await;
    assert_no_more_attempts(&mock, &receiver, ATTEMPTS + 1).await;
}
