//! The spend of runs, and its entries in the ledger.

use super::*;

scripts! {
    a_run_is_billed_to_the_workspace_of_its_key r#"
        developer:svc_dev_other /v1/formats/studio/storyboard/runs {"instruction": "[mock:cost=2]"} => 202 run_id=<id>
        advance 10
        developer /v1/balance => 200 available_usd=100.0000
        developer:svc_dev_other /v1/balance => 200 available_usd=98.0000
    "#
    a_skipped_run_is_free r#"
        for <kind> in action format agent
          developer run:<kind> {"instruction": "[mock:skip][mock:cost=2]"} => 202 run_id=<id>
          advance 10
          ledger <id> =
          developer /v1/<kind>-runs/<id> => 200 status=skipped error=null usage.billable_amount_usd_micros=0
    "#
    the_spend_cap_is_not_reserved [balance_usd("3")] r#"
        developer run {"instruction": "[mock:cost=1]", "generation_spend_cap_usd": 500} => 202 run_id=<id>
        advance 10
        developer /v1/format-runs/<id> => 200 usage.billable_amount_usd_micros=1000000
        developer /v1/balance => 200 available_usd=2.0000 reserved_usd=0.0000
    "#
}

on_every_frontend! { the_ledger_matches_the_receipt_at_every_step }

/// Asserts that the ledger matches the receipt and returns the billable amount.
async fn assert_ledger_matches(mock: &Mock, kind: Kind, id: &str) -> u64 {
    let receipt = receipt(mock, kind, id).await;
    let developer = mock.developer();
    let reserved = ledger_total(&developer, "reservation", id).await;
    let refunded = ledger_total(&developer, "refund", id).await;
    assert_eq!(reserved - refunded, billable(&receipt), "{receipt}");
    let captured = ledger_total(&developer, "capture", id).await;
    let status = receipt["status"].as_str().unwrap();
    if ["completed", "failed", "canceled", "skipped"].contains(&status) {
        assert_eq!(captured, billable(&receipt), "{receipt}");
    }
    assert!(captured <= billable(&receipt), "{receipt}");
    billable(&receipt)
}

async fn the_ledger_matches_the_receipt_at_every_step(mock: Mock) {
    for (kind, prompt) in [
        (Kind::Format, "[mock:cost=1.5]"),
        (Kind::Format, "[mock:cost=0.000001]"),
        (Kind::Format, "[mock:cost=0.7][mock:fail=agent_reported_failure]"),
        (Kind::Format, "x"),
        (Kind::Action, "[mock:cost=2.345678]"),
        (Kind::Agent, "[mock:cost=0.3]"),
    ] {
        let before = available(&mock.developer()).await;
        let id = start_run(&mock, kind, prompt).await;
        for _ in 0..22 {
            assert_ledger_matches(&mock, kind, &id).await;
            mock.advance(0.5).await;
        }
        let billed = assert_ledger_matches(&mock, kind, &id).await;
        let after = available(&mock.developer()).await;
        assert_eq!(before - after, billed, "{prompt}");
    }
}
