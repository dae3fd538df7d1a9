//! `Idempotency-Key` of runs and queues.

use super::*;

scripts! {
    a_replay_returns_the_original_receipt_and_is_not_charged r#"
        for <kind> in format agent
          developer key=order-1 run:<kind> {"instruction": "[mock:cost=2]"} => 202 .=<receipt> run_id=<id>
          developer key=order-1 run:<kind> {"instruction": "[mock:cost=2]"} => 200 .=<receipt>
          advance 10
          developer /v1/<kind>-runs/<id> => 200 status=completed
          control /ledger => 200 .=<ledger>
          repeat 3
            developer key=order-1 run:<kind> {"instruction": "[mock:cost=2]"} => 200 .=<receipt>
            advance 10
          control /ledger => 200 .=<ledger>
          developer key=order-1 run:<kind> {"instruction": "y"} => 409 idempotency_conflict
          developer runs:<kind> => 200 #=1
    "#
    id_and_slug_of_a_format_share_keys r#"
        for <first> <second> in
          | fmt_demo demo/teaser
          | demo/teaser fmt_demo
          | fmt_storyboard studio/storyboard
          | studio/storyboard fmt_storyboard
          developer key=<first> /v1/formats/<first>/runs {"instruction": "x"} => 202 .=<receipt>
          developer key=<first> /v1/formats/<second>/runs {"instruction": "x"} => 200 .=<receipt>
          developer key=<first> /v1/formats/<second>/runs {"instruction": "y"} => 409 idempotency_conflict
    "#
    keys_are_scoped_to_the_format_the_operation_and_the_workspace r#"
        developer key=order-1 run => 202
        developer key=order-1 media-run => 202
        developer key=order-1 /v1/formats/studio/storyboard/runs {"instruction": "x"} => 202
        developer:svc_dev_other key=order-1 /v1/formats/studio/storyboard/runs {"instruction": "x"} => 202
        developer key=order-1 bulk => 202
        for <kind> in action agent
          developer key=order-1 run:<kind> => 202
          developer runs:<kind> => 200 #=1
    "#
    a_queue_is_replayed r#"
        for <body> in {"items":[{"instruction":"x"},{"instruction":"z"}],"concurrency":2}
          developer key=order-1 bulk <body> => 202 .=<receipt> queue_id=<id>
          advance 10
          for <format> in fmt_demo demo/teaser
            developer key=order-1 /v1/formats/<format>/bulk-runs <body> => 200 .=<receipt>
            developer key=order-1 /v1/formats/<format>/bulk-runs {"items": [{"instruction": "y"}]} => 409 idempotency_conflict details.queue_id=<id>
        developer runs:format => 200 #=2
    "#
    a_rejected_start_releases_its_key r#"
        for <path> <bad> <status> <good> in
          | /v1/formats/fmt_demo/runs {} 400 {"instruction":"x"}
          | /v1/formats/fmt_demo/runs {"instruction":"[mock:refuse=studio_agent_upstream_unavailable]"} 503 {"instruction":"x"}
          | /v1/formats/fmt_demo/runs {"previous_run_id":"run_none"} 404 {"instruction":"x"}
          | /v1/formats/fmt_demo/bulk-runs {"items":[]} 400 {"items":[{"instruction":"x"}]}
          | /v1/agent/completions {"instruction":"x"} 400 {"instruction":"x","generation_spend_cap_usd":5}
          developer key=<path>-<status> <path> <bad> => <status>
          developer key=<path>-<status> <path> <good> => 202
          developer key=<path>-<status> <path> <good> => 200
    "#
    a_key_expires_after_a_day r#"
        developer key=order-1 run => 202 run_id=<id> .=<receipt>
        advance 86399
        developer key=order-1 run => 200 .=<receipt>
        advance 2
        developer key=order-1 run => 202 run_id!=<id>
    "#
}

on_every_frontend! { concurrent_retries_create_one_run }

async fn concurrent_retries_create_one_run(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..12 {
        let keyed = mock.developer().idempotency_key("order-1");
        let path = if index % 2 == 0 { RUNS } else { RUNS_BY_SLUG };
        calls.spawn(async move { keyed.post(path, instruction("x")).await });
    }
    assert_created_once(&calls.join_all().await);
    assert_eq!(mock.developer().get_items(RUNS).await.len(), 1);
}
