//! The lifecycle of a job: durations, polling hints, timelines, results and errors.

use super::*;

scripts! {
    a_status_says_when_to_poll_again r#"
        open video => 202 job.id=<id>
        for <step> <status> <terminal> <wait> in
          | 0.0 queued false 4
          | 0.799 queued false 3.601
          | 0.001 processing false 3.6
          | 3.2 processing false 2
          | 1 processing false 1.5
          | 1.5 processing false 1
          | 0.5 processing false 1
          | 0.001 processing false 0.999
          | 0.998 processing false 0.001
          | 0.000999 processing false 0.001
          | 0.000001 completed true 0
          advance <step>
          open /v1/jobs/<id>/status => 200 ={"job_id":"<id>","status":"<status>","terminal":<terminal>,"result_ready":<terminal>,"next_poll_after_seconds":<wait>}
        open image => 202 job.id=<image>
        open /v1/jobs/<image>/result => 409 job_not_completed details={"status":"queued"} retry_after_seconds=1
        advance 2
        open /v1/jobs/<image> => 200 updated_at=2027-01-15T08:00:10Z result.artifacts.0.content_type=image/png
        open /v1/jobs/<image> => 200 result.artifacts.0.url^=<MEDIA>/artifacts/ result.artifacts.0.url$=.png
    "#
    a_stuck_job_is_polled_every_ten_seconds r#"
        open video {"prompt": "[mock:stuck]"} => 202 job.id=<id>
        advance 1000000
        open /v1/jobs/<id>/status => 200 status=processing next_poll_after_seconds=10
    "#
    a_timeline_has_the_time_of_each_event r#"
        open video => 202 job.id=<id>
        developer /v1/jobs/<id>/events => 200 #=1
        advance 60
        developer /v1/jobs/<id>/events => 200 =[{"type":"queued","job_id":"<id>","created_at":"2027-01-15T08:00:00Z"},{"type":"processing","job_id":"<id>","created_at":"2027-01-15T08:00:00.8Z"},{"type":"generation_started","job_id":"<id>","created_at":"2027-01-15T08:00:02.4Z"},{"type":"completed","job_id":"<id>","created_at":"2027-01-15T08:00:08Z"}]
        open /v1/jobs/<id>/events => 404 not_found
        for <client> <job> in developer:svc_dev_other <id>, developer job_none
          <client> /v1/jobs/<job>/events => 404 job_not_found
    "#
    a_job_that_ends_early_skips_the_later_events r#"
        open video => 202 job.id=<canceled>
        advance 1
        open POST /v1/jobs/<canceled>/cancel => 200
        advance 60
        developer /v1/jobs/<canceled>/events => 200 *.type=["queued", "processing", "canceled"]
        open video {"prompt": "[mock:fail=provider_unavailable]"} => 202 job.id=<failed>
        advance 8
        developer /v1/jobs/<failed>/events => 200 3.type=failed 3.error.code=provider_unavailable
        for <id> in <canceled> <failed>
          open /v1/jobs/<id>/status => 200 terminal=true
    "#
    a_failed_job_has_the_details_of_its_code r#"
        open video {"prompt": "[mock:fail=provider_unavailable][mock:seconds=1.5]"} => 202 job.id=<id>
        advance 1.5
        open /v1/jobs/<id> => 200 error.code=provider_unavailable error.details={"retryable":true} error=<error> !result
        open /v1/jobs/<id>/result => 200 ={"job_id":"<id>","status":"failed","artifacts":[],"error":<error>}
        for <code> <field> in
          | output_schema_unsatisfied violations
          | agent_reported_failure reason
          | incomplete_assembly pending_jobs.0.id
          | output_extraction_failed reason
          | mcp_unavailable charged
          open image {"prompt": "[mock:fail=<code>][mock:seconds=0]"} => 202 job.id=<image>
          open /v1/jobs/<image> => 200 error.details.<field>=<some>
        open video {"prompt": "[mock:fail][mock:seconds=0]"} => 202 job.id=<plain>
        open /v1/jobs/<plain>/result => 200 error.code=generation_failed
    "#
    each_model_has_its_time_price_and_files r#"
        for <model> <field> <wait> <price> <type> <files> in
          | image-1.0 {"num_images":3} 1.999 0.0300 image/png 3
          | video-1.0 {"duration":3} 7.999 0.1500 video/mp4 1
          | music-1.0 {"duration":12} 3.999 0.1200 audio/wav 1
          developer /v1/<model>/generate {"prompt": "x"} <field> => 202 job.id=<id>
          ledger <id> = reservation <price>
          advance <wait>
          developer /v1/jobs/<id>/status => 200 status=processing
          advance 0.001
          developer /v1/jobs/<id>/result => 200 artifacts.#=<files> artifacts.0.url=<url>
          media <url> => 200 @content-type=<type> @x-svc-request-id^=req_
    "#
    a_job_is_ended_by_the_control_api_once r#"
        open video {"prompt": "[mock:stuck]"} => 202 job.id=<id>
        control /jobs/<id> {"status": "canceled"} => 200
        control /jobs/<id> {"status": "canceled"} => 200
        control /jobs/<id> {"status": "completed"} => 409
        control /jobs/job_none {"status": "completed"} => 404
        control /jobs/<id> {"status": "queued"} => 400
        control /jobs/<id> {"status": "completed", "code": "generation_failed"} => 400
    "#
    jobs_take_their_documented_time r#"
        # The steps to the last moments of the queued and processing statuses, and the moments after.
        for <request> <prompt> <queued> <processing> in
          | video "a fox" 0 6
          | image "a fox" 0 0
          | video "a fox [mock:seconds=100] in the snow" 9 89
          | image "a fox [mock:seconds=100] in the snow" 9 89
          open <request> {"prompt": "<prompt>"} => 202 job.id=<id>
          for <step> <status> in <queued> queued, 1 processing, <processing> processing, 1 completed
            advance <step>
            open /v1/jobs/<id>/status => 200 status=<status>
    "#
    refuse_directive_rejects_the_submit [balance_usd("1.0000")] r#"
        for <code> <status> in
          | organization_wallet_not_provisioned 402
          | attachment_too_large 413
          | attachment_fetch_failed 502
          | studio_agent_upstream_unavailable 503
          | idempotency_key_in_use 409
          open key=order-1 video {"prompt": "a fox [mock:refuse=<code>]"} => <status> <code>
        control /jobs => 200 #=0
        available 1.0000
        open key=order-1 video => 202
    "#
    both_surfaces_show_the_jobs_of_the_workspace r#"
        open video => 202 job.id=<id>
        developer /v1/jobs/<id>/status => 200 status=queued
        developer /v1/jobs/<id> => 200 id=<id>
        advance 8
        open /v1/jobs/<id>/result => 200 artifacts=<artifacts>
        developer /v1/jobs/<id>/result => 200 artifacts=<artifacts>
        developer /v1/jobs => 200 *.id=["<id>"]
    "#
    a_job_of_another_workspace_is_not_found r#"
        open video => 202 job.id=<id>
        control /keys {"kind": "open", "workspace": "ws_elsewhere"} => 201 key=<key>
        for <client> in open:<key> developer:svc_dev_other
          for <end> in "" /status /result
            <client> GET /v1/jobs/<id><end> => 404
          <client> POST /v1/jobs/<id>/cancel => 404
        open /v1/jobs/<id>/status => 200 status=queued
    "#
    job_and_result_have_the_same_artifacts r#"
        for <request> <fields> <kind> <count> in video {} video 1, image {"num_images":3} image 3
          open <request> <fields> => 202 job.id=<id>
          advance 8
          open /v1/jobs/<id>/result => 200 job_id=<id> status=completed artifacts=<artifacts> artifacts.#=<count>
          open /v1/jobs/<id> => 200 result.artifacts=<artifacts>
          open /v1/jobs/<id>/result => 200 artifacts.0.id^=art_ artifacts.0.media_type=<kind> artifacts.0.content_type^=<kind>/ artifacts.0.url^=<MEDIA>/
    "#
}

on_every_frontend! {
    the_artifacts_of_a_job_have_different_ids_and_urls,
    an_unknown_job_is_not_found,
}

async fn the_artifacts_of_a_job_have_different_ids_and_urls(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, IMAGE, with(image(), json!({"num_images": 3}))).await;
    mock.advance(2).await;
    let result = job_result(&open, &id).await;
    for (field, start) in [("id", "art_"), ("url", mock.base_url(Host::Media))] {
        let artifacts = result["artifacts"].as_array().unwrap().iter();
        let values: std::collections::BTreeSet<_> = artifacts.map(|it| text(&it[field])).collect();
        assert_eq!(values.len(), 3, "{result}");
        assert!(values.iter().all(|it| it.starts_with(start)), "{result}");
    }
}

async fn an_unknown_job_is_not_found(mock: Mock) {
    let long = "j".repeat(2_000);
    for id in ["job_unknown", "x", "%00", "%2e%2e", "job_%ff", "a%2Fb", &long] {
        for client in [mock.open(), mock.developer()] {
            for suffix in ["", "/status", "/result"] {
                let path = format!("/v1/jobs/{id}{suffix}");
                client.get(&path).await.expect(404);
            }
            cancel(&client, id).await.expect(404);
        }
    }
}
