//! Runs that Actions start by their schedule, which is 09:00 UTC. Each mock starts at 08:00 UTC.

use super::*;

scripts! {
    an_action_names_its_schedule r#"
        developer /v1/actions/act_daily => 200 schedule={"cron":"0 9 * * *","timezone":"UTC"}
        developer /v1/actions/act_no_trigger => 200 schedule=null
    "#
    the_schedule_is_paused_at_first r#"
        control /actions => 200 #=2 0.id=act_daily 0.schedule_active=false 0.next_run_at=null
        advance 259200
        developer runs:action => 200 #=0
        control /actions/act_daily {"schedule_active": true} => 200 schedule_active=true next_run_at=2027-01-18T09:00:00Z
        advance 3600
        control /actions/act_daily {"schedule_active": false} => 200 schedule_active=false
        advance 86400
        developer runs:action => 200 #=1
        for <path> <status> in act_none 404, act_no_trigger 409
          control /actions/<path> {"schedule_active": true} => <status>
    "#
    a_reset_pauses_the_schedule_and_catches_nothing_up r#"
        control /actions/act_daily {"schedule_active": true} => 200
        advance 259200
        control POST /reset => 200
        developer runs:action => 200 #=0
        advance 86400
        developer runs:action => 200 #=0
        control /ledger => 200 #=0
    "#
    an_action_runs_every_day_at_its_time r#"
        control /actions/act_daily {"schedule_active": true} => 200
        advance 3599
        developer runs:action => 200 #=0
        advance 1
        developer runs:action => 200 #=1 0.created_at=2027-01-15T09:00:00Z 0.status=queued
        advance 10
        developer runs:action => 200 0.status=completed
        advance 259190
        developer runs:action => 200 *.created_at=["2027-01-18T09:00:00Z","2027-01-17T09:00:00Z","2027-01-16T09:00:00Z","2027-01-15T09:00:00Z"]
    "#
    a_run_names_what_started_it r#"
        control /actions/act_daily {"schedule_active": true} => 200
        developer run:action => 202 run_id=<id>
        advance 3600
        developer runs:action => 200 *.trigger_type=["schedule","api"] 1.run_id=<id>
        developer run:agent => 202 run_id=<agent>
        developer /v1/agent-runs/<agent> => 200 !trigger_type
    "#
    a_run_without_funds_is_skipped r#"
        control /actions/act_daily {"schedule_active": true} => 200
        control /workspaces/ws_demo {"balance_usd": 0.0499} => 200
        advance 3610
        developer runs:action => 200 0.status=skipped 0.usage.billable_amount_usd_micros=0
        control /ledger => 200 #=0
    "#
    the_wallet_of_the_organization_funds_scheduled_runs r#"
        control /actions/act_daily {"schedule_active": true} => 200
        for <wallet> <status> in missing skipped, provisioned completed
          control /workspaces/ws_demo {"organization_wallet": "<wallet>"} => 200
          advance 86400
          developer runs:action => 200 0.status=<status>
        developer /v1/balance => 200 available_usd=100.0000
    "#
    schedules_continue_after_a_restore r#"
        control /actions/act_daily {"schedule_active": true} => 200
        restore
        advance 3600
        developer runs:action => 200 #=1
    "#
}
