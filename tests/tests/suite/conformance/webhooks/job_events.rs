//! Webhook events of jobs.

use super::super::{IMAGE, job_result};
use super::*;

on_every_socket_frontend! {
    a_completed_job_sends_one_event_with_its_artifacts,
    a_failed_job_sends_its_error,
    a_canceled_job_sends_one_event,
    no_event_is_sent_before_the_end,
    a_job_without_a_webhook_sends_no_event,
    each_job_sends_its_own_event,
    events_are_signed_with_the_secret_of_the_workspace,
}

async fn single_event(mock: &Mock, receiver: &Receiver) -> Value {
    let deliveries = receiver.wait_for(1).await;
    assert_eq!(deliveries[0].method(), "POST");
    assert_eq!(deliveries[0].path(), "/svc?tenant=7");
    let secret = secret_of(&mock.developer()).await;
    deliveries[0].assert_signed_with(&[&secret]);
    deliveries[0].json()
}

async fn a_completed_job_sends_one_event_with_its_artifacts(mock: Mock, receiver: Receiver) {
    let id = submit_video_with_webhook(&mock, "a red fox").await;
    mock.advance(8).await;
    let event = single_event(&mock, &receiver).await;
    assert_eq!(event["event"], "job.completed");
    assert_eq!(event["job_id"], id);
    assert_eq!(event["status"], "OK");
    assert!(event["request_id"].is_string(), "{event}");
    assert!(event["error"].is_null(), "{event}");
    let artifacts = event["payload"]["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 1);
    let result = job_result(&mock.open(), &id).await["artifacts"][0].clone();
    for field in ["id", "url", "content_type"] {
        assert!(artifacts[0][field].is_string(), "{event}");
        assert_eq!(artifacts[0][field], result[field]);
    }
    // The field is `media_type` in the result.
    assert_eq!(artifacts[0]["type"], "video");
    assert_eq!(result["media_type"], "video");
    wait_for_outcomes(&mock, 1).await;
    assert_no_more_attempts(&mock, &receiver, 1).await;
}

async fn a_failed_job_sends_its_error(mock: Mock, receiver: Receiver) {
    let id = submit_video_with_webhook(&mock, "[mock:fail=content_rejected]").await;
    mock.advance(8).await;
    let event = single_event(&mock, &receiver).await;
    assert_eq!(event["event"], "job.failed");
    assert_eq!(event["job_id"], id);
    assert_eq!(event["status"], "ERROR");
    assert_eq!(event["error"]["code"], "content_rejected");
    assert!(event["error"]["message"].is_string(), "{event}");
}

async fn a_canceled_job_sends_one_event(mock: Mock, receiver: Receiver) {
    let id = submit_video_with_webhook(&mock, "a red fox").await;
    let cancel = format!("/v1/jobs/{id}/cancel");
    for _ in 0..2 {
        mock.open().post_empty(&cancel).await.expect(200);
    }
    mock.advance(0).await;
    let event = single_event(&mock, &receiver).await;
    assert_eq!(event["event"], "job.canceled");
    assert_eq!(event["job_id"], id);
    assert_eq!(event["status"], "ERROR");
    assert!(event["error"].is_object(), "{event}");
    wait_for_outcomes(&mock, 1).await;
    mock.advance(100).await;
    receiver.wait_for(1).await;
}

async fn no_event_is_sent_before_the_end(mock: Mock, receiver: Receiver) {
    submit_video_with_webhook(&mock, "[mock:seconds=100]").await;
    for _ in 0..99 {
        mock.advance(1).await;
    }
    assert!(mock.deliveries().await.is_empty());
    mock.advance(1).await;
    receiver.wait_for(1).await;
}

async fn a_job_without_a_webhook_sends_no_event(mock: Mock, receiver: Receiver) {
    submit(&mock.open(), VIDEO, video()).await;
    let waited = with(video(), json!({"mode": "sync", "wait_timeout_seconds": 0}));
    submit(&mock.open(), VIDEO, waited).await;
    mock.advance(8).await;
    assert!(mock.deliveries().await.is_empty());
    assert!(receiver.deliveries().is_empty());
}

async fn each_job_sends_its_own_event(mock: Mock, receiver: Receiver) {
    let first = submit_video_with_webhook(&mock, "a red fox").await;
    let second = submit_video_with_webhook(&mock, "[mock:fail]").await;
    let hook = json!({"mode": "webhook", "webhook_url": "https://hooks.example.com/images"});
    let image = with(
        json!({"model": "image-i", "prompt": "a fox", "num_images": 3}),
        hook,
    );
    let third = submit(&mock.open(), IMAGE, image).await;
    mock.advance(8).await;
    let deliveries = receiver.wait_for(3).await;
    let sent: Vec<_> = [&first, &second, &third]
        .into_iter()
        .map(|id| {
            let of_job = |delivery: &&Delivery| delivery.json()["job_id"] == *id.as_str();
            let of_this_job: Vec<_> = deliveries.iter().filter(of_job).collect();
            assert_eq!(of_this_job.len(), 1, "one event per job");
            (
                text(&of_this_job[0].json()["event"]),
                of_this_job[0].path().to_owned(),
            )
        })
        .collect();
    let query = "/svc?tenant=7";
    assert_eq!(sent[0], ("job.completed".to_owned(), query.to_owned()));
    assert_eq!(sent[1], ("job.failed".to_owned(), query.to_owned()));
    assert_eq!(sent[2], ("job.completed".to_owned(), "/images".to_owned()));
}

async fn events_are_signed_with_the_secret_of_the_workspace(mock: Mock, receiver: Receiver) {
    let key = |kind: &'static str| json!({"kind": kind, "workspace": "ws_elsewhere"});
    let open = mock.create_key(key("open")).await;
    let developer = mock.create_key(key("developer")).await;
    let developer = mock.developer_as(&developer);
    let body = with(video(), json!({"mode": "webhook", "webhook_url": HOOK}));
    submit(&mock.open_as(&open), VIDEO, body).await;
    mock.advance(8).await;
    let secret = secret_of(&developer).await;
    assert_ne!(
        secret,
        secret_of(&mock.developer()).await,
        "the workspaces share a secret"
    );
    assert!(
        !secret.contains(&open) && !open.contains(&secret),
        "the secret is derived from the key"
    );
    receiver.wait_for(1).await[0].assert_signed_with(&[&secret]);
}
