//! The keys that may start runs.

use super::*;

scripts! {
    service_accounts_cannot_run_formats_or_completions r#"
        # The key is checked before the Format and the body.
        for <request> in run /v1/formats/demo/teaser/runs /v1/formats/studio/storyboard/runs bulk /v1/formats/demo/teaser/bulk-runs run:agent /v1/formats/fmt_none/runs /v1/formats/fmt_demo/runs
          developer:svc_sa_demo POST <request> {} => 403 insufficient_scope details.reason=service_account_format_runs_unsupported
        for <path> in runs:format /v1/agent-runs
          developer GET <path> => 200 #=0
    "#
    service_accounts_can_use_other_operations r#"
        developer run => 202 run_id=<id>
        for <path> in /v1/formats /v1/formats/fmt_demo /v1/actions /v1/format-runs/<id>
          developer:svc_sa_demo GET <path> => 200
        developer:svc_sa_demo /v1/actions/act_daily/runs {} => 202
        developer:svc_sa_demo POST /v1/format-runs/<id>/cancel => 200
    "#
    team_formats_require_a_team_key_and_their_runs_are_private r#"
        developer /v1/formats/fmt_team/runs {"instruction": "x"} => 403 workspace_key_required
        developer:svc_team_demo /v1/formats/fmt_team/runs {"instruction": "x"} => 202 run_id=<id>
        developer:svc_team_demo /v1/format-runs/<id> => 200 run_id=<id>
        developer:svc_team_demo /v1/formats/fmt_team/runs => 200 0.run_id=<id>
        developer /v1/format-runs/<id> => 404 format_run_not_found
        # The key of a team has access only to the Formats that the team was granted.
        developer:svc_team_demo run => 404 format_not_found
    "#
    any_key_can_run_first_party_formats r#"
        for <key> in svc_dev_demo svc_dev_other svc_team_demo
          developer:<key> /v1/formats/studio/storyboard/runs {"instruction": "x"} => 202 run_id=<id>
          developer:<key> /v1/format-runs/<id> => 200
          developer:<key> /v1/formats/studio/storyboard/runs => 200 #=1
    "#
    open_keys_cannot_start_runs r#"
        for <kind> in action format agent
          developer:svc_open_demo run:<kind> => 401 unauthorized
          developer x-api-key=svc_dev_demo run:<kind> => 401 unauthorized
          developer runs:<kind> => 200 #=0
    "#
    scopes_are_checked_before_the_format r#"
        for <format> in fmt_demo fmt_none fmt_team
          developer:svc_dev_noscope /v1/formats/<format>/runs {} => 403 insufficient_scope details.required_scope=formats:write
    "#
}
