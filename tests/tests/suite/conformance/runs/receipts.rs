//! The receipts of runs: every field, from the start to each way a run can end.

use super::*;

scripts! {
    a_new_run_has_every_field r#"
        developer media-run {"instruction": "A boot.", "generation_spend_cap_usd": 12.5} => 202 .=<receipt> run_id=<id> request_id=<request>
        developer /v1/format-runs/<id> => 200 .=<receipt>
        developer /v1/format-runs/<id> => 200 ={"request_id":"<request>","run_id":"<id>","kind":"format","status":"queued","created_at":"2027-01-15T08:00:00Z","updated_at":"2027-01-15T08:00:00Z","format_id":"fmt_media","status_url":"<DEVELOPER>/v1/format-runs/<id>/status","result_url":"<DEVELOPER>/v1/format-runs/<id>/result","events_url":"<DEVELOPER>/v1/format-runs/<id>/events","cancel_url":"<DEVELOPER>/v1/format-runs/<id>/cancel","error":null,"output_error":null,"output":null,"artifacts":[],"primary_output_url":null,"primary_output_key":"image_url","usage":{"billable_amount_usd_micros":0,"generation_spend_cap_usd_micros":12500000},"webhook_delivery":null,"next_poll_after_seconds":5,"previous_run_id":null,"queue_id":null,"item_index":null}
        developer /v1/actions/act_daily/runs {} => 202 action_id=act_daily
    "#
    a_run_passes_through_its_phases r#"
        developer /v1/formats/fmt_media/runs {"input": {"product": "boot"}} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id>/status => 200 ={"run_id":"<id>","kind":"format","status":"completed","terminal":true,"result_ready":true,"next_poll_after_seconds":0}
        developer /v1/format-runs/<id>/result => 200 .=<result> artifacts.0.url=<url> primary_output_url=<url> output.image_url=<url>
        developer /v1/format-runs/<id> => 200 .=<result> primary_output_url=<url> output.image_url=<url>
        developer /v1/format-runs/<id>/events => 200 *.phase=["queued","started","planning","generating","assembling","ended"] 5.status=completed
    "#
    a_result_in_progress_says_when_to_poll r#"
        developer run => 202 run_id=<id>
        advance 4
        developer /v1/format-runs/<id>/result => 409 run_not_completed retry_after_seconds=3 next_action=poll_status
    "#
    spend_is_booked_in_three_parts r#"
        developer run {"instruction": "[mock:cost=3]"} => 202 run_id=<id>
        for <billed> in 0 0 0 1000000 1000000 2000000 2000000 3000000 3000000 3000000 3000000
          developer /v1/format-runs/<id> => 200 usage.billable_amount_usd_micros=<billed>
          advance 1
        ledger <id> = reservation 1.0000, capture 1.0000, reservation 1.0000, capture 1.0000, reservation 1.0000, capture 1.0000
        developer /v1/balance => 200 available_usd=97.0000 reserved_usd=0.0000
    "#
    a_run_is_billed_up_to_its_cap r#"
        for <request> <kind> <cap> <status> <code> <billed> in
          | /v1/formats/fmt_capped/runs format {} failed format_run_failed 2000000
          | /v1/formats/fmt_capped/runs format {"generation_spend_cap_usd":5} completed null 5000000
          | run:agent agent {"generation_spend_cap_usd":0.5} failed <some> 500000
          developer <request> {"instruction": "[mock:cost=5]"} <cap> => 202 run_id=<id>
          advance 10
          developer /v1/<kind>-runs/<id> => 200 status=<status> error.code=<code> usage.billable_amount_usd_micros=<billed> primary_output_url=null
    "#
    a_canceled_run_is_billed_for_its_finished_parts r#"
        developer media-run {"instruction": "[mock:cost=3]"} => 202 run_id=<id>
        advance 6
        developer /v1/format-runs/<id>/cancel {} => 200 status=canceled usage.billable_amount_usd_micros=1000000 artifacts.#=1
        developer /v1/usage => 200 0.kind=refund 0.amount_usd=1.0000
        developer /v1/balance => 200 available_usd=99.0000
        developer /v1/format-runs/<id>/cancel {"x": 1} => 400 invalid_request
    "#
    skipped_and_degraded_runs r#"
        developer media-run {"instruction": "[mock:skip][mock:cost=3]"} => 202 run_id=<skipped>
        advance 10
        developer /v1/format-runs/<skipped> => 200 artifacts=[] output=null
        developer /v1/usage => 200 =[]
        developer run {"instruction": "[mock:degraded]"} => 202 run_id=<degraded>
        advance 10
        developer /v1/format-runs/<degraded> => 200 output_error.code=output_schema_unsatisfied output_error.details.harvested={"image":1} artifacts.0.url=<url>
        media <url> => 200
    "#
    a_directive_is_found_in_nested_input r#"
        developer run {"input": {"deep": {"text": "[mock:seconds=100]"}}} => 202 run_id=<id>
        developer run {"instruction": "[mock:stuck]"} => 202 run_id=<stuck>
        advance 99
        developer /v1/format-runs/<id> => 200 status=running
        advance 1
        developer /v1/format-runs/<id> => 200 status=completed
        developer /v1/format-runs/<stuck>/cancel {} => 200 status=canceled
    "#
    unreadable_spend_is_null r#"
        developer run {"instruction": "[mock:usage-unreadable]"} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 status=completed usage=null
        developer /v1/balance => 200 available_usd=99.9500
    "#
    a_late_output_sets_the_primary_output r#"
        developer media-run {"instruction": "[mock:harvest-unavailable]"} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 primary_output_url=null
        developer /v1/format-runs/<id>/result => 200 artifacts.0.url=<url>
        developer /v1/format-runs/<id>/result => 200 output.image_url=<url> primary_output_url=<url>
    "#
    an_output_follows_its_schema r#"
        for <schema> in {"type":"object","required":["hero","shots"],"additionalProperties":false,"properties":{"hero":{"type":"string","format":"uri"},"shots":{"type":"array","minItems":2,"items":{"type":"integer","minimum":3}},"kind":{"enum":["teaser"]}}}
          for <fields> in {"output_schema":<schema>} {"response_format":{"type":"json_schema","json_schema":{"schema":<schema>}}}
            developer run <fields> => 202 run_id=<id>
            advance 10
            developer /v1/format-runs/<id> => 200 artifacts.0.url=<url>
            developer /v1/format-runs/<id> => 200 output={"hero":"<url>","shots":[3,3],"kind":"teaser"} primary_output_key=hero primary_output_url=<url>
        developer run {"response_format": {"type": "json_object"}} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 output.summary=<string> artifacts=[] primary_output_url=null
    "#
    a_schema_that_cannot_be_satisfied_fails_the_run r#"
        developer run {"output_schema": {"type": "object", "required": ["a"], "additionalProperties": false}} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 error.code=output_schema_unsatisfied error.details.violations.0.rule=required
    "#
    each_failure_code_has_its_details_and_charge r#"
        for <code> <details> <retryable> <artifacts> <billed> in
          | unattended_blocked null false 1 50000
          | deliverable_missing null false 0 50000
          | primary_output_missing null false 1 50000
          | output_extraction_failed {"reason":"harvest_threw"} false 1 50000
          | mcp_unavailable {"retryable":true,"charged":false} true 0 0
          | provider_unavailable {"retryable":true} true 1 50000
          | format_run_failed null false 1 50000
          | x_of_the_future null false 1 50000
          developer media-run {"instruction": "[mock:fail=<code>]"} => 202 run_id=<id>
          advance 10
          developer /v1/format-runs/<id> => 200 error.code=<code> error.details=<details> output_error.code=<code> output_error.details=<details>
          developer /v1/format-runs/<id> => 200 error.retryable=<retryable> artifacts.#=<artifacts> usage.billable_amount_usd_micros=<billed> primary_output_url=null
        developer media-run {"instruction": "[mock:fail=primary_output_missing]"} => 202 run_id=<id>
        developer run {"instruction": "[mock:fail=agent_reported_failure]"} => 202 run_id=<reported>
        advance 10
        developer /v1/format-runs/<id> => 200 primary_output_key=image_url output={"image_url":null,"summary":"The output of the format run."}
        developer /v1/format-runs/<reported> => 200 error.details.reason=<string>
    "#
    an_unsatisfied_schema_lists_its_violations r#"
        developer run {"instruction": "[mock:fail=output_schema_unsatisfied]", "output_schema": {"type": "object", "properties": {"hero": {"type": "string", "format": "uri"}, "title": {"type": "string"}}, "required": ["title"]}} => 202 run_id=<id>
        developer run {"instruction": "[mock:fail=output_schema_unsatisfied]"} => 202 run_id=<bare>
        advance 10
        # A rejected URL is not that of a file of the run, and is shown instead of violations.
        developer /v1/format-runs/<id> => 200 artifacts.0.url=<url>
        developer /v1/format-runs/<id> => 200 error.details.harvested={"image":1} error.details.rejected_urls=["https://files.example.com/unknown.png"] !error.details.violations output={"hero":"<url>"}
        developer /v1/format-runs/<bare> => 200 error.details.violations.0.rule=required error.details.harvested={} !error.details.rejected_urls
    "#
    pending_jobs_are_named_and_not_billed r#"
        developer media-run {"instruction": "[mock:fail=incomplete_assembly][mock:cost=3]"} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 error.details.pending_job_count=1 error.details.pending_jobs.0.id=<job> error.details.pending_jobs.0.id^=job_ usage.billable_amount_usd_micros=2000000
        developer /v1/format-runs/<id> => 200 error.details.pending_jobs.0.type=<type> error.details.pending_jobs.0.status=<status>
        control /jobs => 200 *.id=["<job>"] 0.run_id=<id> 0.type=<type> 0.status=<status>
        # Runs and what they generate are not jobs of the workspace.
        developer /v1/jobs => 200 #=0
        developer /v1/format-runs/<id>/events => 200 *.job_id*=<job>
        developer /v1/usage => 200 0.kind=refund
    "#
    an_outage_of_reads_is_temporary r#"
        developer run {"instruction": "[mock:outage=2]"} => 202 run_id=<id>
        advance 10
        for <end> in "" /status
          developer /v1/format-runs/<id><end> => 503 studio_agent_upstream_unavailable retryable=true @retry-after=1
        developer /v1/format-runs/<id>/result => 200 status=completed
    "#
    a_canceled_item_makes_room_in_its_queue r#"
        developer bulk {"items": [{"instruction": "[mock:stuck]"}, {"instruction": "[mock:stuck]"}, {"instruction": "[mock:stuck]"}], "concurrency": 1} => 202 queue_id=<queue>
        for <index> <next> in 0 1, 1 2, 2 3
          advance 30
          developer /v1/format-run-queues/<queue> => 200 items.<index>.run_id=<id> items.<next>.run_id=null
          developer /v1/format-runs/<id>/cancel {} => 200
        developer /v1/format-run-queues/<queue> => 200 status=completed counts.canceled=3 next_poll_after_seconds=0
        developer bulk => 202 concurrency=4
    "#
    fail_directive_without_a_code_is_format_run_failed r#"
        developer run {"instruction": "[mock:fail]"} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 error.code=format_run_failed
    "#
    an_unavailable_output_is_available_on_the_next_read r#"
        developer run {"instruction": "[mock:harvest-unavailable]"} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 status=completed error=null output=null output_error.code=output_extraction_failed output_error.details.reason=harvest_unavailable
        developer /v1/format-runs/<id> => 200 output=<object> output_error=null .=<second>
        developer /v1/format-runs/<id> => 200 .=<second>
        developer /v1/format-runs/<id>/result => 200 .=<second>
    "#
    actions_and_completions_can_fail r#"
        for <kind> in action agent
          developer run:<kind> {"instruction": "[mock:fail=provider_unavailable]"} => 202 run_id=<id>
          advance 10
          developer /v1/<kind>-runs/<id> => 200 status=failed error.code=provider_unavailable
    "#
}

on_every_frontend! { funds_that_run_out_fail_the_run: balance_usd("1.0000") }

async fn funds_that_run_out_fail_the_run(mock: Mock) {
    let body = || instruction("[mock:cost=0.9]");
    let ids = [start_demo(&mock, body()).await, start_demo(&mock, body()).await];
    mock.advance(10).await;
    let runs =
        [receipt(&mock, Kind::Format, &ids[0]).await, receipt(&mock, Kind::Format, &ids[1]).await];
    let has_failed = |run: &Value| run["error"]["code"] == "format_run_failed";
    assert!(runs.iter().any(has_failed), "{runs:?}");
    assert!(runs.iter().map(billable).sum::<u64>() <= 1_000_000, "{runs:?}");
}
