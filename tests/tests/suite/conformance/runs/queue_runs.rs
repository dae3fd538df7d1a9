//! Bulk queues and their runs.

use super::*;

scripts! {
    a_run_of_a_queue_has_its_queue_id_and_index r#"
        developer bulk {"items": [{"instruction": "x"}, {"instruction": "x"}, {"instruction": "x"}], "concurrency": 2} => 202 queue_id=<queue> next_poll_after_seconds=<number>
        developer /v1/format-run-queues/<queue> => 200 queue_id=<queue> status_url=<DEVELOPER>/v1/format-run-queues/<queue>
        advance 1000
        for <index> in 0 1 2
          developer /v1/format-run-queues/<queue> => 200 items.<index>.run_id=<run> items.<index>.status=<status>
          developer /v1/format-runs/<run> => 200 queue_id=<queue> item_index=<index> status=<status>
        developer runs:format => 200 #=3 .=<runs>
        developer /v1/formats/demo/teaser/runs => 200 .=<runs>
    "#
    each_item_has_its_own_fields r#"
        developer bulk {"items": [{"instruction": "[mock:cost=2]", "generation_spend_cap_usd": 1}, {"instruction": "[mock:cost=2]", "generation_spend_cap_usd": 3}, {"input": {"prompt": "[mock:fail=unattended_blocked]"}}], "concurrency": 2} => 202 queue_id=<queue>
        advance 1000
        developer /v1/format-run-queues/<queue> => 200 items.*.status=["failed","completed","failed"] items.2.run_id=<run>
        developer /v1/format-runs/<run> => 200 error.code=unattended_blocked
    "#
    first_party_formats_accept_queues r#"
        developer:svc_dev_other /v1/formats/studio/storyboard/bulk-runs {"items": [{"instruction": "x"}], "concurrency": 1} => 202 queue_id=<queue>
        advance 20
        developer:svc_dev_other /v1/format-run-queues/<queue> => 200 status=completed
    "#
}

/// Returns the status of a queue.
pub(super) async fn read_queue(mock: &Mock, id: &str) -> Value {
    let path = format!("/v1/format-run-queues/{id}");
    mock.developer().get_data(&path).await
}
