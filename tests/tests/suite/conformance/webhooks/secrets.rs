//! The signing secret: read, rotated, and for a day after that the older one signs, too.

use serde_json::Value;
use svc_tests::{Host, Mock, Receiver, fingerprint, on_every_face, on_every_face_that_sends};

use super::{ROTATE, SECRET, secret_of, text, told_video};

on_every_face! {
    a_secret_is_read_with_its_fingerprint,
    a_rotation_makes_a_new_one_and_says_until_when_the_older_is_good,
    each_workspace_has_its_own,
    a_reset_brings_back_the_first_secret,
}

on_every_face_that_sends! {
    both_secrets_sign_for_a_day_newest_first,
    a_second_rotation_retires_the_secret_before_the_last_at_once,
    a_retry_is_signed_with_what_is_good_at_its_time,
}

async fn rotate(mock: &Mock) -> Value {
    let answer = mock.developer().post_nothing(ROTATE).await;
    assert!([200, 201].contains(&answer.status()), "{answer:?}");
    answer.data()
}

async fn a_secret_is_read_with_its_fingerprint(mock: Mock) {
    let first = mock.developer().get(SECRET).await.expect(200).data();
    let secret = text(&first["secret"]);
    assert!(secret.len() >= 16, "{} characters", secret.len());
    assert_eq!(first["fingerprint"], fingerprint(&secret));
    assert!(
        first["rotation"]["previous_valid_until"].is_null(),
        "{first}"
    );
    assert_eq!(mock.developer().get(SECRET).await.expect(200).data(), first);
}

async fn a_rotation_makes_a_new_one_and_says_until_when_the_older_is_good(mock: Mock) {
    let before = secret_of(&mock.developer()).await;
    let rotated = rotate(&mock).await;
    let secret = text(&rotated["secret"]);
    assert_ne!(secret, before);
    assert_eq!(rotated["fingerprint"], fingerprint(&secret));
    let until = text(&rotated["rotation"]["previous_valid_until"]);
    // The clock started at 2027-01-15T08:00:00Z.
    assert!(until.starts_with("2027-01-16T08:00:00"), "{until}");
    let read = mock.developer().get(SECRET).await.expect(200).data();
    assert_eq!(read["secret"], rotated["secret"]);
    assert_eq!(
        read["rotation"]["previous_valid_until"],
        rotated["rotation"]["previous_valid_until"]
    );
    mock.advance(86_401).await;
    let read = mock.developer().get(SECRET).await.expect(200).data();
    assert!(read["rotation"]["previous_valid_until"].is_null(), "{read}");
    assert_eq!(read["secret"], rotated["secret"]);
}

async fn each_workspace_has_its_own(mock: Mock) {
    let others =
        ["svc_dev_other", "svc_team_demo"].map(|key| mock.caller(Host::Developer).bearer(key));
    let before = [secret_of(&others[0]).await, secret_of(&others[1]).await];
    let ours = secret_of(&mock.developer()).await;
    assert_ne!(before[0], before[1]);
    assert!(!before.contains(&ours));
    rotate(&mock).await;
    assert_eq!(
        [secret_of(&others[0]).await, secret_of(&others[1]).await],
        before
    );
}

async fn a_reset_brings_back_the_first_secret(mock: Mock) {
    let before = secret_of(&mock.developer()).await;
    rotate(&mock).await;
    mock.control().post_nothing("/reset").await;
    assert_eq!(secret_of(&mock.developer()).await, before);
}

async fn told(mock: &Mock, receiver: &Receiver) -> svc_tests::Delivery {
    let before = receiver.arrived().len();
    told_video(mock, "a red fox").await;
    mock.advance(8).await;
    receiver.expect(before + 1).await.pop().unwrap()
}

async fn both_secrets_sign_for_a_day_newest_first(mock: Mock, receiver: Receiver) {
    let old = secret_of(&mock.developer()).await;
    told(&mock, &receiver).await.is_signed_with(&[&old]);
    let new = text(&rotate(&mock).await["secret"]);
    told(&mock, &receiver).await.is_signed_with(&[&new, &old]);
    mock.advance(86_400 - 8 - 9).await;
    told(&mock, &receiver).await.is_signed_with(&[&new, &old]);
    told(&mock, &receiver).await.is_signed_with(&[&new]);
}

async fn a_second_rotation_retires_the_secret_before_the_last_at_once(
    mock: Mock,
    receiver: Receiver,
) {
    let second = text(&rotate(&mock).await["secret"]);
    mock.advance(3_600).await;
    let third = text(&rotate(&mock).await["secret"]);
    told(&mock, &receiver)
        .await
        .is_signed_with(&[&third, &second]);
    mock.advance(86_400 - 3_600).await;
    told(&mock, &receiver)
        .await
        .is_signed_with(&[&third, &second]);
    mock.advance(3_600).await;
    told(&mock, &receiver).await.is_signed_with(&[&third]);
}

async fn a_retry_is_signed_with_what_is_good_at_its_time(mock: Mock, receiver: Receiver) {
    use svc_tests::Reply;

    receiver.answers([Reply::Status(500), Reply::Status(204)]);
    let old = secret_of(&mock.developer()).await;
    told(&mock, &receiver).await.is_signed_with(&[&old]);
    super::settled(&mock, 1).await;
    let new = text(&rotate(&mock).await["secret"]);
    mock.advance(30).await;
    receiver.expect(2).await[1].is_signed_with(&[&new, &old]);
}
