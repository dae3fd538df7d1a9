//! Attempts: ten at most, whatever goes wrong, and none after.

use serde_json::Value;
use svc_tests::{Mock, Receiver, Reply, on_every_face_that_sends};

use super::{ATTEMPTS, attempts_until, secret_of, settled, told_video};

on_every_face_that_sends! {
    any_2xx_ends_it,
    whatever_is_no_2xx_is_tried_ten_times,
    a_redirect_is_not_followed,
    a_connection_that_breaks_is_tried_again,
    a_receiver_that_does_not_answer_is_tried_again: patience_ms(50),
    the_first_retry_comes_after_30_seconds,
    retry_after_is_honoured_up_to_an_hour,
    each_attempt_is_signed_anew_over_the_same_bytes,
    a_delivery_shows_on_its_job,
    the_status_of_the_job_is_its_own,
    nothing_leaves_the_machine_without_a_route,
}

async fn job(mock: &Mock, id: &str) -> Value {
    mock.developer()
        .get(&format!("/v1/jobs/{id}"))
        .await
        .expect(200)
        .data()
}

async fn any_2xx_ends_it(mock: Mock, receiver: Receiver) {
    for (before, status) in [200, 201, 202, 204, 299].into_iter().enumerate() {
        receiver.answers([Reply::Status(status)]);
        told_video(&mock, "a red fox").await;
        mock.advance(8).await;
        receiver.expect(before + 1).await;
        settled(&mock, before + 1).await;
        mock.advance(100_000).await;
        receiver.expect(before + 1).await;
    }
}

async fn whatever_is_no_2xx_is_tried_ten_times(mock: Mock, receiver: Receiver) {
    let mut before = 0;
    for status in [400, 404, 410, 418, 500, 503] {
        receiver.answers([Reply::Status(status)]);
        let id = told_video(&mock, "a red fox").await;
        mock.advance(8).await;
        settled(&mock, before + 1).await;
        attempts_until(&mock, &receiver, before + ATTEMPTS).await;
        settled(&mock, before + ATTEMPTS).await;
        mock.advance(1_000_000).await;
        before += ATTEMPTS;
        receiver.expect(before).await;
        let delivery = &job(&mock, &id).await["webhook_delivery"];
        let ended = ["failed", "exhausted"].contains(&delivery["status"].as_str().unwrap());
        assert!(ended, "{delivery}");
        assert_eq!(delivery["last_status_code"], status);
        assert!(delivery["next_attempt_at"].is_null(), "{delivery}");
    }
}

async fn a_redirect_is_not_followed(mock: Mock, receiver: Receiver) {
    for (index, status) in [301, 302, 307, 308].into_iter().enumerate() {
        let onwards = format!("http://127.0.0.1:{}/elsewhere", receiver.port());
        receiver.answers([Reply::With(status, "location", onwards), Reply::Status(204)]);
        told_video(&mock, "a red fox").await;
        mock.advance(8).await;
        settled(&mock, 2 * index + 1).await;
        receiver.expect(2 * index + 1).await;
        mock.advance(3_600).await;
        let arrived = receiver.expect(2 * index + 2).await;
        assert!(
            arrived.iter().all(|one| one.path().starts_with("/svc")),
            "{arrived:?}"
        );
        settled(&mock, 2 * index + 2).await;
    }
}

async fn a_connection_that_breaks_is_tried_again(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Close, Reply::Close, Reply::Status(200)]);
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    let delivery = job(&mock, &id).await["webhook_delivery"].clone();
    assert_eq!(delivery["status"], "retrying");
    assert!(delivery["last_status_code"].is_null(), "{delivery}");
    assert!(delivery["last_error"].is_string(), "{delivery}");
    attempts_until(&mock, &receiver, 3).await;
    settled(&mock, 3).await;
    mock.advance(1_000_000).await;
    receiver.expect(3).await;
}

