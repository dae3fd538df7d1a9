//! Events of jobs: one a job, at its end, signed.

use serde_json::{Value, json};
use svc_tests::{Delivery, Host, Mock, Receiver, on_every_face_that_sends};

use super::super::IMAGE;
use super::{HOOK, VIDEO, secret_of, settled, submit, text, told_video, video, with};

on_every_face_that_sends! {
    a_completed_job_is_told_once_with_its_artifacts,
    a_failed_job_is_told_with_its_error,
    a_canceled_job_is_told,
    nothing_is_told_before_the_end,
    nothing_is_told_of_a_job_without_a_webhook,
    each_job_has_an_event_of_its_own,
    an_event_is_signed_with_the_secret_of_its_workspace,
    what_is_told_is_what_the_result_says,
}

fn is_a_post_to_the_hook(delivery: &Delivery) {
    assert_eq!(delivery.method(), "POST");
    assert_eq!(delivery.path(), "/svc?tenant=7");
}

async fn only(mock: &Mock, receiver: &Receiver) -> Value {
    let arrived = receiver.expect(1).await;
    is_a_post_to_the_hook(&arrived[0]);
    let secret = secret_of(&mock.developer()).await;
    arrived[0].is_signed_with(&[&secret]);
    arrived[0].json()
}

async fn a_completed_job_is_told_once_with_its_artifacts(mock: Mock, receiver: Receiver) {
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    let event = only(&mock, &receiver).await;
    assert_eq!(event["event"], "job.completed");
    assert_eq!(event["job_id"], id);
    assert_eq!(event["status"], "OK");
    assert!(event["request_id"].is_string(), "{event}");
    assert!(event["error"].is_null(), "{event}");
    let artifacts = event["payload"]["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 1);
    for field in ["id", "url", "content_type"] {
        assert!(artifacts[0][field].is_string(), "{event}");
    }
    assert_eq!(
        artifacts[0]["type"], "video",
        "`type`, where a result has `media_type`"
    );
    settled(&mock, 1).await;
    mock.advance(100_000).await;
    receiver.expect(1).await;
}

async fn a_failed_job_is_told_with_its_error(mock: Mock, receiver: Receiver) {
    let id = told_video(&mock, "[mock:fail=content_rejected]").await;
    mock.advance(8).await;
    let event = only(&mock, &receiver).await;
    assert_eq!(event["event"], "job.failed");
    assert_eq!(event["job_id"], id);
    assert_eq!(event["status"], "ERROR");
    assert_eq!(event["error"]["code"], "content_rejected");
    assert!(event["error"]["message"].is_string(), "{event}");
}

async fn a_canceled_job_is_told(mock: Mock, receiver: Receiver) {
    let id = told_video(&mock, "a red fox").await;
    let cancel = format!("/v1/jobs/{id}/cancel");
    for _ in 0..2 {
        mock.open().post_nothing(&cancel).await.expect(200);
    }
    mock.advance(0).await;
    let event = only(&mock, &receiver).await;
    assert_eq!(event["event"], "job.canceled");
    assert_eq!(event["job_id"], id);
    assert_eq!(event["status"], "ERROR");
    assert!(event["error"].is_object(), "{event}");
    settled(&mock, 1).await;
    mock.advance(100).await;
    receiver.expect(1).await;
}

async fn nothing_is_told_before_the_end(mock: Mock, receiver: Receiver) {
    told_video(&mock, "[mock:seconds=100]").await;
    for _ in 0..99 {
        mock.advance(1).await;
    }
    assert!(mock.deliveries().await.is_empty());
    mock.advance(1).await;
    receiver.expect(1).await;
}

async fn nothing_is_told_of_a_job_without_a_webhook(mock: Mock, receiver: Receiver) {
    submit(&mock.open(), VIDEO, video()).await;
    let waited = with(video(), json!({"mode": "sync", "wait_timeout_seconds": 0}));
    submit(&mock.open(), VIDEO, waited).await;
    mock.advance(8).await;
    assert!(mock.deliveries().await.is_empty());
    assert!(receiver.arrived().is_empty());
}

async fn each_job_has_an_event_of_its_own(mock: Mock, receiver: Receiver) {
    let first = told_video(&mock, "a red fox").await;
    let second = told_video(&mock, "[mock:fail]").await;
    let hook = json!({"mode": "webhook", "webhook_url": "https://hooks.example.com/images"});
    let image = with(
        json!({"model": "image-i", "prompt": "a fox", "num_images": 3}),
        hook,
    );
    let third = submit(&mock.open(), IMAGE, image).await;
    mock.advance(8).await;
    let arrived = receiver.expect(3).await;
    let told: Vec<_> = [&first, &second, &third]
        .into_iter()
        .map(|id| {
            let of_job = |delivery: &&Delivery| delivery.json()["job_id"] == *id.as_str();
            let found: Vec<_> = arrived.iter().filter(of_job).collect();
            assert_eq!(found.len(), 1, "one event a job");
            (text(&found[0].json()["event"]), found[0].path().to_owned())
        })
        .collect();
    let query = "/svc?tenant=7";
    assert_eq!(told[0], ("job.completed".to_owned(), query.to_owned()));
    assert_eq!(told[1], ("job.failed".to_owned(), query.to_owned()));
    assert_eq!(told[2], ("job.completed".to_owned(), "/images".to_owned()));
}

async fn an_event_is_signed_with_the_secret_of_its_workspace(mock: Mock, receiver: Receiver) {
    let key = |kind: &'static str| json!({"kind": kind, "workspace": "ws_elsewhere"});
    let open = mock.new_key(key("open")).await;
    let developer = mock.new_key(key("developer")).await;
    let developer = mock.caller(Host::Developer).bearer(&developer);
    let body = with(video(), json!({"mode": "webhook", "webhook_url": HOOK}));
    submit(&mock.caller(Host::Open).bearer(&open), VIDEO, body).await;
    mock.advance(8).await;
    let secret = secret_of(&developer).await;
    assert_ne!(
        secret,
        secret_of(&mock.developer()).await,
        "a secret a workspace"
    );
    assert!(
        !secret.contains(&open) && !open.contains(&secret),
        "not the API key"
    );
    receiver.expect(1).await[0].is_signed_with(&[&secret]);
}

async fn what_is_told_is_what_the_result_says(mock: Mock, receiver: Receiver) {
    let id = told_video(&mock, "a red fox").await;
    mock.advance(8).await;
    let event = only(&mock, &receiver).await;
    let result = mock
        .open()
        .get(&format!("/v1/jobs/{id}/result"))
        .await
        .expect(200)
        .data();
    let told = &event["payload"]["artifacts"][0];
    let read = &result["artifacts"][0];
    for field in ["id", "url", "content_type"] {
        assert_eq!(told[field], read[field]);
    }
    assert_eq!(told["type"], read["media_type"]);
}
