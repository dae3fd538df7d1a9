//! Validation of the fields of a Format run.

use super::*;

scripts! {
    a_run_requires_content r#"
        for <body> in [] "\"x\"" 7 null true
          developer POST /v1/formats/fmt_demo/runs <body> => 400 invalid_request
        developer runs:format => 200 #=0
        for <body> in {"instruction":"x"} {"input":{"product":"boot"}} {"attachments":[{"url":"https://cdn.example.com/a.png"}]}
          developer /v1/formats/fmt_demo/runs <body> => 202
    "#
    spend_caps_are_those_of_the_request_or_the_format r#"
        for <request> <cap> <micros> in
          | run {"generation_spend_cap_usd":0.01} 10000
          | run {"generation_spend_cap_usd":12.5} 12500000
          | run {"generation_spend_cap_usd":500} 500000000
          | run {"generation_spend_cap_usd":null} 500000000
          | run {} 400000000
          | /v1/formats/fmt_capped/runs {"instruction":"x"} 2000000
          developer <request> <cap> => 202 run_id=<id>
          developer /v1/format-runs/<id> => 200 usage.generation_spend_cap_usd_micros=<micros>
    "#
    webhook_urls_must_be_public_https r#"
        for <url> <status> in
          | http://hooks.example.com/ 400
          | https://localhost/ 400
          | https://10.0.0.1/ 400
          | x 400
          | "" 400
          | https://hooks.example.com/svc 202
          for <kind> in action format agent
            developer run:<kind> {"webhook_url": "<url>"} => <status>
            developer run:<kind> {"communication": {"webhook_url": "<url>"}} => <status>
          developer bulk {"webhook_url": "<url>"} => <status>
          developer bulk {"items": [{"instruction": "x", "webhook_url": "<url>"}]} => <status>
        # The route to this host is missing, but each URL is called.
        advance 10
        control /deliveries => 200 #=8 *.url*=https://hooks.example.com/svc
    "#
    equal_webhook_urls_are_no_conflict r#"
        developer run {"webhook_url": "https://a.example/a", "communication": {"webhook_url": "https://a.example/a"}} => 202
        developer POST /v1/actions/act_daily/runs => 202
    "#
    item_errors_have_the_index [plan("scale")] r#"
        for <item> <code> in
          | "\"x\"" invalid_request
          | null invalid_request
          | [] invalid_request
          | 7 invalid_request
          | {} invalid_request
          | {"input":[]} invalid_request
          | {"instruction":"x","generation_spend_cap_usd":0} invalid_request
          | {"instruction":"x","model":"none"} invalid_request
          | {"instruction":"x","instructions":"x"} unknown_parameter
          | {"instruction":"x","output_schema":{"type":"string"}} output_schema_invalid
          | {"attachments":[{"asset_id":"asset_none"}]} attachment_not_found
          | {"attachments":[{}]} invalid_attachment
          | {"previous_run_id":"run_none"} previous_run_not_found
          developer bulk {"items": [<item>]} => 4xx <code> details.index=0
          developer bulk {"items": [{"instruction": "x"}, {"instruction": "x"}, <item>]} => 4xx <code> details.index=2
        developer runs:format => 200 #=0
    "#
}

on_every_frontend! {
    input_is_limited_to_64_keys_and_2_mib,
    bulk_items_and_concurrency_are_accepted_up_to_their_bounds,
}

async fn input_is_limited_to_64_keys_and_2_mib(mock: Mock) {
    let keys = |count: usize| -> Map<String, Value> {
        (0..count).map(|index| (format!("k{index}"), json!(index))).collect()
    };
    let limit = 2 * 1024 * 1024;
    let empty = json!({"k": ""}).to_string().len();
    let sized = |bytes: usize| json!({"input": {"k": "x".repeat(bytes - empty)}});
    for rejected in [json!({"input": keys(65)}), sized(limit + 1)] {
        mock.developer().post_error(RUNS, rejected, 400, "invalid_request").await;
    }
    start_demo(&mock, json!({"input": keys(64)})).await;
    start_demo(&mock, sized(limit)).await;
}

async fn bulk_items_and_concurrency_are_accepted_up_to_their_bounds(mock: Mock) {
    let items = |count: usize| vec![instruction("x"); count];
    let developer = mock.developer();
    developer.post_error(BULK, json!({"items": items(101)}), 400, "invalid_request").await;
    for (count, concurrency) in [(1, 1), (100, 16), (1, 16)] {
        let body = json!({"items": items(count), "concurrency": concurrency});
        let queue = developer.post_data(BULK, body, 202).await;
        assert_eq!(queue["counts"]["total"], count);
        assert_eq!(queue["concurrency"], concurrency);
    }
}
