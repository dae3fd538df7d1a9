//! The account on the developer surface, and the routes that need no key.

use super::*;

scripts! {
    public_routes_need_no_key r#"
        for <key> in "" svc_dev_demo svc_invalid svc_open_demo
          for <path> in /health /v1/health
            developer:<key> <path> => 200 status=ok
          for <path> in /v1/catalog /v1/bgm/catalog /v1/bgm/categories
            developer:<key> <path> => 200
          developer:<key> /v1/bgm/pick {} => 200
    "#
    seeded_keys_exist r#"
        for <key> <workspace> <scopes> in
          | svc_dev_demo ws_demo 9
          | svc_dev_noscope ws_demo 0
          | svc_sa_demo ws_demo 9
          | svc_team_demo ws_team 9
          | svc_dev_other ws_other 9
          developer:<key> /v1/me => 200 workspace.id=<workspace> key.scopes.#=<scopes> owner=<object>
    "#
    balance_and_usage_include_jobs_of_the_open_surface [balance_usd("1.0000")] r#"
        open video => 202 job.id=<id>
        developer /v1/balance => 200 currency=USD available_usd=0.8750 reserved_usd=0.1250
        advance 8
        developer /v1/balance => 200 available_usd=0.8750 reserved_usd=0.0000
        developer /v1/usage => 200 *.kind=["capture", "reservation"] *.job_id=["<id>", "<id>"]
        developer /v1/usage => 200 *.amount_usd=["0.1250", "0.1250"] 0.id=<string> 1.created_at=<string>
        developer:svc_dev_other /v1/usage => 200 #=0
    "#
}
