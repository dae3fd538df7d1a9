//! The control API of the mock.

use super::*;

scripts! {
    the_control_api_needs_no_key_and_is_not_rate_limited r#"
        for <path> in /clock /requests /deliveries /ledger /jobs /state
          control GET <path> => 200
        open /v1/jobs => 200 @ratelimit-remaining=4799
    "#
    the_clock_moves_only_when_advanced r#"
        control /clock => 200 .=<first>
        control /clock => 200 .=<first>
        advance 1
        control /clock => 200 .!=<first> .=<second>
        advance 0
        control /clock => 200 .=<second>
    "#
    reset_restores_the_initial_state [balance_usd("1.0000")] r#"
        control /keys {"kind": "open", "workspace": "ws_new"} => 201 key=<key>
        open video => 202 job.id=<id>
        open top-up => 201 id=<top_up>
        open key=order-1 image => 202
        control /faults {"kind": "status_503", "operation": "jobs_list", "times": 1000} => 200
        advance 60
        control POST /reset => 200
        open /v1/jobs/<id> => 404
        open /v1/open/top-ups/<top_up> => 404
        open /v1/jobs => 200 #=0
        open:<key> /v1/jobs => 401 unauthorized
        available 1.0000
        open key=order-1 image => 202
    "#
    a_new_key_works_on_its_surface r#"
        control /keys {"kind": "open"} => 201 key=<key> id^=key_ workspace=ws_demo scopes=<array>
        open:<key> /v1/jobs => 200
        open: x-api-key=<key> video => 202
        developer:<key> /v1/jobs => 401 unauthorized
        control /keys {"kind": "developer"} => 201 workspace=ws_demo scopes.#=9
    "#
    a_new_workspace_has_a_full_balance_and_its_own_plan [balance_usd("1.0000")] r#"
        open video => 202
        control /keys {"kind": "open", "workspace": "ws_rich", "plan": "scale"} => 201 key=<key>
        open:<key> /v1/jobs => 200 @ratelimit-limit=48000
        control /ledger => 200 /workspaces.ws_rich.available_usd=1.0000 /workspaces.ws_demo.available_usd=0.8750
        control /keys {"kind": "open", "workspace": "ws_rich"} => 201 key=<second> key!=<key>
        open:<second> video => 202
        control /ledger => 200 /workspaces.ws_rich.available_usd=0.8750
    "#
    a_job_can_be_completed_or_failed_with_a_code [balance_usd("1.0000")] r#"
        open video {"prompt": "[mock:stuck]"} => 202 job.id=<completed>
        control /jobs/<completed> {"status": "completed"} => 200
        open /v1/jobs/<completed>/result => 200 status=completed artifacts.#=1
        ledger <completed> = reservation 0.1250, capture 0.1250
        open video => 202 job.id=<failed>
        control /jobs/<failed> {"status": "failed", "code": "provider_unavailable"} => 200
        open /v1/jobs/<failed>/result => 200 status=failed error.code=provider_unavailable
        available 0.8750
        advance 60
        open /v1/jobs/<failed>/status => 200 status=failed
        ledger <failed> = reservation 0.1250, refund 0.1250
    "#
    the_journal_records_every_request r#"
        open key=order-1 video => 202
        developer /v1/jobs?status=queued => 200
        open /v1/nothing => 404
        control /requests => 200 *.method=["POST","GET","GET"] *.path=["/v1/video-router/generate","/v1/jobs?status=queued","/v1/nothing"] *.status=[202,200,404]
        control /requests => 200 *.surface=["open","developer","open"] *.operation=["video_generate","jobs_list",null] 0.idempotency_key=order-1 0.headers.content-type=application/json
        control /requests?since=2 => 200 *.path=["/v1/nothing"]
        control /requests?since=1000000 => 200 #=0
    "#
    errors_say_what_is_expected r#"
        for <path> <body> <message> in
          | /clock/advance {} "expected body of POST /clock/advance: "
          | /clock/advance {"seconds":-1} "expected 0 to"
          | /clock/advance {"seconds":1e300} "expected 0 to"
          | /clock/advance {"minutes":1} "expected `seconds`"
          | /clock/advance {"seconds":"1"} "expected "
          | /clock/advance [] "expected "
          | /reset {"hard":true} "unknown field `hard`"
          | /faults {"kind":"explode"} `status_503`
          | /faults {"kind":"delay","sometimes":1} `probability`
          | /faults {"kind":"delay","operation":"jobs"} operation
          | /keys {"kind":"master"} `service_account`
          | /top-ups/top_1 {} "missing field `status`"
          | /jobs/job_1 {"state":"failed"} "expected `status` or `code`"
          control <path> <body> => 400 message*="<message>"
        control /clock => 200 now=2027-01-15T08:00:00Z
        for <path> in /v1/jobs /clock/ /jobs/ /jobs/a/b
          control GET <path> => 404 message*=/clock/advance
        control DELETE /clock => 405 message*=GET
        control PATCH /faults => 405 @allow="GET, POST, DELETE"
        for <path> in /ledger /jobs
          for <query> <name> in limit=0 limit, limit=1001 limit, limit=x limit, cursor=-1 cursor, cursor cursor, page=2 page
            control GET <path>?<query> => 400 message*=<name>
        open image => 202 job.id=<id>
        control POST /deliveries/<id> => 409
        control POST /deliveries/job_none => 404
    "#
    the_ledger_and_the_jobs_are_paged r#"
        repeat 5
          open image => 202
        advance 2
        control /jobs => 200 #=5 .=<all> 0=<a> 1=<b> 2=<c> 3=<d> 4=<e> /next_cursor=null
        control /jobs?limit=1000 => 200 .=<all> /next_cursor=null
        control /jobs?limit=2&cursor=0 => 200 =[<a>,<b>] /next_cursor=<cursor>
        control /jobs?limit=2&cursor=<cursor> => 200 =[<c>,<d>] /next_cursor=<next>
        control /jobs?limit=2&cursor=<next> => 200 =[<e>] /next_cursor=null
        control /ledger => 200 #=10 .=<entries> 0=<first> 5=<sixth> 6=<seventh> 9=<last> /workspaces=<balances> /next_cursor=null
        control /ledger?limit=1000 => 200 .=<entries> /next_cursor=null
        control /ledger?limit=6 => 200 #=6 0=<first> 5=<sixth> /workspaces=<balances> /next_cursor=<from>
        control /ledger?limit=6&cursor=<from> => 200 #=4 0=<seventh> 3=<last> /workspaces=<balances> /next_cursor=null
    "#
    the_clock_can_be_paused_and_run [speed(1.0)] r#"
        control /clock/advance {"seconds": 1} => 409 message*="--clock manual"
        control PUT /clock {"mode": "manual"} => 200 mode=manual speed=null
        advance 5
        control PUT /clock {"mode": "real", "speed": 20} => 200 speed=20
        control PUT /clock {"mode": "real", "speed": 0} => 400 message*="0.001 to 1000000"
        control PUT /clock {"mode": "manual", "speed": 2} => 400
    "#
    the_waits_in_responses_follow_the_speed_and_a_reset_keeps_the_time r#"
        control /clock => 200 mode=manual epoch=2027-01-15T08:00:00Z now=2027-01-15T08:00:00Z
        control /clock/advance {"seconds": 1.5} => 200 now=2027-01-15T08:00:01.5Z
        open image => 202 next_poll_after_seconds=1
        control POST /reset => 200 now=2027-01-15T08:00:01.5Z
        control PUT /clock {"mode": "real", "speed": 10} => 200
        open image => 202 next_poll_after_seconds=0.1
    "#
    a_request_can_be_read_by_its_number r#"
        open accept=a/b accept=c/d image => 202
        control /requests/1 => 200 key=key_open_demo operation=image_generate headers.accept="a/b, c/d" headers.authorization=[redacted]
        control /requests/2 => 404
        control /requests/last => 400
    "#
    a_balance_can_be_topped_up r#"
        control /runs => 200 #=0
        control /top-ups => 200 #=0
        control /top-ups {"workspace": "ws_team", "amount_usd": "20.50"} => 201 status=paid amount_usd_cents=2050
        control /ledger => 200 /workspaces.ws_team.available_usd=120.5000 0.kind=top_up
        for <body> in {"amount_usd":"0"} {"amount_usd":"-1"} {"amount_usd":"0.001"} {"amount_usd":"99999999999"} {"amount_usd":"x"} {"amount_usd":"1","workspace":"ws_none"} {}
          control /top-ups <body> => 400
        control /workspaces/ws_team {"balance_usd": "9223372036854.00"} => 200
        control /top-ups {"workspace": "ws_team", "amount_usd": "20.50"} => 409
        control /top-ups => 200 #=1
    "#
    jobs_of_all_workspaces_are_listed r#"
        open video => 202 job.id=<first>
        control /keys {"kind": "open", "workspace": "ws_new"} => 201 key=<key>
        open:<key> image => 202 job.id=<second>
        control /jobs => 200 #=2 *.id*=<first> *.id*=<second>
    "#
}

