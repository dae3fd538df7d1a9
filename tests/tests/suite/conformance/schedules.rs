//! Runs that Actions start by their schedule.

use super::runs::{Kind, start};
use super::*;

const RUNS: &str = "/v1/actions/act_daily/runs";
/// The seconds from the initial time of the mock, 08:00 UTC, to the first scheduled run.
const UNTIL_FIRST_RUN: u64 = 3600;
const DAY: u64 = 24 * 3600;

on_every_frontend! {
    an_action_names_its_schedule,
    an_action_runs_every_day_at_its_time,
    a_run_names_what_started_it,
    a_run_without_funds_is_skipped,
    the_wallet_of_the_organization_funds_scheduled_runs,
    schedules_continue_after_a_restore,
}

async fn an_action_names_its_schedule(mock: Mock) {
    let developer = mock.developer();
    let daily = developer.get_data("/v1/actions/act_daily").await;
    let schedule = json!({"cron": "0 9 * * *", "timezone": "UTC"});
    assert_eq!(daily["schedule"], schedule);
    let other = developer.get_data("/v1/actions/act_no_trigger").await;
    assert_eq!(other["schedule"], json!(null));
    let scheduled = developer
        .get_items("/v1/actions?trigger_type=schedule")
        .await;
    assert_eq!(scheduled.len(), 1);
    assert_eq!(scheduled[0]["id"], "act_daily");
}

async fn an_action_runs_every_day_at_its_time(mock: Mock) {
    let developer = mock.developer();
    mock.advance(UNTIL_FIRST_RUN - 1).await;
    assert!(developer.get_items(RUNS).await.is_empty());
    mock.advance(1).await;
    let runs = developer.get_items(RUNS).await;
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["created_at"], "2027-01-15T09:00:00Z");
    assert_eq!(runs[0]["status"], "queued");
    mock.advance(10).await;
    assert_eq!(developer.get_items(RUNS).await[0]["status"], "completed");
    mock.advance(3 * DAY - 10).await;
    let created: Vec<_> = developer
        .get_items(RUNS)
        .await
        .iter()
        .map(|run| text(&run["created_at"]))
        .collect();
    let expected = ["18", "17", "16", "15"].map(|day| format!("2027-01-{day}T09:00:00Z"));
    assert_eq!(created, expected);
    assert!(
        mock.developer_as("svc_dev_other")
            .get_items("/v1/actions")
            .await
            .is_empty()
    );
}

async fn a_run_names_what_started_it(mock: Mock) {
    let developer = mock.developer();
    let id = start(&developer, RUNS, json!({})).await;
    mock.advance(UNTIL_FIRST_RUN).await;
    let runs = developer.get_items(RUNS).await;
    let triggers: Vec<_> = runs.iter().map(|run| text(&run["trigger_type"])).collect();
    assert_eq!(triggers, ["schedule", "api"]);
    assert_eq!(runs[1]["run_id"], *id);
    let agent = start(&developer, Kind::Agent.start(), Kind::Agent.body("x")).await;
    let receipt = developer.get_data(&Kind::Agent.run(&agent)).await;
    assert_eq!(receipt.get("trigger_type"), None);
}

async fn a_run_without_funds_is_skipped(mock: Mock) {
    let balance = json!({"balance_usd": 0.0499});
    mock.control()
        .post("/workspaces/ws_demo", balance)
        .await
        .expect(200);
    mock.advance(UNTIL_FIRST_RUN + 10).await;
    let runs = mock.developer().get_items(RUNS).await;
    assert_eq!(runs[0]["status"], "skipped");
    assert_eq!(runs[0]["usage"]["billable_amount_usd_micros"], 0);
    assert!(mock.ledger().await.is_empty());
}

async fn the_wallet_of_the_organization_funds_scheduled_runs(mock: Mock) {
    let statuses = async |wallet: &str| {
        let wallet = json!({"organization_wallet": wallet});
        mock.control()
            .post("/workspaces/ws_demo", wallet)
            .await
            .expect(200);
        mock.advance(DAY).await;
        text(&mock.developer().get_items(RUNS).await[0]["status"])
    };
    assert_eq!(statuses("missing").await, "skipped");
    assert_eq!(statuses("provisioned").await, "completed");
    let balance = mock.developer().get_data("/v1/balance").await;
    assert_eq!(balance["available_usd"], "100.0000");
}

async fn schedules_continue_after_a_restore(mock: Mock) {
    let state = mock.state().await;
    mock.put_state(state).await.expect(200);
    mock.advance(UNTIL_FIRST_RUN).await;
    assert_eq!(mock.developer().get_items(RUNS).await.len(), 1);
}
