//! Webhook events of runs: the event, status and outcome of each way to end, and redeliveries.

use super::super::runs::{Kind, receipt, start_demo};
use super::*;

scripts! {
    a_failed_attempt_is_in_the_run_and_its_timeline r#"
        developer run {"webhook_url": "https://hooks.example.com/svc"} => 202 run_id=<id>
        advance 10
        # Without a route to the receiver the first attempt fails.
        outcomes 1
        developer /v1/format-runs/<id> => 200 webhook_delivery.status=retrying
        developer /v1/format-runs/<id>/events => 200 #=7 6.phase=webhook_delivery 6.status=retrying
        developer POST /v1/format-runs/<id>/webhook/redeliver => 202 run_id=<id> event=format.run.terminal
    "#
    a_queue_item_may_have_its_own_webhook r#"
        developer bulk {"items": [{"instruction": "x"}, {"instruction": "x", "webhook_url": "https://own.example/"}], "webhook_url": "https://all.example/"} => 202
        advance 10
        control /deliveries => 200 *.url=["https://all.example/","https://own.example/"]
    "#
}

webhook_scripts! {
    each_end_of_a_run_has_its_event_and_outcome r#"
        for <count> <kind> <words> <status> <outcome> in
          | 1 agent [mock:degraded] OK degraded
          | 2 action [mock:skip] OK skipped
          | 3 format x OK success
          developer run:<kind> {"instruction": "<words>", "webhook_url": "https://hooks.example.com/svc?tenant=7"} => 202 run_id=<id>
          advance 10
          received <count>
          delivery <count> => event=<kind>.run.terminal status=<status> outcome=<outcome> run_id=<id> payload.run_id=<id> error=null
        developer run {"communication": {"webhook_url": "https://hooks.example.com/svc?tenant=7"}} => 202 run_id=<id>
        developer /v1/format-runs/<id>/cancel {} => 200
        advance 10
        received 4
        delivery 4 => event=format.run.terminal status=ERROR outcome=canceled run_id=<id> payload.run_id=<id> error=null
    "#
    an_event_has_the_output_and_error_of_the_receipt r#"
        for <count> <words> <status> <outcome> in
          | 1 x OK success
          | 2 [mock:fail=output_schema_unsatisfied] ERROR error
          | 3 [mock:fail=agent_reported_failure] ERROR error
          developer run {"instruction": "<words>", "webhook_url": "https://hooks.example.com/svc?tenant=7", "output_schema": {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"hero": {"type": "string", "format": "uri"}}}}, "required": ["metadata"]}} => 202 run_id=<id>
          advance 10
          received <count>
          delivery <count> => payload.artifacts=<artifacts> payload.usage=<usage> status=<status> outcome=<outcome> run_id=<id>
          developer /v1/format-runs/<id> => 200 artifacts=<artifacts> usage=<usage>
    "#
    each_kind_of_run_sends_one_signed_event_at_its_end r#"
        developer /v1/webhooks/signing-secret => 200 secret=<secret>
        for <before> <count> <kind> in 0 1 action, 1 2 format, 2 3 agent
          developer run:<kind> {"webhook_url": "https://hooks.example.com/svc?tenant=7"} => 202 run_id=<id>
          advance 9
          control /deliveries => 200 #=<before>
          advance 1
          received <count>
          signed <count> <secret>
          delivery <count> => @path=/svc?tenant=7 event=<kind>.run.terminal status=OK outcome=success error=null payload.run_id=<id>
          outcomes <count>
          advance 1000000
          received <count>
    "#
    each_run_of_a_queue_sends_an_event r#"
        developer bulk {"items": [{"instruction": "x"}, {"instruction": "x"}, {"instruction": "x"}], "concurrency": 1, "webhook_url": "https://hooks.example.com/svc"} => 202 queue_id=<queue>
        for <index> <count> in 0 1, 1 2, 2 3
          advance 10
          received <count>
          developer /v1/format-run-queues/<queue> => 200 items.<index>.run_id=<id>
          delivery <count> => payload.run_id=<id>
    "#
    a_failed_delivery_does_not_change_the_run r#"
        replies 500
        developer run {"webhook_url": "https://hooks.example.com/svc"} => 202 run_id=<id>
        advance 10
        outcomes 1
        attempts 10
        advance 1000000
        received 10
        developer /v1/format-runs/<id> => 200 status=completed webhook_delivery.status=exhausted webhook_delivery.last_status_code=500
    "#
    the_event_of_a_run_can_be_redelivered r#"
        developer run {"webhook_url": "https://hooks.example.com/svc"} => 202 run_id=<id>
        advance 10
        received 1
        outcomes 1
        advance 500
        developer POST /v1/format-runs/<id>/webhook/redeliver => 202
        advance 0
        received 2
        delivery 1 => event=<event> payload.run_id=<id> @x-svc-webhook-timestamp=1800000010
        delivery 2 => event=<event> payload.run_id=<id> @x-svc-webhook-timestamp=1800000510
    "#
}

on_every_socket_frontend! {
    an_event_has_the_receipt_of_the_run,
    a_receipt_above_1_mib_is_omitted,
}

async fn an_event_has_the_receipt_of_the_run(mock: Mock, receiver: Receiver) {
    for (count, words) in [(1, "x"), (2, "[mock:fail=agent_reported_failure]")] {
        let body = json!({"instruction": words, "webhook_url": "https://hooks.example.com/svc"});
        let id = start_demo(&mock, body).await;
        mock.advance(10).await;
        let event = receiver.wait_for(count).await[count - 1].json();
        let run = receipt(&mock, Kind::Format, &id).await;
        assert_eq!(event["error"], run["error"]);
        for field in [
            "run_id",
            "status",
            "artifacts",
            "output",
            "error",
            "output_error",
            "usage",
            "result_url",
            "events_url",
        ] {
            assert_eq!(event["payload"][field], run[field], "{field}");
        }
    }
}

async fn a_receipt_above_1_mib_is_omitted(mock: Mock, receiver: Receiver) {
    let schema = json!({
        "type": "object", "required": ["text"], "properties": {
            "hero": {"type": "string", "format": "uri"}, "text": {"const": "x".repeat(1024 * 1024)},
        },
    });
    for (count, prompt, status) in
        [(1, "x", "OK"), (2, "[mock:fail=primary_output_missing]", "ERROR")]
    {
        let hook = "https://hooks.example.com/svc";
        let body = json!({"instruction": prompt, "output_schema": schema, "webhook_url": hook});
        let id = start_demo(&mock, body).await;
        mock.advance(10).await;
        let event = receiver.wait_for(count).await[count - 1].json();
        assert_eq!(event["status"], status, "the status of the run");
        assert!(event["payload"].is_null());
        assert_eq!(event["error"]["code"], "payload_too_large");
        let read = receipt(&mock, Kind::Format, &id).await;
        assert_eq!(event["error"]["result_url"], read["result_url"]);
        assert!(read.to_string().len() > 1024 * 1024);
    }
}
