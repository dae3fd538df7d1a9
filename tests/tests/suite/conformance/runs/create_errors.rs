//! The errors of the specification's table "Format run create errors".

use super::*;

scripts! {
    formats_that_cannot_be_run_are_rejected r#"
        for <format> <status> <code> in
          | fmt_none 404 format_not_found
          | fmt_archived 404 format_not_found
          | demo/none 404 format_not_found
          | unknown/teaser 404 format_not_found
          | studio/none 404 format_not_found
          | demo/archived 404 format_not_found
          | demo/no-trigger 409 format_api_trigger_disabled
          | team/brand-film 403 workspace_key_required
          | fmt_inactive 409 format_inactive
          | fmt_no_trigger 409 format_api_trigger_disabled
          | fmt_builtin 409 format_not_forkable
          | fmt_team 403 workspace_key_required
          developer /v1/formats/<format>/runs {"instruction": "x"} => <status> <code>
          developer /v1/formats/<format>/bulk-runs {"items": [{"instruction": "x"}]} => <status> <code>
        control /ledger => 200 #=0
    "#
    refuse_directive_returns_errors_of_the_service r#"
        for <code> <status> <retryable> <after> in
          | organization_wallet_not_provisioned 402 false null
          | attachment_too_large 413 false null
          | attachment_fetch_failed 502 false null
          | idempotency_key_in_use 409 true 1
          | studio_agent_upstream_unavailable 503 true 1
          | format_run_failed_to_start 500 false null
          developer key=<code> run {"instruction": "[mock:refuse=<code>]"} => <status> <code> retryable=<retryable> retry_after_seconds=<after>
          developer bulk {"items": [{"instruction": "x"}, {"instruction": "[mock:refuse=<code>]"}]} => <status> <code> details.index=1
          developer key=<code> run => 202
          advance 60
    "#
    unknown_parameters_have_suggestions r#"
        developer run {"thread_id": "t", "outputSchema": {}, "workspace_id": "w", "colour": 1} => 400 unknown_parameter details.errors.*.field=["colour","outputSchema","thread_id","workspace_id"] details.errors.*.suggestion=[null,"output_schema","previous_run_id",null]
        for <path> in /v1/agent/completions /v1/actions/act_daily/runs
          developer <path> {"instructions": "x"} => 400 unknown_parameter details.errors.0.suggestion=instruction
        for <name> <suggestion> in
          | thread_id previous_run_id
          | instructions instruction
          | Input input
          | inputs input
          | outputSchema output_schema
          | output-schema output_schema
          | generation_spend_cap generation_spend_cap_usd
          | webhookUrl webhook_url
          | prompt instruction
          | files attachments
          | colour null
          | x null
          | "" null
          developer run {"<name>": 1} => 400 unknown_parameter details.errors.0.suggestion=<suggestion>
        for <field> in thread_id concurency instruction
          developer bulk {"<field>": 1} => 400 unknown_parameter
        for <kind> in action format agent
          developer runs:<kind> => 200 #=0
    "#
    an_unsupported_schema_lists_every_violation r#"
        for <schema> in {"type":"object","properties":{"a":{"type":"string","pattern":"x"},"b":{"type":"date"}}}
          for <fields> in {"output_schema":<schema>} {"response_format":{"type":"json_schema","json_schema":{"schema":<schema>}}}
            developer run <fields> => 400 output_schema_invalid details.violations.*.path=["/properties/a/pattern","/properties/b/type"] details.violations.*.rule=["unsupported_keyword","unsupported_type"]
        developer run {"output_schema": "x"} => 400 output_schema_invalid details.violations.0.rule=schema_not_object
    "#
    attachment_errors_name_the_index r#"
        for <attachments> <status> <code> <index> in
          | [{"asset_id":"asset_logo"},{}] 400 invalid_attachment 1
          | ["https://cdn.example.com/a.png"] 400 invalid_attachment 0
          | [{"asset_id":"asset_logo","url":"https://cdn.example.com/"}] 400 invalid_attachment 0
          | [{"url":"https://cdn.example.com/a.png"},{"url":"http://cdn.example.com/a.png"}] 400 invalid_attachment 1
          | [{"link":"x"}] 400 invalid_attachment 0
          | [{"url":"https://cdn.example.com/a.png"},{"asset_id":"asset_none"}] 400 attachment_not_found 1
          | [{"asset_id":"asset_poster"}] 413 attachment_too_large 0
          | [{"url":"https://cdn.example.com/a.png"},{"url":"https://cdn.invalid/a.png"}] 502 attachment_fetch_failed 1
          developer /v1/formats/fmt_demo/runs {"attachments": <attachments>} => <status> <code> details.index=<index>
        developer run {"attachments": [{"url": "https://cdn.invalid/a.png"}]} => 502 attachment_fetch_failed next_action=fix_input
        developer run {"attachments": "x"} => 400 invalid_attachment
        developer run {"attachments": [{"asset_id": "asset_reel"}, {"asset_id": "asset_reel"}]} => 413 attachment_too_large details.limit_bytes=500000000
        developer bulk {"items": [{"instruction": "x"}, {"attachments": [{"url": "https://cdn.invalid/"}]}]} => 502 attachment_fetch_failed details.index=1 details.attachment_index=0
        developer /v1/formats/fmt_demo/runs {"attachments": [{"url": "https://cdn.example.com/a.png"}, {"asset_id": "asset_photo"}]} => 202
    "#
    a_previous_run_must_be_a_finished_run_of_the_format r#"
        developer run => 202 run_id=<running>
        developer /v1/formats/fmt_demo/runs {"previous_run_id": "<running>"} => 409 previous_run_not_terminal details.previous_run_status=queued
        developer run:agent => 202 run_id=<agent>
        developer /v1/formats/fmt_demo/runs {"previous_run_id": "<agent>"} => 404 previous_run_not_found
        for <words> <status> in [mock:skip] skipped, [mock:fail=mcp_unavailable] failed
          developer run {"instruction": "<words>"} => 202 run_id=<id>
          advance 10
          developer /v1/formats/fmt_demo/runs {"previous_run_id": "<id>"} => 400 previous_run_not_resumable details={"previous_run_status":"<status>","has_thread":false,"artifact_count":0}
        developer /v1/formats/fmt_media/runs {"previous_run_id": "<running>"} => 400 previous_run_format_mismatch
        developer:svc_dev_other /v1/formats/fmt_storyboard/runs {"previous_run_id": "<running>"} => 404 previous_run_not_found
    "#
    a_rejection_for_an_active_run_is_not_retryable r#"
        developer key=order-1 run {"on_active_run": "reject"} => 202
        developer run {"on_active_run": "reject"} => 409 format_run_in_progress retryable=false
        developer key=order-1 run {"instruction": "y"} => 409 idempotency_conflict details={}
    "#
    the_balance_must_cover_the_run [balance_usd("1.0000")] r#"
        developer run {"instruction": "[mock:cost=1.01]"} => 402 insufficient_credits next_action=add_funds details={"required_usd":"1.0100","available_usd":"1.0000"}
        developer run {"instruction": "[mock:cost=1.01]", "generation_spend_cap_usd": 1} => 202
        developer bulk {"items": [{"instruction": "[mock:cost=0.6]"}, {"instruction": "[mock:cost=0.6]"}]} => 402 insufficient_credits
        developer run {"instruction": "[mock:skip][mock:cost=9]"} => 202
    "#
}

on_every_frontend! {
    a_run_has_at_most_50_attachments,
    a_very_long_parameter_has_no_suggestion,
}

async fn a_very_long_parameter_has_no_suggestion(mock: Mock) {
    let body = json!({"x".repeat(1_000_000): 1});
    let error = mock.developer().post_error(RUNS, body, 400, "unknown_parameter").await;
    assert!(error["details"]["errors"][0]["suggestion"].is_null());
}

async fn a_run_has_at_most_50_attachments(mock: Mock) {
    let attachments = |count| json!({"attachments": vec![json!({"url": IMAGE_URL}); count]});
    let developer = mock.developer();
    developer.post_error(RUNS, attachments(51), 400, "invalid_attachment").await;
    start(&developer, RUNS, attachments(50)).await;
}