on_every_frontend! {
    keys_workspaces_and_limits_are_listed,
    bodies_are_stored,
    large_bodies_are_rejected,
    the_journal_contains_no_credentials,
}

async fn keys_workspaces_and_limits_are_listed(mock: Mock) {
    submit(&mock.open(), IMAGE, image()).await;
    let find = async |path: &str, name: &str, value: &str| {
        let items = mock.control().get_items(path).await;
        items.into_iter().find(|item| item[name] == value).unwrap()
    };
    let key = find("/keys", "id", "key_open_demo").await;
    assert_eq!((&key["key"], &key["workspace"]), (&json!("svc_open_demo"), &json!("ws_demo")));
    assert!(key["last_used_at"].is_string());
    let workspace = find("/workspaces", "id", "ws_demo").await;
    assert_eq!(workspace["available_usd"], "99.9950");
    assert_eq!((&workspace["in_flight"], &workspace["concurrent_jobs"]), (&json!(1), &json!(100)));
    let limit = find("/limits", "key", "key_open_demo").await;
    assert_eq!((&limit["write"]["used"], &limit["write"]["remaining"]), (&json!(1), &json!(119)));
    assert_eq!(limit["write"]["resets_at"], "2027-01-15T08:01:00Z");
    assert_eq!(limit["read"]["used"], 0);
}

