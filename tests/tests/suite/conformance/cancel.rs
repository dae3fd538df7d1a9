//! Cancellation, which is possible until generation starts at 30 % of a job's duration.

use super::*;

scripts! {
    a_job_can_be_canceled_until_generation_starts r#"
        for <second> <status> in 0 queued, 10 processing, 29.999 processing
          open video {"prompt": "[mock:seconds=100]"} => 202 job.id=<id>
          advance <second>
          open /v1/jobs/<id>/status => 200 status=<status>
          open POST /v1/jobs/<id>/cancel => 200 status=canceled
          open /v1/jobs/<id>/result => 200 status=canceled error.code=job_canceled artifacts=[]
          ledger <id> = reservation 0.1250, refund 0.1250
        for <second> in 30 31 99
          open video {"prompt": "[mock:seconds=100]"} => 202 job.id=<id>
          advance <second>
          open POST /v1/jobs/<id>/cancel => 409 job_generation_already_started
          open /v1/jobs/<id>/status => 200 status=processing
    "#
    cancel_is_idempotent [balance_usd("1.0000")] r#"
        open video {"prompt": "[mock:seconds=100]"} => 202 job.id=<id>
        for <step> in 0 0 1000
          advance <step>
          open POST /v1/jobs/<id>/cancel => 200
          ledger <id> = reservation 0.1250, refund 0.1250
          available 1.0000
        open /v1/jobs/<id>/status => 200 status=canceled
    "#
    an_ended_job_cannot_be_canceled r#"
        for <prompt> <status> <end> in "a fox" completed capture, [mock:fail] failed refund
          open video {"prompt": "<prompt>"} => 202 job.id=<id>
          advance 8
          open POST /v1/jobs/<id>/cancel => 409 job_generation_already_started
          open /v1/jobs/<id>/status => 200 status=<status>
          ledger <id> = reservation 0.1250, <end> 0.1250
    "#
    the_developer_surface_cancels_jobs_of_the_open_surface r#"
        open video => 202 job.id=<id>
        developer POST /v1/jobs/<id>/cancel => 200
        open /v1/jobs/<id>/status => 200 status=canceled
    "#
    a_rejected_cancel_changes_nothing r#"
        open video {"prompt": "[mock:seconds=100]"} => 202 job.id=<id>
        open: POST /v1/jobs/<id>/cancel => 401 unauthorized
        developer:svc_dev_other POST /v1/jobs/<id>/cancel => 404
        open /v1/jobs/<id>/status => 200 status=queued
        advance 50
        open POST /v1/jobs/<id>/cancel => 409
        advance 50
        open /v1/jobs/<id>/status => 200 status=completed
    "#
    a_cancel_body_is_checked_before_the_state r#"
        open /v1/jobs/job_none/cancel {"user_id": "x"} => 404 job_not_found
        open image => 202 job.id=<id>
        advance 2
        open /v1/jobs/<id>/cancel {"user_id": "x"} => 400 invalid_request user_id details={"field":"user_id"}
        open /v1/jobs/<id>/cancel [] => 400 invalid_request
    "#
}

on_every_frontend! { the_content_type_of_a_cancel_is_checked_before_the_state }

async fn the_content_type_of_a_cancel_is_checked_before_the_state(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, IMAGE, image()).await;
    mock.advance(2).await;
    let path = format!("/v1/jobs/{id}/cancel");
    let untyped = open.send("POST", &path, None, "{}".into()).await;
    untyped.expect_error(415, "unsupported_media_type");
    let typed = Some("Application/JSON; charset=utf-8");
    let response = open.send("POST", &path, typed, "{}".into()).await;
    response.expect_error(409, "job_generation_already_started");
}
