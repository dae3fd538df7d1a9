//! Signing secrets and their rotation.

use super::*;

on_every_frontend! {
    the_secret_has_its_fingerprint,
    rotation_returns_a_new_secret_and_the_expiry_of_the_previous_one,
    each_workspace_has_its_own_secret,
    reset_restores_the_first_secret,
}

on_every_socket_frontend! {
    both_secrets_sign_for_a_day_after_a_rotation,
    a_second_rotation_retires_the_oldest_secret,
    a_retry_assert_signed_with_what_is_good_at_its_time,
}

async fn rotate(mock: &Mock) -> Value {
    let response = mock.developer().post_empty(ROTATE).await;
    assert!([200, 201].contains(&response.status()), "{response:?}");
    response.data()
}

async fn the_secret_has_its_fingerprint(mock: Mock) {
    let first = mock.developer().get_data(SECRET).await;
    let secret = text(&first["secret"]);
    assert!(secret.len() >= 16, "{} characters", secret.len());
    assert_eq!(first["fingerprint"], fingerprint(&secret));
    assert!(
        first["rotation"]["previous_valid_until"].is_null(),
        "{first}"
    );
    assert_eq!(mock.developer().get_data(SECRET).await, first);
}

async fn rotation_returns_a_new_secret_and_the_expiry_of_the_previous_one(mock: Mock) {
    let before = secret_of(&mock.developer()).await;
    let rotated = rotate(&mock).await;
    let secret = text(&rotated["secret"]);
    assert_ne!(secret, before);
    assert_eq!(rotated["fingerprint"], fingerprint(&secret));
    let until = text(&rotated["rotation"]["previous_valid_until"]);
    // The clock starts at 2027-01-15T08:00:00Z.
    assert!(until.starts_with("2027-01-16T08:00:00"), "{until}");
    let read = mock.developer().get_data(SECRET).await;
    assert_eq!(read["secret"], rotated["secret"]);
    assert_eq!(
        read["rotation"]["previous_valid_until"],
        rotated["rotation"]["previous_valid_until"]
    );
    mock.advance(86_401).await;
    let read = mock.developer().get_data(SECRET).await;
    assert!(read["rotation"]["previous_valid_until"].is_null(), "{read}");
    assert_eq!(read["secret"], rotated["secret"]);
}

async fn each_workspace_has_its_own_secret(mock: Mock) {
    let others = ["svc_dev_other", "svc_team_demo"].map(|key| mock.developer_as(key));
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

async fn reset_restores_the_first_secret(mock: Mock) {
    let before = secret_of(&mock.developer()).await;
    rotate(&mock).await;
    mock.control().post_empty("/reset").await;
    assert_eq!(secret_of(&mock.developer()).await, before);
}

async fn next_delivery(mock: &Mock, receiver: &Receiver) -> Delivery {
    let before = receiver.deliveries().len();
    submit_video_with_webhook(mock, "a red fox").await;
    mock.advance(8).await;
    receiver.wait_for(before + 1).await.pop().unwrap()
}

async fn both_secrets_sign_for_a_day_after_a_rotation(mock: Mock, receiver: Receiver) {
    let old = secret_of(&mock.developer()).await;
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&old]);
    let new = text(&rotate(&mock).await["secret"]);
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&new, &old]);
    mock.advance(86_400 - 8 - 9).await;
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&new, &old]);
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&new]);
}

async fn a_second_rotation_retires_the_oldest_secret(mock: Mock, receiver: Receiver) {
    let second = text(&rotate(&mock).await["secret"]);
    mock.advance(3_600).await;
    let third = text(&rotate(&mock).await["secret"]);
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&third, &second]);
    mock.advance(86_400 - 3_600).await;
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&third, &second]);
    mock.advance(3_600).await;
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&third]);
}

async fn a_retry_assert_signed_with_what_is_good_at_its_time(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500), Reply::Status(204)]);
    let old = secret_of(&mock.developer()).await;
    next_delivery(&mock, &receiver)
        .await
        .assert_signed_with(&[&old]);
    wait_for_outcomes(&mock, 1).await;
    let new = text(&rotate(&mock).await["secret"]);
    mock.advance(30).await;
    receiver.wait_for(2).await[1].assert_signed_with(&[&new, &old]);
}
