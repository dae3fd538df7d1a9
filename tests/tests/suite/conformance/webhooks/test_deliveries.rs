//! Test deliveries: a dummy, signed like the others, to a URL given in the call.

use serde_json::json;
use svc_tests::{Mock, Receiver, Reply, on_every_face, on_every_face_that_sends};

use super::{TEST, secret_of, settled};

on_every_face! {
    a_test_needs_a_public_url,
}

on_every_face_that_sends! {
    a_test_is_a_dummy_that_is_signed,
    a_test_tells_of_no_job,
    a_test_that_is_refused_says_so,
}

async fn a_test_needs_a_public_url(mock: Mock) {
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
        let answer = mock.developer().post(TEST, body.clone()).await;
        assert_eq!(answer.status(), 400, "{body} got\n{answer:?}");
        answer.refused(400, "invalid_request");
    }
    assert!(mock.deliveries().await.is_empty());
}

async fn a_test_is_a_dummy_that_is_signed(mock: Mock, receiver: Receiver) {
    let body = json!({"url": "https://hooks.example.com/try"});
    let answer = mock.developer().post(TEST, body).await;
    assert!((200..300).contains(&answer.status()), "{answer:?}");
    mock.advance(0).await;
    let arrived = receiver.expect(1).await;
    assert_eq!(arrived[0].path(), "/try");
    let secret = secret_of(&mock.developer()).await;
    arrived[0].is_signed_with(&[&secret]);
    let event = arrived[0].json();
    assert_eq!(event["event"], "webhook.test");
    assert!(event.get("job_id").is_none(), "{event}");
    settled(&mock, 1).await;
    mock.advance(100_000).await;
    receiver.expect(1).await;
}

async fn a_test_tells_of_no_job(mock: Mock, receiver: Receiver) {
    let id = super::told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    receiver.expect(1).await;
    settled(&mock, 1).await;
    let body = json!({"url": "https://hooks.example.com/try"});
    mock.developer().post(TEST, body).await;
    mock.advance(0).await;
    let event = receiver.expect(2).await[1].json();
    assert!(
        !event.to_string().contains(&id),
        "never a replay of a real job: {event}"
    );
}

async fn a_test_that_is_refused_says_so(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Status(404)]);
    let body = json!({"url": "https://hooks.example.com/try"});
    mock.developer().post(TEST, body).await;
    mock.advance(0).await;
    receiver.expect(1).await;
    let attempts = settled(&mock, 1).await;
    assert_eq!(attempts[0]["event"], "webhook.test");
    assert_eq!(attempts[0]["status"], 404);
}
