//! `mode`, `webhook_url` and `wait_timeout_seconds`.

use serde_json::{Value, json};
use svc_tests::{FaceKind, Mock, on_every_face};

use super::{IMAGE, VIDEO, image, status_of, submit, text, video, video_of, with};

on_every_face! {
    async_is_the_default,
    a_webhook_url_and_its_mode_need_each_other,
    a_wait_of_0_answers_at_once,
    a_job_that_ends_within_the_wait_is_answered_whole,
    a_job_that_outlasts_the_wait_is_answered_with_its_receipt,
    a_wait_lasts_10_seconds_unless_it_is_said,
    a_wait_is_not_over_before_its_time,
    a_job_that_fails_within_the_wait_is_answered_whole,
    waits_are_0_to_30_seconds,
    others_are_served_during_a_wait,
}

async fn async_is_the_default(mock: Mock) {
    let plain = mock.open().post(VIDEO, video()).await.expect(202).data();
    let said = mock
        .open()
        .post(VIDEO, with(video(), json!({"mode": "async"})))
        .await
        .expect(202)
        .data();
    let names = |receipt: &Value| {
        receipt
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&plain), names(&said));
    assert_eq!(said["job"]["status"], "queued");
}

async fn a_webhook_url_and_its_mode_need_each_other(mock: Mock) {
    let open = mock.open();
    let url = "https://hooks.example.com/svc";
    for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
        for fields in [
            json!({"mode": "webhook"}),
            json!({"webhook_url": url}),
            json!({"mode": "async", "webhook_url": url}),
            json!({"mode": "sync", "webhook_url": url, "wait_timeout_seconds": 0}),
            json!({"mode": "subscribe", "webhook_url": url, "wait_timeout_seconds": 0}),
        ] {
            open.post(path, with(body.clone(), fields))
                .await
                .refused(400, "invalid_request");
        }
        let both = json!({"mode": "webhook", "webhook_url": url});
        let receipt = open.post(path, with(body, both)).await.expect(202).data();
        assert_eq!(receipt["job"]["status"], "queued");
    }
}

async fn a_wait_of_0_answers_at_once(mock: Mock) {
    for mode in ["sync", "subscribe"] {
        for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
            let body = with(body, json!({"mode": mode, "wait_timeout_seconds": 0}));
            let receipt = mock.open().post(path, body).await.expect(202).data();
            assert_eq!(receipt["job"]["status"], "queued");
            assert!(receipt["status_url"].is_string(), "{receipt}");
        }
    }
}

/// Submits with a wait, moves the clock once the job is there, and gives the receipt.
///
/// wiremock cannot wait for a clock that a test moves: there the answer is that of a wait that is
/// over, and nothing is given.
async fn waited(mock: &Mock, body: Value, seconds: u64, status: u16) -> Option<Value> {
    if mock.kind() == FaceKind::Wiremock {
        mock.open().post(VIDEO, body).await.expect(202).data();
        mock.advance(seconds).await;
        return None;
    }
    let known = mock.jobs().await.len();
    let caller = mock.open();
    let waiting = tokio::spawn(async move { caller.post(VIDEO, body).await });
    until_jobs(mock, known + 1).await;
    mock.advance(seconds).await;
    Some(waiting.await.unwrap().expect(status).data())
}

/// Looks until there are so many jobs.
async fn until_jobs(mock: &Mock, count: usize) {
    for _ in 0..100_000 {
        if mock.jobs().await.len() == count {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the submit never arrived");
}

async fn a_job_that_ends_within_the_wait_is_answered_whole(mock: Mock) {
    for mode in ["sync", "subscribe"] {
        let body = with(video(), json!({"mode": mode, "wait_timeout_seconds": 30}));
        let Some(receipt) = waited(&mock, body, 8, 200).await else {
            continue;
        };
        assert!(receipt["request_id"].is_string(), "{receipt}");
        assert!(receipt["status_url"].is_string(), "{receipt}");
        let job = &receipt["job"];
        assert_eq!(job["status"], "completed");
        assert_eq!(job["price_usd"], "0.1250");
        let artifacts = job["result"]["artifacts"].as_array();
        assert_eq!(artifacts.map(Vec::len), Some(1), "{job}");
    }
}

async fn a_job_that_outlasts_the_wait_is_answered_with_its_receipt(mock: Mock) {
    for mode in ["sync", "subscribe"] {
        let body = with(video(), json!({"mode": mode, "wait_timeout_seconds": 3}));
        let Some(receipt) = waited(&mock, body, 3, 202).await else {
            continue;
        };
        assert!(receipt["status_url"].is_string(), "{receipt}");
        let id = text(&receipt["job"]["id"]);
        assert_eq!(status_of(&mock.open(), &id).await, "processing");
    }
}

async fn a_wait_lasts_10_seconds_unless_it_is_said(mock: Mock) {
    let body = |prompt| with(video_of(prompt), json!({"mode": "sync"}));
    waited(&mock, body("[mock:seconds=20]"), 10, 202).await;
    waited(&mock, body("[mock:seconds=10]"), 10, 200).await;
}

async fn a_wait_is_not_over_before_its_time(mock: Mock) {
    if mock.kind() == FaceKind::Wiremock {
        return;
    }
    for (fields, seconds) in [
        (json!({"mode": "sync"}), 10),
        (json!({"mode": "sync", "wait_timeout_seconds": 5}), 5),
        (json!({"mode": "subscribe", "wait_timeout_seconds": 30}), 30),
    ] {
        let known = mock.jobs().await.len();
        let caller = mock.open();
        let body = with(video_of("[mock:seconds=100]"), fields);
        let waiting = tokio::spawn(async move { caller.post(VIDEO, body).await });
        until_jobs(&mock, known + 1).await;
        mock.advance(seconds - 1).await;
        // Whatever had to be answered by now has been by the time that this has.
        for _ in 0..10 {
            mock.open().get("/v1/jobs").await.expect(200);
        }
        assert!(!waiting.is_finished(), "answered before its time");
        mock.advance(1).await;
        waiting.await.unwrap().expect(202);
    }
}

async fn a_job_that_fails_within_the_wait_is_answered_whole(mock: Mock) {
    let body = with(
        video_of("[mock:fail]"),
        json!({"mode": "sync", "wait_timeout_seconds": 30}),
    );
    if let Some(receipt) = waited(&mock, body, 8, 200).await {
        assert_eq!(receipt["job"]["status"], "failed");
        assert!(receipt["job"]["error"]["code"].is_string(), "{receipt}");
    }
}

async fn waits_are_0_to_30_seconds(mock: Mock) {
    for wait in [json!(-1), json!(31), json!(1e9)] {
        for mode in ["sync", "subscribe"] {
            let body = with(video(), json!({"mode": mode, "wait_timeout_seconds": wait}));
            mock.open()
                .post(VIDEO, body)
                .await
                .refused(400, "invalid_request");
        }
    }
    let body = with(video(), json!({"mode": "sync", "wait_timeout_seconds": 30}));
    waited(&mock, body, 30, 200).await;
}

async fn others_are_served_during_a_wait(mock: Mock) {
    let caller = mock.open();
    let body = with(video(), json!({"mode": "sync", "wait_timeout_seconds": 30}));
    let waiting = tokio::spawn(async move { caller.post(VIDEO, body).await });
    until_jobs(&mock, 1).await;
    let id = submit(&mock.open(), VIDEO, video()).await;
    assert_eq!(status_of(&mock.open(), &id).await, "queued");
    mock.advance(8).await;
    let answer = waiting.await.unwrap();
    if mock.kind() != FaceKind::Wiremock {
        answer.expect(200);
    }
}
