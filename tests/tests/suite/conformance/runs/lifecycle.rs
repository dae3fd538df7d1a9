//! The lifecycle of a run, which takes 10 seconds by default and is queued for a tenth of them.

use super::*;

scripts! {
    a_receipt_has_urls_and_null_results r#"
        for <kind> <events> in action null, format <DEVELOPER>/v1/format-runs/, agent null
          developer run:<kind> => 202 @x-svc-request-id=<request> request_id=<request> run_id=<id> kind=<kind> status=queued events_url*=<events>
          developer /v1/<kind>-runs/<id> => 200 run_id=<id> status_url=<DEVELOPER>/v1/<kind>-runs/<id>/status result_url=<DEVELOPER>/v1/<kind>-runs/<id>/result
        developer run => 202 run_id=<id>
        developer /v1/format-runs/<id> => 200 events_url=<DEVELOPER>/v1/format-runs/<id>/events
    "#
    a_run_is_queued_then_running_then_completed r#"
        for <kind> in action format agent
          developer run:<kind> => 202 run_id=<id>
          for <step> <status> in 0.0 queued, 0.9 queued, 0.2 running, 8.8 running, 0.1 completed
            advance <step>
            developer /v1/<kind>-runs/<id> => 200 status=<status>
    "#
    status_and_result_follow_the_run r#"
        for <kind> <prompt> <end> in
          | format x completed
          | action [mock:fail] failed
          | agent [mock:degraded] completed
          | format [mock:fail] failed
          | action [mock:degraded] completed
          | agent x completed
          developer run:<kind> {"instruction": "<prompt>"} => 202 run_id=<id>
          for <seconds> <status> in 0 queued, 5 running
            advance <seconds>
            developer /v1/<kind>-runs/<id>/status => 200 run_id=<id> status=<status> terminal=false result_ready=false next_poll_after_seconds=<number> !output !artifacts
            developer /v1/<kind>-runs/<id>/result => 409 run_not_completed details.status=<status> retry_after_seconds=<number>
          advance 5
          developer /v1/<kind>-runs/<id>/status => 200 run_id=<id> status=<end> terminal=true result_ready=true next_poll_after_seconds=<number> !output !artifacts
          developer /v1/<kind>-runs/<id> => 200 .=<receipt>
          developer /v1/<kind>-runs/<id>/result => 200 .=<receipt>
    "#
    only_format_runs_have_events_and_runs_are_not_jobs r#"
        for <kind> in action agent
          developer run:<kind> => 202 run_id=<id>
          developer /v1/<kind>-runs/<id>/events => 4xx
          developer /v1/jobs/<id> => 404 job_not_found
        developer run => 202 run_id=<id>
        developer /v1/jobs/<id> => 404 job_not_found
        developer /v1/jobs => 200 #=0
    "#
}
