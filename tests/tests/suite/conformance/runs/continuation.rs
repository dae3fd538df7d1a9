//! `previous_run_id` and `on_active_run`.

use super::*;

on_every_frontend! {
    completed_and_failed_runs_can_be_continued,
    on_active_run_considers_only_the_same_format,
    on_active_run_considers_runs_of_queues,
    a_continued_run_carries_the_thread,
    a_run_that_never_started_carries_the_thread_it_continues,
    a_skipped_run_has_no_thread,
}

/// Continues a run, advances the clock to its end, and returns its receipt.
async fn continue_run(mock: &Mock, id: &str, prompt: &str) -> Value {
    let body = with(instruction(prompt), json!({"previous_run_id": id}));
    let next = start_demo(mock, body).await;
    mock.advance(10).await;
    receipt(mock, Kind::Format, &next).await
}

async fn a_continued_run_carries_the_thread(mock: Mock) {
    let first = run_to_end(&mock, "x").await;
    let second = continue_run(&mock, &first, "and in blue").await;
    let third = continue_run(&mock, &text(&second["run_id"]), "and in red").await;
    assert!(text(&second["thread_id"]).starts_with("thr_"));
    assert_eq!(third["thread_id"], second["thread_id"]);
    for (run, turn) in [(&second, 2), (&third, 3)] {
        let summary = format!("The output of the format run, turn {turn} of its thread.");
        assert_eq!(run["output"]["summary"], *summary);
    }
    // Another run starts its own thread.
    let other = run_to_end(&mock, "x").await;
    let receipt = receipt(&mock, Kind::Format, &other).await;
    assert_eq!(
        receipt["output"]["summary"],
        "The output of the format run."
    );
    let continued = continue_run(&mock, &other, "x").await;
    assert_ne!(continued["thread_id"], second["thread_id"]);
}

async fn a_run_that_never_started_carries_the_thread_it_continues(mock: Mock) {
    let first = run_to_end(&mock, "x").await;
    let failed = continue_run(&mock, &first, "[mock:fail=mcp_unavailable]").await;
    let thread = text(&failed["thread_id"]);
    let body = json!({"previous_run_id": failed["run_id"]});
    let canceled = start_demo(&mock, body).await;
    cancel_run(&mock.developer(), Kind::Format, &canceled)
        .await
        .expect(200);
    let resumed = continue_run(&mock, &canceled, "x").await;
    assert_eq!(resumed["thread_id"], *thread);
    assert_eq!(
        resumed["output"]["summary"],
        "The output of the format run, turn 4 of its thread."
    );
}

async fn a_skipped_run_has_no_thread(mock: Mock) {
    let first = run_to_end(&mock, "x").await;
    let skipped = continue_run(&mock, &first, "[mock:skip]").await;
    assert_eq!(skipped["thread_id"], json!(null));
    let body = json!({"previous_run_id": skipped["run_id"]});
    let error = mock
        .developer()
        .post_error(RUNS, body, 400, "previous_run_not_resumable")
        .await;
    assert_eq!(error["details"]["has_thread"], false);
}

async fn completed_and_failed_runs_can_be_continued(mock: Mock) {
    for prompt in ["x", "[mock:fail=provider_unavailable]", "[mock:degraded]"] {
        let first = run_to_end(&mock, prompt).await;
        let body = json!({"previous_run_id": first});
        let second = start_demo(&mock, body).await;
        let receipt = receipt(&mock, Kind::Format, &second).await;
        assert_eq!(receipt["previous_run_id"], *first.as_str(), "{prompt}");
    }
}

async fn on_active_run_considers_only_the_same_format(mock: Mock) {
    let developer = mock.developer();
    let exclusive = with(instruction("x"), json!({"on_active_run": "reject"}));
    start_run(&mock, Kind::Action, "x").await;
    start_run(&mock, Kind::Agent, "x").await;
    start(&developer, MEDIA_RUNS, instruction("x")).await;
    let id = start(&developer, RUNS, exclusive.clone()).await;
    for second in [0, 1, 8] {
        mock.advance(second).await;
        for path in [RUNS, RUNS_BY_SLUG] {
            let body = exclusive.clone();
            developer
                .post_error(path, body, 409, "format_run_in_progress")
                .await;
        }
    }
    let concurrent = start(&developer, RUNS, instruction("concurrent")).await;
    mock.advance(1).await;
    start(&developer, MEDIA_RUNS, exclusive.clone()).await;
    cancel_run(&developer, Kind::Format, &concurrent)
        .await
        .expect(200);
    assert_ne!(start(&developer, RUNS, exclusive).await, id);
}

async fn on_active_run_considers_runs_of_queues(mock: Mock) {
    let exclusive = with(instruction("x"), json!({"on_active_run": "reject"}));
    mock.developer()
        .post(BULK, json!({"items": [instruction("x")]}))
        .await
        .expect(202);
    mock.advance(2).await;
    mock.developer()
        .post_error(RUNS, exclusive.clone(), 409, "format_run_in_progress")
        .await;
    mock.advance(10).await;
    start_demo(&mock, exclusive).await;
}
