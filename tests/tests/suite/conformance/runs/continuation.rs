//! `previous_run_id` and `on_active_run`.

use super::*;

scripts! {
    a_continued_run_carries_the_thread r#"
        developer run => 202 run_id=<first>
        advance 10
        developer run {"previous_run_id": "<first>"} => 202 run_id=<second>
        advance 10
        developer /v1/format-runs/<second> => 200 thread_id=<thread> thread_id^=thr_ output.summary="The output of the format run, turn 2 of its thread."
        developer run {"previous_run_id": "<second>"} => 202 run_id=<third>
        advance 10
        developer /v1/format-runs/<third> => 200 thread_id=<thread> output.summary="The output of the format run, turn 3 of its thread."
        # Another run starts its own thread.
        developer run => 202 run_id=<other>
        advance 10
        developer /v1/format-runs/<other> => 200 output.summary="The output of the format run."
        developer run {"previous_run_id": "<other>"} => 202 run_id=<continued>
        advance 10
        developer /v1/format-runs/<continued> => 200 thread_id=<string> thread_id!=<thread>
    "#
    a_run_that_never_started_carries_the_thread_it_continues r#"
        developer run => 202 run_id=<first>
        advance 10
        developer run {"instruction": "[mock:fail=mcp_unavailable]", "previous_run_id": "<first>"} => 202 run_id=<failed>
        advance 10
        developer /v1/format-runs/<failed> => 200 thread_id=<thread>
        developer /v1/formats/fmt_demo/runs {"previous_run_id": "<failed>"} => 202 run_id=<canceled>
        developer POST /v1/format-runs/<canceled>/cancel => 200
        developer run {"previous_run_id": "<canceled>"} => 202 run_id=<resumed>
        advance 10
        developer /v1/format-runs/<resumed> => 200 thread_id=<thread> output.summary="The output of the format run, turn 4 of its thread."
    "#
    a_skipped_run_has_no_thread r#"
        developer run => 202 run_id=<first>
        advance 10
        developer run {"instruction": "[mock:skip]", "previous_run_id": "<first>"} => 202 run_id=<skipped>
        advance 10
        developer /v1/format-runs/<skipped> => 200 thread_id=null
        developer /v1/formats/fmt_demo/runs {"previous_run_id": "<skipped>"} => 400 previous_run_not_resumable details.has_thread=false
    "#
    completed_and_failed_runs_can_be_continued r#"
        for <prompt> in x [mock:fail=provider_unavailable] [mock:degraded]
          developer run {"instruction": "<prompt>"} => 202 run_id=<first>
          advance 10
          developer /v1/formats/fmt_demo/runs {"previous_run_id": "<first>"} => 202 run_id=<second>
          developer /v1/format-runs/<second> => 200 previous_run_id=<first>
    "#
    on_active_run_considers_only_the_same_format r#"
        for <kind> in action agent
          developer run:<kind> => 202
        developer media-run => 202
        developer run {"on_active_run": "reject"} => 202 run_id=<id>
        for <second> in 0 1 8
          advance <second>
          for <path> in /v1/formats/fmt_demo/runs /v1/formats/demo/teaser/runs
            developer <path> {"instruction": "x", "on_active_run": "reject"} => 409 format_run_in_progress
        developer run => 202 run_id=<concurrent>
        advance 1
        developer media-run {"on_active_run": "reject"} => 202
        developer POST /v1/format-runs/<concurrent>/cancel => 200
        developer run {"on_active_run": "reject"} => 202 run_id!=<id>
    "#
    on_active_run_considers_runs_of_queues r#"
        developer bulk => 202
        advance 2
        developer run {"on_active_run": "reject"} => 409 format_run_in_progress
        advance 10
        developer run {"on_active_run": "reject"} => 202
    "#
}
