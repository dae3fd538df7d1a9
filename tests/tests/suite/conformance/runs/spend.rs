//! What a run spends: it rises, settles, and is what the ledger has.

use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::{
    Kind, RUNS, STORYBOARD, available, billable, booked, ended, receipt, run_of, start, started,
};

on_every_face! {
    spend_rises_during_a_run_and_settles_at_its_end,
    the_ledger_agrees_with_the_receipt_at_every_step,
    a_canceled_run_pays_for_what_was_done,
    a_failed_run_pays_for_what_was_done,
    a_skipped_run_costs_nothing,
    a_replay_costs_nothing,
    a_run_is_billed_to_the_workspace_of_its_key,
    a_large_cap_needs_no_money_of_its_size: balance_usd("3"),
}

async fn spend_rises_during_a_run_and_settles_at_its_end(mock: Mock) {
    for kind in Kind::ALL {
        let id = started(&mock, kind, "[mock:cost=1.5]").await;
        let mut seen = vec![billable(&receipt(&mock, kind, &id).await)];
        assert_eq!(seen, [0], "nothing is spent at the start");
        for _ in 0..20 {
            mock.advance(0.5).await;
            seen.push(billable(&receipt(&mock, kind, &id).await));
        }
        assert!(seen.is_sorted(), "{kind:?}: {seen:?}");
        assert_eq!(*seen.last().unwrap(), 1_500_000, "{kind:?}");
        let between = seen.iter().any(|spent| (1..1_500_000).contains(spent));
        assert!(between, "it rises during the run: {seen:?}");
        mock.advance(100_000).await;
        assert_eq!(billable(&receipt(&mock, kind, &id).await), 1_500_000);
    }
}

/// Asserts that reserved and captured spend in the ledger is what the receipt says.
async fn agrees(mock: &Mock, kind: Kind, id: &str) -> u64 {
    let receipt = receipt(mock, kind, id).await;
    let developer = mock.developer();
    let reserved = booked(&developer, "reservation", id).await;
    let refunded = booked(&developer, "refund", id).await;
    assert_eq!(reserved - refunded, billable(&receipt), "{receipt}");
    let captured = booked(&developer, "capture", id).await;
    let status = receipt["status"].as_str().unwrap();
    if ["completed", "failed", "canceled", "skipped"].contains(&status) {
        assert_eq!(
            captured,
            billable(&receipt),
            "all is captured at the end: {receipt}"
        );
    }
    assert!(captured <= billable(&receipt), "{receipt}");
    billable(&receipt)
}

async fn the_ledger_agrees_with_the_receipt_at_every_step(mock: Mock) {
    for (kind, words) in [
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
        let id = started(&mock, kind, words).await;
        for _ in 0..22 {
            agrees(&mock, kind, &id).await;
            mock.advance(0.5).await;
        }
        let spent = agrees(&mock, kind, &id).await;
        let after = available(&mock.developer()).await;
        assert_eq!(before - after, spent, "{words}");
    }
}

async fn a_canceled_run_pays_for_what_was_done(mock: Mock) {
    for (seconds, is_free) in [(0, true), (5, false), (9, false)] {
        let id = started(&mock, Kind::Format, "[mock:cost=2]").await;
        mock.advance(seconds).await;
        let before = billable(&receipt(&mock, Kind::Format, &id).await);
        let cancel = format!("{}/cancel", Kind::Format.run(&id));
        mock.developer().post_nothing(&cancel).await.expect(200);
        let spent = agrees(&mock, Kind::Format, &id).await;
        assert_eq!(spent == 0, is_free, "canceled after {seconds} s: {spent}");
        assert!(spent <= before, "no more than was spent at the cancel");
        mock.advance(100).await;
        assert_eq!(agrees(&mock, Kind::Format, &id).await, spent);
    }
}

async fn a_failed_run_pays_for_what_was_done(mock: Mock) {
    let id = ended(&mock, "[mock:cost=2][mock:fail=incomplete_assembly]").await;
    let spent = agrees(&mock, Kind::Format, &id).await;
    assert!(spent > 0 && spent <= 2_000_000, "{spent}");
}

async fn a_skipped_run_costs_nothing(mock: Mock) {
    let before = available(&mock.developer()).await;
    for kind in Kind::ALL {
        let id = started(&mock, kind, "[mock:skip][mock:cost=2]").await;
        mock.advance(10).await;
        assert_eq!(agrees(&mock, kind, &id).await, 0);
    }
    assert_eq!(available(&mock.developer()).await, before);
}

async fn a_replay_costs_nothing(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let body = run_of("[mock:cost=2]");
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
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    let (ours, theirs) = (
        available(&mock.developer()).await,
        available(&stranger).await,
    );
    let id = start(
        &stranger,
        &format!("{STORYBOARD}/runs"),
        run_of("[mock:cost=2]"),
    )
    .await;
    mock.advance(10).await;
    assert_eq!(available(&mock.developer()).await, ours);
    assert_eq!(available(&stranger).await, theirs - 2_000_000);
    assert_eq!(booked(&stranger, "capture", &id).await, 2_000_000);
}

async fn a_large_cap_needs_no_money_of_its_size(mock: Mock) {
    let body = super::with(
        run_of("[mock:cost=1]"),
        json!({"generation_spend_cap_usd": 500}),
    );
    let id = start(&mock.developer(), RUNS, body).await;
    mock.advance(10).await;
    assert_eq!(agrees(&mock, Kind::Format, &id).await, 1_000_000);
}