async fn bodies_are_stored(mock: Mock) {
    submit(&mock.open(), IMAGE, image()).await;
    let request = mock.control().get_json("/requests/1").await;
    assert!(request["request"].to_string().contains("a red fox"), "{request}");
}

async fn large_bodies_are_rejected(mock: Mock) {
    let body = vec![b' '; 1024 * 1024 + 1];
    mock.control().post_bytes("/reset", body).await.expect(413);
}

async fn the_journal_contains_no_credentials(mock: Mock) {
    for (name, value) in [
        ("authorization", "Bearer svc_open_demo"),
        ("authorization", "bearer svc_canary_1"),
        ("authorization", "svc_canary_2"),
        ("Authorization", "Basic svc_canary_3"),
        ("x-api-key", "svc_open_demo"),
        ("X-API-Key", "svc_canary_4"),
        ("x-api-key", "Bearer svc_canary_5"),
    ] {
        mock.client(Host::Open).header(name, value).get("/v1/jobs").await;
        mock.client(Host::Developer).header(name, value).get("/v1/health").await;
    }
    mock.open().api_key("svc_canary_6").get("/v1/jobs").await.expect(401);
    let journal = Value::Array(mock.journal(0).await).to_string();
    assert!(journal.contains("authorization"), "the name is recorded");
    for secret in ["svc_open_demo", "svc_canary"] {
        assert!(!journal.contains(secret), "{secret} is in {journal}");
    }
}
