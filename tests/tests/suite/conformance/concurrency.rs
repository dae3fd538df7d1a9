//! The limit of concurrent jobs per workspace.

use super::*;

on_every_frontend! {
    jobs_above_the_limit_are_rejected: balance_usd("1.0000"),
    a_completed_job_frees_a_slot,
    a_canceled_job_frees_a_slot,
    all_keys_of_a_workspace_share_the_limit,
    a_rejected_submit_can_be_retried_with_its_idempotency_key,
}

fn stuck_image() -> Value {
    with(image(), json!({"prompt": "[mock:stuck]"}))
}

/// Submits jobs that never end until the limit is reached and returns their ids.
pub(super) async fn fill_concurrency_limit(client: &Client) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let response = client.post(IMAGE, stuck_image()).await;
        if response.status() != 202 {
            response.expect_error(400, "concurrency_limit_reached");
            return ids;
        }
        ids.push(text(&response.data()["job"]["id"]));
    }
}

async fn jobs_above_the_limit_are_rejected(mock: Mock) {
    let open = mock.open();
    let ids = fill_concurrency_limit(&open).await;
    assert!(!ids.is_empty());
    open.post_error(VIDEO, video(), 400, "concurrency_limit_reached")
        .await;
    assert_eq!(
        mock.jobs().await.len(),
        ids.len(),
        "a rejected submit created a job"
    );
}

async fn a_completed_job_frees_a_slot(mock: Mock) {
    let open = mock.open();
    submit(&open, VIDEO, video()).await;
    fill_concurrency_limit(&open).await;
    mock.advance(8).await;
    submit(&open, VIDEO, video()).await;
    open.post_error(VIDEO, video(), 400, "concurrency_limit_reached")
        .await;
}

async fn a_canceled_job_frees_a_slot(mock: Mock) {
    let open = mock.open();
    let ids = fill_concurrency_limit(&open).await;
    cancel(&open, &ids[0]).await.expect(200);
    submit(&open, VIDEO, video()).await;
    open.post_error(VIDEO, video(), 400, "concurrency_limit_reached")
        .await;
}

async fn all_keys_of_a_workspace_share_the_limit(mock: Mock) {
    fill_concurrency_limit(&mock.open()).await;
    let same_workspace = mock.new_open_client("ws_demo").await;
    same_workspace
        .post_error(VIDEO, video(), 400, "concurrency_limit_reached")
        .await;
    let other_workspace = mock.new_open_client("ws_elsewhere").await;
    submit(&other_workspace, VIDEO, video()).await;
}

async fn a_rejected_submit_can_be_retried_with_its_idempotency_key(mock: Mock) {
    let open = mock.open();
    let ids = fill_concurrency_limit(&open).await;
    let keyed = mock.open().idempotency_key("order-1");
    keyed
        .post_error(VIDEO, video(), 400, "concurrency_limit_reached")
        .await;
    cancel(&open, &ids[0]).await.expect(200);
    keyed.post(VIDEO, video()).await.expect(202);
    keyed.post(VIDEO, video()).await.expect(200);
}
