//! `Idempotency-Key` of runs and queues.

use super::*;

on_every_frontend! {
    a_replay_returns_the_original_receipt,
    id_and_slug_of_a_format_share_keys,
    keys_are_scoped_to_the_format_and_the_operation,
    a_queue_is_replayed,
    a_rejected_start_releases_its_key,
    a_key_expires_after_a_day,
    keys_are_scoped_to_the_workspace,
    concurrent_retries_create_one_run,
}

async fn a_replay_returns_the_original_receipt(mock: Mock) {
    for kind in [Kind::Format, Kind::Agent] {
        let keyed = mock.developer().idempotency_key("order-1");
        let first = keyed.post_data(kind.start(), kind.body("x"), 202).await;
        assert_eq!(
            keyed.post_data(kind.start(), kind.body("x"), 200).await,
            first
        );
        mock.advance(10).await;
        assert_eq!(
            status(&mock, kind, &text(&first["run_id"])).await,
            "completed"
        );
        let replay = keyed.post_data(kind.start(), kind.body("x"), 200).await;
        assert_eq!(replay, first, "the original receipt");
        keyed
            .post_error(kind.start(), kind.body("y"), 409, "idempotency_conflict")
            .await;
        let listed = mock.developer().get_items(kind.list()).await;
        assert_eq!(listed.len(), 1, "{kind:?}");
    }
}

async fn id_and_slug_of_a_format_share_keys(mock: Mock) {
    for (id, slug) in [
        (RUNS, RUNS_BY_SLUG),
        ("/v1/formats/fmt_storyboard/runs", STORYBOARD_RUNS),
    ] {
        for (first, second) in [(id, slug), (slug, id)] {
            let keyed = mock.developer().idempotency_key(first);
            let receipt = keyed.post_data(first, instruction("x"), 202).await;
            assert_eq!(
                keyed.post_data(second, instruction("x"), 200).await,
                receipt
            );
            keyed
                .post_error(second, instruction("y"), 409, "idempotency_conflict")
                .await;
        }
    }
}

async fn keys_are_scoped_to_the_format_and_the_operation(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let mut ids = Vec::new();
    for path in [RUNS, MEDIA_RUNS, STORYBOARD_RUNS] {
        ids.push(text(
            &keyed.post_data(path, instruction("x"), 202).await["run_id"],
        ));
    }
    keyed
        .post(BULK, json!({"items": [instruction("x")]}))
        .await
        .expect(202);
    for kind in [Kind::Action, Kind::Agent] {
        let receipt = keyed.post_data(kind.start(), kind.body("x"), 202).await;
        ids.push(text(&receipt["run_id"]));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

async fn a_queue_is_replayed(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let body =
        |prompt: &str| json!({"items": [instruction(prompt), instruction("z")], "concurrency": 2});
    let first = keyed.post_data(BULK, body("x"), 202).await;
    mock.advance(10).await;
    for path in [BULK, "/v1/formats/demo/teaser/bulk-runs"] {
        assert_eq!(keyed.post_data(path, body("x"), 200).await, first);
        let error = keyed
            .post_error(path, body("y"), 409, "idempotency_conflict")
            .await;
        assert_eq!(
            error["details"]["queue_id"], first["queue_id"],
            "the original queue"
        );
    }
    let runs = mock.developer().get_items(RUNS).await;
    assert_eq!(runs.len(), 2);
}

async fn a_rejected_start_releases_its_key(mock: Mock) {
    for (path, bad, good) in [
        (RUNS, json!({}), instruction("x")),
        (
            RUNS,
            instruction("[mock:refuse=studio_agent_upstream_unavailable]"),
            instruction("x"),
        ),
        (
            RUNS,
            with(instruction("x"), json!({"previous_run_id": "run_none"})),
            instruction("x"),
        ),
        (
            BULK,
            json!({"items": []}),
            json!({"items": [instruction("x")]}),
        ),
        (
            COMPLETIONS,
            json!({"instruction": "x"}),
            Kind::Agent.body("x"),
        ),
    ] {
        let keyed = mock.developer().idempotency_key(&format!("{path} {bad}"));
        let rejected = keyed.post(path, bad).await;
        assert!(rejected.status() >= 400, "{rejected:?}");
        keyed.post(path, good.clone()).await.expect(202);
        keyed.post(path, good).await.expect(200);
    }
}

async fn a_key_expires_after_a_day(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let first = keyed.post_data(RUNS, instruction("x"), 202).await;
    mock.advance(86_399).await;
    assert_eq!(keyed.post_data(RUNS, instruction("x"), 200).await, first);
    mock.advance(2).await;
    let second = keyed.post_data(RUNS, instruction("x"), 202).await;
    assert_ne!(second["run_id"], first["run_id"]);
}

async fn keys_are_scoped_to_the_workspace(mock: Mock) {
    let path = STORYBOARD_RUNS;
    let first = mock.developer().idempotency_key("order-1");
    let first = first.post_data(path, instruction("x"), 202).await;
    let second = mock
        .developer_as("svc_dev_other")
        .idempotency_key("order-1");
    let second = second.post_data(path, instruction("x"), 202).await;
    assert_ne!(second["run_id"], first["run_id"]);
}

async fn concurrent_retries_create_one_run(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..12 {
        let keyed = mock.developer().idempotency_key("order-1");
        let path = if index % 2 == 0 { RUNS } else { RUNS_BY_SLUG };
        calls.spawn(async move { keyed.post(path, instruction("x")).await });
    }
    let responses = calls.join_all().await;
    let created = responses
        .iter()
        .filter(|response| response.status() == 202)
        .count();
    assert_eq!(created, 1, "{responses:?}");
    for response in responses.iter().filter(|response| response.status() != 202) {
        let in_use = response.status() == 409 && response.code() == "idempotency_key_in_use";
        assert!(response.status() == 200 || in_use, "{response:?}");
    }
    assert_eq!(mock.developer().get_items(RUNS).await.len(), 1);
}
