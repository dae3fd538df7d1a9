//! Cancellation: until generation starts, at three tenths of a job's time.

use serde_json::json;
use svc_tests::{Caller, Host, Mock, on_every_face};

use super::{NO_AMOUNTS, VIDEO, amounts, status_of, submit, video, video_of};

on_every_face! {
    a_queued_job_can_be_canceled,
    a_processing_job_can_be_canceled_before_generation_starts,
    cancel_after_generation_started_is_refused,
    a_canceled_job_can_be_canceled_again,
    a_canceled_job_stays_canceled,
    a_completed_job_cannot_be_canceled,
    a_failed_job_cannot_be_canceled,
    the_window_follows_the_jobs_own_length,
    a_cancel_may_have_an_empty_object_as_body,
    the_developer_surface_cancels_the_same_jobs,
    a_refused_cancel_changes_nothing,
}

async fn cancel(caller: &Caller, id: &str) -> svc_tests::Answer {
    caller.post_nothing(&format!("/v1/jobs/{id}/cancel")).await
}

/// A job of a hundred seconds: queued until 10, generation at 30.
async fn long_job(mock: &Mock) -> String {
    submit(&mock.open(), VIDEO, video_of("[mock:seconds=100]")).await
}

async fn a_queued_job_can_be_canceled(mock: Mock) {
    let id = long_job(&mock).await;
    cancel(&mock.open(), &id).await.expect(200).data();
    assert_eq!(status_of(&mock.open(), &id).await, "canceled");
}

async fn a_processing_job_can_be_canceled_before_generation_starts(mock: Mock) {
    for second in [10, 29] {
        let id = long_job(&mock).await;
        mock.advance(second).await;
        assert_eq!(status_of(&mock.open(), &id).await, "processing");
        cancel(&mock.open(), &id).await.expect(200);
        assert_eq!(status_of(&mock.open(), &id).await, "canceled");
        assert_eq!(amounts(&mock, "refund", &id).await, [1_250]);
    }
}

async fn cancel_after_generation_started_is_refused(mock: Mock) {
    for second in [30, 31, 99] {
        let id = long_job(&mock).await;
        mock.advance(second).await;
        cancel(&mock.open(), &id)
            .await
            .refused(409, "job_generation_already_started");
        assert_eq!(status_of(&mock.open(), &id).await, "processing");
    }
}

async fn a_canceled_job_can_be_canceled_again(mock: Mock) {
    let id = long_job(&mock).await;
    cancel(&mock.open(), &id).await.expect(200);
    cancel(&mock.open(), &id).await.expect(200);
    mock.advance(1_000).await;
    cancel(&mock.open(), &id).await.expect(200);
    assert_eq!(amounts(&mock, "refund", &id).await, [1_250]);
}

async fn a_canceled_job_stays_canceled(mock: Mock) {
    let id = long_job(&mock).await;
    cancel(&mock.open(), &id).await.expect(200);
    mock.advance(1_000).await;
    assert_eq!(status_of(&mock.open(), &id).await, "canceled");
    assert_eq!(amounts(&mock, "capture", &id).await, NO_AMOUNTS);
}

async fn a_completed_job_cannot_be_canceled(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    mock.advance(8).await;
    cancel(&mock.open(), &id)
        .await
        .refused(409, "job_generation_already_started");
    assert_eq!(status_of(&mock.open(), &id).await, "completed");
    assert_eq!(amounts(&mock, "refund", &id).await, NO_AMOUNTS);
}

async fn a_failed_job_cannot_be_canceled(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video_of("[mock:fail]")).await;
    mock.advance(8).await;
    cancel(&mock.open(), &id)
        .await
        .refused(409, "job_generation_already_started");
    assert_eq!(status_of(&mock.open(), &id).await, "failed");
    assert_eq!(amounts(&mock, "refund", &id).await, [1_250]);
}

async fn the_window_follows_the_jobs_own_length(mock: Mock) {
    // Of 8 seconds three tenths are 2.4.
    let id = submit(&mock.open(), VIDEO, video()).await;
    mock.advance(2).await;
    cancel(&mock.open(), &id).await.expect(200);
    let id = submit(&mock.open(), VIDEO, video()).await;
    mock.advance(3).await;
    cancel(&mock.open(), &id)
        .await
        .refused(409, "job_generation_already_started");
}

async fn a_cancel_may_have_an_empty_object_as_body(mock: Mock) {
    let id = long_job(&mock).await;
    mock.open()
        .post(&format!("/v1/jobs/{id}/cancel"), json!({}))
        .await
        .expect(200);
    assert_eq!(status_of(&mock.open(), &id).await, "canceled");
}

async fn the_developer_surface_cancels_the_same_jobs(mock: Mock) {
    let id = long_job(&mock).await;
    cancel(&mock.developer(), &id).await.expect(200);
    assert_eq!(status_of(&mock.open(), &id).await, "canceled");
}

async fn a_refused_cancel_changes_nothing(mock: Mock) {
    let id = long_job(&mock).await;
    cancel(&mock.caller(Host::Open), &id)
        .await
        .refused(401, "unauthorized");
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    cancel(&stranger, &id).await.expect(404);
    assert_eq!(status_of(&mock.open(), &id).await, "queued");
    mock.advance(50).await;
    cancel(&mock.open(), &id).await.expect(409);
    mock.advance(50).await;
    assert_eq!(status_of(&mock.open(), &id).await, "completed");
}
