//! Attempts to deliver webhook events.

use super::super::job;
use super::*;

on_every_socket_frontend! {
    any_2xx_ends_the_delivery,
    other_statuses_are_retried_up_to_ten_attempts,
    redirects_are_not_followed,
    a_closed_connection_is_retried,
    a_timeout_is_retried: webhook_timeout_ms(50),
    the_first_retry_comes_after_30_seconds,
    retry_after_is_honoured_up_to_an_hour,
    each_attempt_has_a_new_signature_of_the_same_body,
    the_job_shows_its_delivery,
    urls_without_a_route_are_not_called,
}

async fn webhook_delivery(mock: &Mock, id: &str) -> Value {
    job(&mock.developer(), id).await["webhook_delivery"].take()
}

async fn any_2xx_ends_the_delivery(mock: Mock, receiver: Receiver) {
    for (before, status) in [200, 201, 202, 204, 299].into_iter().enumerate() {
        receiver.set_replies([Reply::Status(status)]);
        complete_video_with_webhook(&mock, before + 1).await;
        assert_no_more_attempts(&mock, &receiver, before + 1).await;
    }
}

async fn other_statuses_are_retried_up_to_ten_attempts(mock: Mock, receiver: Receiver) {
    let mut before = 0;
    for status in [400, 404, 410, 418, 500, 503] {
        receiver.set_replies([Reply::Status(status)]);
        let id = complete_video_with_webhook(&mock, before + 1).await;
        advance_until_attempts(&mock, &receiver, before + ATTEMPTS).await;
        mock.advance(1_000_000).await;
        before += ATTEMPTS;
        receiver.wait_for(before).await;
        let delivery = webhook_delivery(&mock, &id).await;
        let has_ended = ["failed", "exhausted"].contains(&delivery["status"].as_str().unwrap());
        assert!(has_ended, "{delivery}");
        assert_eq!(delivery["last_status_code"], status);
        assert!(delivery["next_attempt_at"].is_null(), "{delivery}");
    }
}

async fn redirects_are_not_followed(mock: Mock, receiver: Receiver) {
    for (index, status) in [301, 302, 307, 308].into_iter().enumerate() {
        let location = format!("http://127.0.0.1:{}/elsewhere", receiver.port());
        receiver.set_replies([
            Reply::StatusWithHeader(status, "location", location),
            Reply::Status(204),
        ]);
        complete_video_with_webhook(&mock, 2 * index + 1).await;
        receiver.wait_for(2 * index + 1).await;
        mock.advance(3_600).await;
        let deliveries = receiver.wait_for(2 * index + 2).await;
        assert!(
            deliveries.iter().all(|one| one.path().starts_with("/svc")),
            "{deliveries:?}"
        );
        wait_for_outcomes(&mock, 2 * index + 2).await;
    }
}

async fn a_closed_connection_is_retried(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Close, Reply::Close, Reply::Status(200)]);
    let id = complete_video_with_webhook(&mock, 1).await;
    let delivery = webhook_delivery(&mock, &id).await;
    assert_eq!(delivery["status"], "retrying");
    assert!(delivery["last_status_code"].is_null(), "{delivery}");
    assert!(delivery["last_error"].is_string(), "{delivery}");
    advance_until_attempts(&mock, &receiver, 3).await;
    assert_no_more_attempts(&mock, &receiver, 3).await;
}

async fn a_timeout_is_retried(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Hang]);
    let id = complete_video_with_webhook(&mock, 1).await;
    let delivery = webhook_delivery(&mock, &id).await;
    assert_eq!(delivery["status"], "retrying");
    assert!(delivery["last_status_code"].is_null(), "{delivery}");
    assert!(delivery["last_error"].is_string(), "{delivery}");
    advance_until_attempts(&mock, &receiver, ATTEMPTS).await;
    assert_no_more_attempts(&mock, &receiver, ATTEMPTS).await;
    assert_eq!(job(&mock.developer(), &id).await["status"], "completed");
}

async fn the_first_retry_comes_after_30_seconds(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500)]);
    complete_video_with_webhook(&mock, 1).await;
    mock.advance(29).await;
    receiver.wait_for(1).await;
    assert_eq!(mock.deliveries().await.len(), 1);
    mock.advance(1).await;
    receiver.wait_for(2).await;
}

async fn retry_after_is_honoured_up_to_an_hour(mock: Mock, receiver: Receiver) {
    let mut before = 0;
    for (status, value, seconds) in [(429, "600", 600), (503, "900", 900), (429, "999999", 3_600)] {
        receiver.set_replies([
            Reply::StatusWithHeader(status, "retry-after", value.to_owned()),
            Reply::Status(204),
        ]);
        complete_video_with_webhook(&mock, before + 1).await;
        mock.advance(seconds - 1).await;
        assert_eq!(
            mock.deliveries().await.len(),
            before + 1,
            "{status} {value}: too early"
        );
        mock.advance(1).await;
        before += 2;
        receiver.wait_for(before).await;
        wait_for_outcomes(&mock, before).await;
    }
}

async fn each_attempt_has_a_new_signature_of_the_same_body(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500)]);
    complete_video_with_webhook(&mock, 1).await;
    advance_until_attempts(&mock, &receiver, ATTEMPTS).await;
    let secret = secret_of(&mock.developer()).await;
    let deliveries = receiver.deliveries();
    for delivery in &deliveries {
        delivery.assert_signed_with(&[&secret]);
        assert_eq!(delivery.body(), deliveries[0].body());
    }
    let times: Vec<_> = deliveries.iter().map(Delivery::timestamp).collect();
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
}

async fn the_job_shows_its_delivery(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500), Reply::Status(404)]);
    let id = submit_video_with_webhook(&mock, "a red fox").await;
    mock.advance(8).await;
    let fingerprint = receiver.wait_for(1).await[0]
        .header("x-svc-webhook-secret-fingerprint")
        .to_owned();
    wait_for_outcomes(&mock, 1).await;
    let delivery = webhook_delivery(&mock, &id).await;
    assert_eq!(delivery["status"], "retrying");
    assert!(delivery["next_attempt_at"].is_string(), "{delivery}");
    assert_eq!(delivery["last_status_code"], 500);
    assert_eq!(delivery["attempts"], 1);
    assert_eq!(delivery["signing_secret_fingerprint"], fingerprint);
    mock.advance(30).await;
    wait_for_outcomes(&mock, 2).await;
    let delivery = webhook_delivery(&mock, &id).await;
    assert_eq!(delivery["last_status_code"], 404);
    assert_eq!(delivery["attempts"], 2);
}

async fn urls_without_a_route_are_not_called(mock: Mock, receiver: Receiver) {
    let body = json!({"mode": "webhook", "webhook_url": "https://other.example.com/"});
    let body = with(video(), body);
    let id = submit(&mock.open(), VIDEO, body).await;
    mock.advance(8).await;
    wait_for_outcomes(&mock, 1).await;
    assert_eq!(webhook_delivery(&mock, &id).await["last_error"], "no_route");
    assert!(receiver.deliveries().is_empty());
}
