//! The spend of runs, and its entries in the ledger.

use super::*;

on_every_frontend! {
    the_ledger_matches_the_receipt_at_every_step,
    a_skipped_run_is_free,
    a_replay_is_not_charged,
    a_run_is_billed_to_the_workspace_of_its_key,
    the_spend_cap_is_not_reserved: balance_usd("3"),
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
        (
            Kind::Format,
            "[mock:cost=0.7][mock:fail=agent_reported_failure]",
        ),
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

async fn a_skipped_run_is_free(mock: Mock) {
    let before = available(&mock.developer()).await;
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "[mock:skip][mock:cost=2]").await;
        mock.advance(10).await;
        assert_eq!(assert_ledger_matches(&mock, kind, &id).await, 0);
        let receipt = receipt(&mock, kind, &id).await;
        assert!(receipt["error"].is_null(), "{receipt}");
    }
    assert_eq!(available(&mock.developer()).await, before);
}

async fn a_replay_is_not_charged(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let body = instruction("[mock:cost=2]");
    keyed.post(RUNS, body.clone()).await.expect(202);
    mock.advance(10).await;
    let before = mock.ledger().await;
    for _ in 0..3 {
        keyed.post(RUNS, body.clone()).await.expect(200);
        mock.advance(10).await;
    }
    assert_eq!(mock.ledger().await, before);
}

async fn a_run_is_billed_to_the_workspace_of_its_key(mock: Mock) {
    let other = mock.developer_as("svc_dev_other");
    let (our_balance, other_balance) =
        (available(&mock.developer()).await, available(&other).await);
    let id = start(&other, STORYBOARD_RUNS, instruction("[mock:cost=2]")).await;
    mock.advance(10).await;
    assert_eq!(available(&mock.developer()).await, our_balance);
    assert_eq!(available(&other).await, other_balance - 2_000_000);
    assert_eq!(ledger_total(&other, "capture", &id).await, 2_000_000);
}

async fn the_spend_cap_is_not_reserved(mock: Mock) {
    let body = with(
        instruction("[mock:cost=1]"),
        json!({"generation_spend_cap_usd": 500}),
    );
    let id = start_demo(&mock, body).await;
    mock.advance(10).await;
    assert_eq!(
        assert_ledger_matches(&mock, Kind::Format, &id).await,
        1_000_000
    );
}
