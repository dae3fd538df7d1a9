//! Generation concurrency: how many jobs a workspace may have in flight.

use serde_json::{Value, json};
use svc_tests::{Caller, Host, Mock, on_every_face};

use super::{IMAGE, VIDEO, image, submit, text, video, with};

on_every_face! {
    a_workspace_at_its_limit_is_refused: balance_usd("1.0000"),
    a_job_that_ends_makes_room,
    a_canceled_job_makes_room,
    all_keys_of_a_workspace_share_the_limit,
    a_refused_submit_can_be_retried_with_its_key,
}

fn stuck() -> Value {
    with(image(), json!({"prompt": "[mock:stuck]"}))
}

/// Submits until the limit is reached, and gives the jobs' ids.
pub(super) async fn fill(caller: &Caller) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let answer = caller.post(IMAGE, stuck()).await;
        if answer.status() != 202 {
            answer.refused(400, "concurrency_limit_reached");
            return ids;
        }
        ids.push(text(&answer.data()["job"]["id"]));
    }
}

async fn a_workspace_at_its_limit_is_refused(mock: Mock) {
    let open = mock.open();
    let ids = fill(&open).await;
    assert!(!ids.is_empty(), "not even one job at a time");
    open.post(VIDEO, video())
        .await
        .refused(400, "concurrency_limit_reached");
    assert_eq!(
        mock.jobs().await.len(),
        ids.len(),
        "a refused submit made a job"
    );
}

async fn a_job_that_ends_makes_room(mock: Mock) {
    let open = mock.open();
    submit(&open, VIDEO, video()).await;
    fill(&open).await;
    mock.advance(8).await;
    submit(&open, VIDEO, video()).await;
    open.post(VIDEO, video())
        .await
        .refused(400, "concurrency_limit_reached");
}

async fn a_canceled_job_makes_room(mock: Mock) {
    let open = mock.open();
    let ids = fill(&open).await;
    open.post_nothing(&format!("/v1/jobs/{}/cancel", ids[0]))
        .await
        .expect(200);
    submit(&open, VIDEO, video()).await;
    open.post(VIDEO, video())
        .await
        .refused(400, "concurrency_limit_reached");
}

async fn all_keys_of_a_workspace_share_the_limit(mock: Mock) {
    fill(&mock.open()).await;
    let ours = mock
        .new_key(json!({"kind": "open", "workspace": "ws_demo"}))
        .await;
    let theirs = mock
        .new_key(json!({"kind": "open", "workspace": "ws_elsewhere"}))
        .await;
    let colleague = mock.caller(Host::Open).bearer(&ours);
    colleague
        .post(VIDEO, video())
        .await
        .refused(400, "concurrency_limit_reached");
    submit(&mock.caller(Host::Open).bearer(&theirs), VIDEO, video()).await;
}

async fn a_refused_submit_can_be_retried_with_its_key(mock: Mock) {
    let open = mock.open();
    let ids = fill(&open).await;
    let keyed = mock.open().idempotency_key("order-1");
    keyed
        .post(VIDEO, video())
        .await
        .refused(400, "concurrency_limit_reached");
    open.post_nothing(&format!("/v1/jobs/{}/cancel", ids[0]))
        .await
        .expect(200);
    keyed.post(VIDEO, video()).await.expect(202);
    keyed.post(VIDEO, video()).await.expect(200);
}
