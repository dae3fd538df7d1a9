//! The spend of runs, and its entries in the ledger.

use serde_json::json;
use svc_tests::{Mock, on_every_frontend};

use super::{
    Kind, RUNS, STORYBOARD_RUNS, available, billable, cancel_run, instruction, ledger_total,
    receipt, run_to_end, start, start_demo, start_run, with,
};

on_every_frontend! {
    spend_rises_until_the_end_of_a_run,
    the_ledger_matches_the_receipt_at_every_step,
    a_canceled_run_is_charged_for_its_progress,
    a_failed_run_is_charged_for_its_progress,
    a_skipped_run_is_free,
    a_replay_is_not_charged,
    a_run_is_billed_to_the_workspace_of_its_key,
    the_spend_cap_is_not_reserved: balance_usd("3"),
}

async fn spend_rises_until_the_end_of_a_run(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "[mock:cost=1.5]").await;
        let mut seen = vec![billable(&receipt(&mock, kind, &id).await)];
        assert_eq!(seen, [0]);
        for _ in 0..20 {
            mock.advance(0.5).await;
            seen.push(billable(&receipt(&mock, kind, &id).await));
        }
        assert!(seen.is_sorted(), "{kind:?}: {seen:?}");
        assert_eq!(*seen.last().unwrap(), 1_500_000, "{kind:?}");
        let rises = seen.iter().any(|billed| (1..1_500_000).contains(billed));
        assert!(rises, "{seen:?}");
        mock.advance(100_000).await;
        assert_eq!(billable(&receipt(&mock, kind, &id).await), 1_500_000);
    }
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

async fn a_canceled_run_is_charged_for_its_progress(mock: Mock) {
    for (seconds, is_free) in [(0, true), (5, false), (9, false)] {
        let id = start_run(&mock, Kind::Format, "[mock:cost=2]").await;
        mock.advance(seconds).await;
        let before = billable(&receipt(&mock, Kind::Format, &id).await);
        cancel_run(&mock.developer(), Kind::Format, &id)
            .await
            .expect(200);
        let billed = assert_ledger_matches(&mock, Kind::Format, &id).await;
        assert_eq!(billed == 0, is_free, "canceled after {seconds} s: {billed}");
        assert!(billed <= before, "{billed} > {before}");
        mock.advance(100).await;
        assert_eq!(
            assert_ledger_matches(&mock, Kind::Format, &id).await,
            billed
        );
    }
}

async fn a_failed_run_is_charged_for_its_progress(mock: Mock) {
    let id = run_to_end(&mock, "[mock:cost=2][mock:fail=incomplete_assembly]").await;
    let billed = assert_ledger_matches(&mock, Kind::Format, &id).await;
    assert!(billed > 0 && billed <= 2_000_000, "{billed}");
}

async fn a_skipped_run_is_free(mock: Mock) {
    let before = available(&mock.developer()).await;
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "[mock:skip][mock:cost=2]").await;
        mock.advance(10).await;
        assert_eq!(assert_ledger_matches(&mock, kind, &id).await, 0);
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
