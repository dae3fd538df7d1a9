//! Cancellation, which is possible until generation starts at 30 % of a job's duration.

use super::*;

on_every_frontend! {
    a_processing_job_can_be_canceled_before_generation_starts,
    cancel_after_generation_started_is_rejected,
    cancel_is_idempotent,
    an_ended_job_cannot_be_canceled,
    the_developer_surface_cancels_jobs_of_the_open_surface,
    a_rejected_cancel_changes_nothing,
}

/// Submits a job of 100 seconds, which is queued for 10 and starts generation after 30.
async fn long_job(mock: &Mock) -> String {
    submit(&mock.open(), VIDEO, video_with_prompt("[mock:seconds=100]")).await
}

async fn a_processing_job_can_be_canceled_before_generation_starts(mock: Mock) {
    for second in [10, 29] {
        let id = long_job(&mock).await;
        mock.advance(second).await;
        assert_eq!(status_of(&mock.open(), &id).await, "processing");
        cancel(&mock.open(), &id).await.expect(200);
        assert_eq!(status_of(&mock.open(), &id).await, "canceled");
        assert_eq!(ledger_amounts(&mock, "refund", &id).await, [1_250]);
    }
}

async fn cancel_after_generation_started_is_rejected(mock: Mock) {
    for second in [30, 31, 99] {
        let id = long_job(&mock).await;
        mock.advance(second).await;
        cancel(&mock.open(), &id)
            .await
            .expect_error(409, "job_generation_already_started");
        assert_eq!(status_of(&mock.open(), &id).await, "processing");
    }
}

async fn cancel_is_idempotent(mock: Mock) {
    let id = long_job(&mock).await;
    for step in [0, 0, 1_000] {
        mock.advance(step).await;
        cancel(&mock.open(), &id).await.expect(200);
    }
    assert_eq!(status_of(&mock.open(), &id).await, "canceled");
    assert_eq!(ledger_amounts(&mock, "refund", &id).await, [1_250]);
    assert_eq!(ledger_amounts(&mock, "capture", &id).await, NO_AMOUNTS);
}

async fn an_ended_job_cannot_be_canceled(mock: Mock) {
    for (prompt, status, refunds) in [
        ("a red fox", "completed", vec![]),
        ("[mock:fail]", "failed", vec![1_250]),
    ] {
        let id = submit(&mock.open(), VIDEO, video_with_prompt(prompt)).await;
        mock.advance(8).await;
        cancel(&mock.open(), &id)
            .await
            .expect_error(409, "job_generation_already_started");
        assert_eq!(status_of(&mock.open(), &id).await, status);
        assert_eq!(ledger_amounts(&mock, "refund", &id).await, refunds);
    }
}

async fn the_developer_surface_cancels_jobs_of_the_open_surface(mock: Mock) {
    let id = long_job(&mock).await;
    cancel(&mock.developer(), &id).await.expect(200);
    assert_eq!(status_of(&mock.open(), &id).await, "canceled");
}

async fn a_rejected_cancel_changes_nothing(mock: Mock) {
    let id = long_job(&mock).await;
    cancel(&mock.client(Host::Open), &id)
        .await
        .expect_error(401, "unauthorized");
    let other = mock.developer_as("svc_dev_other");
    cancel(&other, &id).await.expect(404);
    assert_eq!(status_of(&mock.open(), &id).await, "queued");
    mock.advance(50).await;
    cancel(&mock.open(), &id).await.expect(409);
    mock.advance(50).await;
    assert_eq!(status_of(&mock.open(), &id).await, "completed");
}
