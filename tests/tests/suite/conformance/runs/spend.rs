//! The spend of runs, and its entries in the ledger.

use super::*;

on_every_frontend! {
    the_ledger_matches_the_receipt_at_every_step,
    funds_that_run_out_fail_the_run: balance_usd("1.0000"),
}

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

async fn funds_that_run_out_fail_the_run(mock: Mock) {
    let body = || instruction("[mock:cost=0.9]");
    let ids = [start_demo(&mock, body()).await, start_demo(&mock, body()).await];
    mock.advance(10).await;
    let runs =
        [receipt(&mock, Kind::Format, &ids[0]).await, receipt(&mock, Kind::Format, &ids[1]).await];
    let has_failed = |run: &Value| run["error"]["code"] == "format_run_failed";
    assert!(runs.iter().any(has_failed), "{runs:?}");
    assert!(runs.iter().map(billable).sum::<u64>() <= 1_000_000, "{runs:?}");
}
