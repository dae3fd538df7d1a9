//! Redelivery: the real event once more, with a fresh signature, outside of the automatic attempts.

use svc_tests::{Mock, Receiver, Reply, on_every_face, on_every_face_that_sends};

use super::{ATTEMPTS, VIDEO, attempts_until, secret_of, settled, submit, told_video, video};

on_every_face! {
    a_job_without_a_webhook_has_nothing_to_redeliver,
    a_job_in_flight_has_nothing_to_redeliver,
    an_unknown_job_has_nothing_to_redeliver,
}

on_every_face_that_sends! {
    the_same_event_is_sent_again_with_a_fresh_signature,
    it_works_after_the_attempts_are_exhausted_and_uses_none_of_them,
    it_uses_up_no_automatic_attempt,
}

async fn redeliver(mock: &Mock, id: &str) -> svc_tests::Answer {
    let path = format!("/v1/jobs/{id}/webhook/redeliver");
    mock.developer().post_nothing(&path).await
}

async fn a_job_without_a_webhook_has_nothing_to_redeliver(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    mock.advance(8).await;
    redeliver(&mock, &id)
        .await
        .refused(409, "webhook_not_configured");
}

async fn a_job_in_flight_has_nothing_to_redeliver(mock: Mock) {
    let id = told_video(&mock, "a red fox").await;
    for _ in 0..2 {
        redeliver(&mock, &id).await.refused(409, "job_not_terminal");
        mock.advance(3).await;
    }
}

async fn an_unknown_job_has_nothing_to_redeliver(mock: Mock) {
    redeliver(&mock, "job_none")
        .await
        .refused(404, "job_not_found");
}

async fn the_same_event_is_sent_again_with_a_fresh_signature(mock: Mock, receiver: Receiver) {
    let id = told_video(&mock, "[mock:fail]").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    mock.advance(500).await;
    let answer = redeliver(&mock, &id).await;
    assert!((200..300).contains(&answer.status()), "{answer:?}");
    mock.advance(0).await;
    let arrived = receiver.expect(2).await;
    assert_eq!(
        arrived[1].json(),
        arrived[0].json(),
        "the real event, as it was"
    );
    assert_eq!(arrived[1].path(), arrived[0].path());
    assert_eq!(arrived[1].timestamp(), arrived[0].timestamp() + 500);
    let secret = secret_of(&mock.developer()).await;
    arrived[1].is_signed_with(&[&secret]);
}

async fn it_works_after_the_attempts_are_exhausted_and_uses_none_of_them(
    mock: Mock,
    receiver: Receiver,
) {
    receiver.answers([Reply::Status(500)]);
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    attempts_until(&mock, &receiver, ATTEMPTS).await;
    settled(&mock, ATTEMPTS).await;
    for extra in 1..=3 {
        redeliver(&mock, &id).await.expect(202);
        mock.advance(0).await;
        receiver.expect(ATTEMPTS + extra).await;
        settled(&mock, ATTEMPTS + extra).await;
        mock.advance(1_000_000).await;
        receiver.expect(ATTEMPTS + extra).await;
    }
}

async fn it_uses_up_no_automatic_attempt(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Status(500)]);
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    settled(&mock, 1).await;
    redeliver(&mock, &id).await.expect(202);
    mock.advance(0).await;
    receiver.expect(2).await;
    settled(&mock, 2).await;
    attempts_until(&mock, &receiver, ATTEMPTS + 1).await;
    settled(&mock, ATTEMPTS + 1).await;
    mock.advance(1_000_000).await;
    receiver.expect(ATTEMPTS + 1).await;
}
