//! `previous_run_id` and `on_active_run`: a run next to others.

use serde_json::json;
use svc_tests::{Mock, on_every_face};

use super::{BULK, DEMO_BY_SLUG, Kind, RUNS, ended, receipt, run_of, start, started, with};

on_every_face! {
    a_run_can_be_continued_however_it_ended,
    a_run_can_be_continued_under_the_formats_slug,
    runs_stand_side_by_side_unless_it_is_said_otherwise,
    only_runs_of_the_same_format_are_in_the_way,
    a_run_of_a_queue_is_in_the_way_too,
}

async fn a_run_can_be_continued_however_it_ended(mock: Mock) {
    for words in ["x", "[mock:fail=provider_unavailable]", "[mock:degraded]"] {
        let first = ended(&mock, words).await;
        let body = json!({"previous_run_id": first});
        let second = start(&mock.developer(), RUNS, body).await;
        let receipt = receipt(&mock, Kind::Format, &second).await;
        assert_eq!(receipt["previous_run_id"], *first.as_str(), "{words}");
    }
}

async fn a_run_can_be_continued_under_the_formats_slug(mock: Mock) {
    let first = ended(&mock, "x").await;
    let body = with(run_of("and now in blue"), json!({"previous_run_id": first}));
    let path = format!("{DEMO_BY_SLUG}/runs");
    let second = start(&mock.developer(), &path, body).await;
    assert_ne!(second, first);
}

async fn runs_stand_side_by_side_unless_it_is_said_otherwise(mock: Mock) {
    for _ in 0..3 {
        started(&mock, Kind::Format, "x").await;
    }
    mock.advance(10).await;
    let runs = mock.developer().get(RUNS).await.expect(200).items();
    assert!(
        runs.iter().all(|run| run["status"] == "completed"),
        "{runs:?}"
    );
}

async fn only_runs_of_the_same_format_are_in_the_way(mock: Mock) {
    let once = with(run_of("x"), json!({"on_active_run": "reject"}));
    started(&mock, Kind::Action, "x").await;
    started(&mock, Kind::Agent, "x").await;
    start(&mock.developer(), "/v1/formats/fmt_media/runs", run_of("x")).await;
    let id = start(&mock.developer(), RUNS, once.clone()).await;
    for second in [0, 1, 8] {
        mock.advance(second).await;
        let answer = mock.developer().post(RUNS, once.clone()).await;
        answer.refused(409, "format_run_in_progress");
    }
    let cancel = format!("{}/cancel", Kind::Format.run(&id));
    mock.developer().post_nothing(&cancel).await.expect(200);
    start(&mock.developer(), RUNS, once).await;
}

async fn a_run_of_a_queue_is_in_the_way_too(mock: Mock) {
    let once = with(run_of("x"), json!({"on_active_run": "reject"}));
    mock.developer()
        .post(BULK, json!({"items": [run_of("x")]}))
        .await
        .expect(202);
    mock.advance(2).await;
    let answer = mock.developer().post(RUNS, once.clone()).await;
    answer.refused(409, "format_run_in_progress");
    mock.advance(10).await;
    start(&mock.developer(), RUNS, once).await;
}
