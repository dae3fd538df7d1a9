//! Cancellation of runs.

use super::*;

scripts! {
    a_run_in_flight_is_canceled r#"
        for <kind> in action format agent
          for <seconds> in 0 5 9
            developer run:<kind> => 202 run_id=<id>
            advance <seconds>
            developer POST /v1/<kind>-runs/<id>/cancel => 200 run_id=<id> status=canceled
            developer /v1/<kind>-runs/<id> => 200 status=canceled
            developer /v1/<kind>-runs/<id>/result => 200 status=canceled
    "#
    cancel_is_idempotent r#"
        for <kind> in action format agent
          developer run:<kind> {"instruction": "[mock:cost=1]"} => 202 run_id=<id>
          advance 5
          developer POST /v1/<kind>-runs/<id>/cancel => 200 usage=<usage>
          control /ledger => 200 .=<ledger>
          developer /v1/<kind>-runs/<id> => 200 .=<receipt>
          advance 1000
          developer /v1/<kind>-runs/<id> => 200 .=<receipt>
          developer POST /v1/<kind>-runs/<id>/cancel => 200 status=canceled usage=<usage>
          developer /v1/<kind>-runs/<id>/cancel {} => 200
          control /ledger => 200 .=<ledger>
    "#
    canceling_an_ended_run_changes_nothing r#"
        for <kind> in action format agent
          for <prompt> <end> in x completed, [mock:fail] failed, [mock:skip] skipped
            developer run:<kind> {"instruction": "<prompt>"} => 202 run_id=<id>
            advance 10
            developer /v1/<kind>-runs/<id> => 200 status=<end> .=<receipt>
            developer POST /v1/<kind>-runs/<id>/cancel => 200 status=<end>
            developer /v1/<kind>-runs/<id> => 200 .=<receipt>
    "#
    runs_of_other_kinds_and_workspaces_are_not_found r#"
        for <kind> <other> in action agent, format agent, agent format
          developer POST /v1/<kind>-runs/run_none/cancel => 404 <kind>_run_not_found
          developer run:<other> => 202 run_id=<id>
          developer POST /v1/<kind>-runs/<id>/cancel => 404 <kind>_run_not_found
          developer:svc_dev_other POST /v1/<other>-runs/<id>/cancel => 404
          developer /v1/<other>-runs/<id> => 200 status=queued
        developer run:action => 202 run_id=<id>
        developer:svc_dev_other POST /v1/action-runs/<id>/cancel => 404
        developer /v1/action-runs/<id> => 200 status=queued
    "#
}