async fn a_receiver_that_does_not_answer_is_tried_again(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Hang]);
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    let delivery = job(&mock, &id).await["webhook_delivery"].clone();
    assert_eq!(delivery["status"], "retrying");
    assert!(delivery["last_status_code"].is_null(), "{delivery}");
    assert!(delivery["last_error"].is_string(), "{delivery}");
    attempts_until(&mock, &receiver, ATTEMPTS).await;
    settled(&mock, ATTEMPTS).await;
    mock.advance(1_000_000).await;
    receiver.expect(ATTEMPTS).await;
    assert_eq!(job(&mock, &id).await["status"], "completed");
}

async fn the_first_retry_comes_after_30_seconds(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Status(500)]);
    told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    mock.advance(29).await;
    receiver.expect(1).await;
    assert_eq!(mock.deliveries().await.len(), 1);
    mock.advance(1).await;
    receiver.expect(2).await;
}

async fn retry_after_is_honoured_up_to_an_hour(mock: Mock, receiver: Receiver) {
    let mut before = 0;
    for (status, told, seconds) in [(429, "600", 600), (503, "900", 900), (429, "999999", 3_600)] {
        receiver.answers([
            Reply::With(status, "retry-after", told.to_owned()),
            Reply::Status(204),
        ]);
        told_video(&mock, "a red fox").await;
        mock.advance(8).await;
        settled(&mock, before + 1).await;
        mock.advance(seconds - 1).await;
        assert_eq!(
            mock.deliveries().await.len(),
            before + 1,
            "{status} {told}: too early"
        );
        mock.advance(1).await;
        before += 2;
        receiver.expect(before).await;
        settled(&mock, before).await;
    }
}

async fn each_attempt_is_signed_anew_over_the_same_bytes(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Status(500)]);
    told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    attempts_until(&mock, &receiver, ATTEMPTS).await;
    let secret = secret_of(&mock.developer()).await;
    let arrived = receiver.arrived();
    for delivery in &arrived {
        delivery.is_signed_with(&[&secret]);
        assert_eq!(delivery.body(), arrived[0].body());
    }
    let times: Vec<_> = arrived.iter().map(svc_tests::Delivery::timestamp).collect();
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
}

async fn a_delivery_shows_on_its_job(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Status(500), Reply::Status(404)]);
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    let fingerprint = receiver.expect(1).await[0]
        .header("x-svc-webhook-secret-fingerprint")
        .to_owned();
    settled(&mock, 1).await;
    let delivery = job(&mock, &id).await["webhook_delivery"].clone();
    assert_eq!(delivery["status"], "retrying");
    assert!(delivery["next_attempt_at"].is_string(), "{delivery}");
    assert_eq!(delivery["last_status_code"], 500);
    assert_eq!(delivery["attempts"], 1);
    assert_eq!(delivery["signing_secret_fingerprint"], fingerprint);
    mock.advance(30).await;
    settled(&mock, 2).await;
    let delivery = job(&mock, &id).await["webhook_delivery"].clone();
    assert_eq!(delivery["last_status_code"], 404);
    assert_eq!(delivery["attempts"], 2);
}

async fn the_status_of_the_job_is_its_own(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Status(500)]);
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    attempts_until(&mock, &receiver, ATTEMPTS).await;
    settled(&mock, ATTEMPTS).await;
    assert_eq!(job(&mock, &id).await["status"], "completed");
    let result = mock.open().get(&format!("/v1/jobs/{id}/result")).await;
    assert_eq!(result.data()["artifacts"].as_array().unwrap().len(), 1);
}

async fn nothing_leaves_the_machine_without_a_route(mock: Mock, receiver: Receiver) {
    let body = serde_json::json!({"mode": "webhook", "webhook_url": "https://other.example.com/"});
    let body = super::with(super::video(), body);
    let id = super::submit(&mock.open(), super::VIDEO, body).await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    assert_eq!(
        job(&mock, &id).await["webhook_delivery"]["last_error"],
        "no_route"
    );
    assert!(receiver.arrived().is_empty());
}
