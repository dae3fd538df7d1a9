//! Workspaces, keys and grants that the control API changes.

use super::*;

scripts! {
    a_workspace_is_created_and_changed r#"
        control /workspaces/ws_new {"balance_usd": 2.5, "plan": "pro"} => 200 ={"id":"ws_new","name":"new","kind":"personal","plan":"pro","balance_usd":"2.5000","organization_wallet":"none","organization_balance_usd":null}
        control /keys {"kind": "developer", "workspace": "ws_new"} => 201 key=<key>
        developer:<key> /v1/balance => 200 available_usd=2.5000
        developer:<key> /v1/jobs => 200 @ratelimit-limit=12000
        control /workspaces/ws_new {"plan": "scale"} => 200 plan=scale balance_usd=2.5000 .=<changed>
        developer:<key> /v1/jobs => 200 @ratelimit-limit=48000
        control /workspaces/ws_new {} => 200 .=<changed>
    "#
    a_balance_can_be_set r#"
        open video => 202
        advance 8
        open video => 202
        control /workspaces/ws_demo {"balance_usd": "0.0049"} => 200
        open image => 402 insufficient_funds details.available_usd=0.0049
        control /ledger => 200 /workspaces.ws_demo.available_usd=0.0049 /workspaces.ws_demo.reserved_usd=0.1250 /workspaces.ws_demo.opening_usd=0.2549
        # A snapshot with a balance that was set is consistent.
        restore
        advance 8
        control /workspaces/ws_demo {"balance_usd": 1} => 200
        open image => 202
    "#
    runs_need_the_wallet_of_the_organization r#"
        control /workspaces/ws_demo {"organization_wallet": "missing"} => 200
        for <request> in run:action run:format run:agent bulk
          developer <request> => 402 organization_wallet_not_provisioned details.workspace_id=ws_demo
        # Jobs are paid from the balance of the workspace.
        open image => 202
        control /workspaces/ws_demo {"organization_wallet": "none"} => 200
        developer run => 202
    "#
    the_wallet_of_the_organization_pays_for_runs r#"
        control /workspaces/ws_demo {"organization_wallet": "provisioned"} => 200 organization_balance_usd=100.0000
        developer run {"instruction": "[mock:cost=3]"} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 usage.billable_amount_usd_micros=3000000
        control /workspaces/ws_demo {} => 200 balance_usd=100.0000 organization_balance_usd=97.0000
        control /ledger => 200 #=6 *.run_id=["<id>","<id>","<id>","<id>","<id>","<id>"] 0.workspace=ws_demo *.wallet=["organization","organization","organization","organization","organization","organization"]
        # The usage is that of the workspace.
        developer /v1/usage => 200 #=0
        # Each request sees the wallet as it is: too little for this run, and not its own balance.
        control /workspaces/ws_demo {"organization_balance_usd": "0.5"} => 200
        developer run {"instruction": "[mock:cost=1]"} => 402 insufficient_credits details.available_usd=0.5000
        restore
    "#
    a_team_workspace_can_be_created r#"
        control /workspaces/ws_crew {"team": true} => 200 kind=team
        control /keys {"kind": "developer", "workspace": "ws_crew"} => 201 key=<key>
        developer:<key> /v1/me => 200 workspace.kind=team
        # A team key is judged by its grant, not by its kind.
        developer:<key> /v1/formats/fmt_team/runs {"instruction": "x"} => 404 format_not_found
        control /grants {"format": "fmt_team", "workspace": "ws_crew"} => 201
        developer:<key> /v1/formats/fmt_team/runs {"instruction": "x"} => 202
    "#
    a_revoked_key_is_rejected r#"
        control /keys {"kind": "developer", "workspace": "ws_new"} => 201 key=<key> id=<id>
        developer:<key> /v1/me => 200
        repeat 2
          control DELETE /keys/<id> => 200 id=<id> revoked=true
          developer:<key> /v1/me => 401 unauthorized
        control DELETE /keys/key_none => 404
        control DELETE /keys/key_open_demo => 200
        open /v1/jobs => 401 unauthorized
        developer /v1/me => 200
    "#
    a_granted_format_can_be_read_and_run r#"
        for <path> in /v1/formats/fmt_demo /v1/formats/demo/teaser /v1/formats/fmt_demo/runs
          developer:svc_dev_other GET <path> => 404 format_not_found
        developer:svc_dev_other run => 404 format_not_found
        control /grants {"format": "demo/teaser", "workspace": "ws_other"} => 201 ={"format":"fmt_demo","workspace":"ws_other"}
        control /grants => 200 =[{"format":"fmt_demo","workspace":"ws_other"}]
        developer:svc_dev_other /v1/formats/demo/teaser => 200 id=fmt_demo
        developer:svc_dev_other /v1/formats => 200 *.id*=fmt_demo
        # The run belongs to the caller, who also pays for it.
        developer:svc_dev_other run => 202 run_id=<id>
        advance 10
        developer:svc_dev_other runs:format => 200 *.run_id=["<id>"]
        developer runs:format => 200 #=0
        developer /v1/balance => 200 available_usd=100.0000
        developer:svc_dev_other /v1/balance => 200 available_usd=99.9500
    "#
    a_grant_does_not_replace_the_key_of_a_team r#"
        control /grants {"format": "fmt_team", "workspace": "ws_demo"} => 201
        developer /v1/formats/fmt_team => 200
        developer /v1/formats => 200 *.id*=fmt_team
        developer /v1/formats/fmt_team/runs {"instruction": "x"} => 403 workspace_key_required
    "#
    a_granted_archived_format_stays_unknown r#"
        control /grants {"format": "fmt_archived", "workspace": "ws_other"} => 201
        developer:svc_dev_other /v1/formats/fmt_archived => 404 format_not_found
    "#
    a_reset_undoes_all_changes r#"
        control /state => 200 /state=<initial>
        control /workspaces/ws_demo {"balance_usd": 1, "organization_wallet": "missing"} => 200
        control /grants {"format": "fmt_demo", "workspace": "ws_other"} => 201
        control DELETE /keys/key_dev_demo => 200
        control /assets {"workspace": "ws_demo", "content_type": "image/png", "bytes": 9} => 201
        control /dns {"host": "a.example", "address": "10.0.0.1"} => 200
        # The changes are part of the state.
        control /state => 200 /state!=<initial> /state=<changed>
        restore
        control /state => 200 /state=<changed>
        control /reset {} => 200
        control /state => 200 /state=<initial>
    "#
}
