//! `Idempotency-Key` on runs and queues: one key, one run; kept a Format, however it is addressed.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_face};

use super::{BULK, COMPLETIONS, Kind, RUNS, run_of, status, text, with};

on_every_face! {
    a_retry_gets_the_original_receipt,
    a_formats_keys_are_one_set_by_id_and_by_slug,
    each_format_and_each_operation_has_its_own_keys,
    a_queue_is_replayed_too,
    a_create_that_is_refused_releases_its_key,
    keys_are_1_to_255_printable_characters,
    a_key_is_kept_for_a_day,
    each_workspace_has_its_own_keys,
    without_a_key_each_start_is_a_run_of_its_own,
    retries_at_the_same_time_make_one_run,
}

async fn a_retry_gets_the_original_receipt(mock: Mock) {
    for kind in Kind::ALL {
        let keyed = mock.developer().idempotency_key("order-1");
        let first = keyed
            .post(kind.start(), kind.body("x"))
            .await
            .expect(202)
            .data();
        assert_eq!(
            keyed
                .post(kind.start(), kind.body("x"))
                .await
                .expect(200)
                .data(),
            first
        );
        mock.advance(10).await;
        assert_eq!(
            status(&mock, kind, &text(&first["run_id"])).await,
            "completed"
        );
        let replay = keyed
            .post(kind.start(), kind.body("x"))
            .await
            .expect(200)
            .data();
        assert_eq!(replay, first, "as it was at the time");
        let other = keyed.post(kind.start(), kind.body("y")).await;
        other.refused(409, "idempotency_conflict");
        let listed = mock.developer().get(kind.list()).await.expect(200).items();
        assert_eq!(listed.len(), 1, "{kind:?}");
    }
}

async fn a_formats_keys_are_one_set_by_id_and_by_slug(mock: Mock) {
    for (id, slug) in [
        (RUNS, "/v1/formats/demo/teaser/runs"),
        (
            "/v1/formats/fmt_storyboard/runs",
            "/v1/formats/studio/storyboard/runs",
        ),
    ] {
        for (first, second) in [(id, slug), (slug, id)] {
            let keyed = mock.developer().idempotency_key(first);
            let receipt = keyed.post(first, run_of("x")).await.expect(202).data();
            assert_eq!(
                keyed.post(second, run_of("x")).await.expect(200).data(),
                receipt
            );
            keyed
                .post(second, run_of("y"))
                .await
                .refused(409, "idempotency_conflict");
        }
    }
}

async fn each_format_and_each_operation_has_its_own_keys(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let mut ids = Vec::new();
    for path in [
        RUNS,
        "/v1/formats/fmt_media/runs",
        "/v1/formats/studio/storyboard/runs",
    ] {
        ids.push(text(
            &keyed.post(path, run_of("x")).await.expect(202).data()["run_id"],
        ));
    }
    keyed
        .post(BULK, json!({"items": [run_of("x")]}))
        .await
        .expect(202);
    for kind in [Kind::Action, Kind::Agent] {
        let receipt = keyed
            .post(kind.start(), kind.body("x"))
            .await
            .expect(202)
            .data();
        ids.push(text(&receipt["run_id"]));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

async fn a_queue_is_replayed_too(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let body = |words: &str| json!({"items": [run_of(words), run_of("z")], "concurrency": 2});
    let first = keyed.post(BULK, body("x")).await.expect(202).data();
    mock.advance(10).await;
    for path in [BULK, "/v1/formats/demo/teaser/bulk-runs"] {
        assert_eq!(keyed.post(path, body("x")).await.expect(200).data(), first);
        let error = keyed
            .post(path, body("y"))
            .await
            .refused(409, "idempotency_conflict");
        assert_eq!(
            error["details"]["queue_id"], first["queue_id"],
            "names the original"
        );
    }
    let runs = mock.developer().get(RUNS).await.expect(200).items();
    assert_eq!(runs.len(), 2);
}

async fn a_create_that_is_refused_releases_its_key(mock: Mock) {
    for (path, bad, good) in [
        (RUNS, json!({}), run_of("x")),
        (
            RUNS,
            run_of("[mock:refuse=studio_agent_upstream_unavailable]"),
            run_of("x"),
        ),
        (
            RUNS,
            with(run_of("x"), json!({"previous_run_id": "run_none"})),
            run_of("x"),
        ),
        (BULK, json!({"items": []}), json!({"items": [run_of("x")]})),
        (
            COMPLETIONS,
            json!({"instruction": "x"}),
            Kind::Agent.body("x"),
        ),
    ] {
        let keyed = mock.developer().idempotency_key(&format!("{path} {bad}"));
        let refused = keyed.post(path, bad).await;
        assert!(refused.status() >= 400, "{refused:?}");
        keyed.post(path, good.clone()).await.expect(202);
        keyed.post(path, good).await.expect(200);
    }
}

async fn keys_are_1_to_255_printable_characters(mock: Mock) {
    let starts: [(&str, Value); 4] = [
        (RUNS, run_of("x")),
        (BULK, json!({"items": [run_of("x")]})),
        (COMPLETIONS, Kind::Agent.body("x")),
        (Kind::Action.start(), json!({})),
    ];
    let (longest, too_long) = ("k".repeat(255), "k".repeat(256));
    for (path, body) in starts {
        for key in ["", "a\tb", "schl\u{fc}ssel", &too_long] {
            let keyed = mock.developer().idempotency_key(key);
            keyed
                .post(path, body.clone())
                .await
                .refused(400, "invalid_request");
        }
        for key in ["a", "two words", &longest] {
            let keyed = mock.developer().idempotency_key(key);
            keyed.post(path, body.clone()).await.expect(202);
            keyed.post(path, body.clone()).await.expect(200);
        }
    }
}

async fn a_key_is_kept_for_a_day(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let first = keyed.post(RUNS, run_of("x")).await.expect(202).data();
    mock.advance(86_399).await;
    assert_eq!(
        keyed.post(RUNS, run_of("x")).await.expect(200).data(),
        first
    );
    mock.advance(2).await;
    let second = keyed.post(RUNS, run_of("x")).await.expect(202).data();
    assert_ne!(second["run_id"], first["run_id"]);
}

async fn each_workspace_has_its_own_keys(mock: Mock) {
    let path = "/v1/formats/studio/storyboard/runs";
    let ours = mock.developer().idempotency_key("order-1");
    let ours = ours.post(path, run_of("x")).await.expect(202).data();
    let theirs = mock
        .caller(Host::Developer)
        .bearer("svc_dev_other")
        .idempotency_key("order-1");
    let theirs = theirs.post(path, run_of("x")).await.expect(202).data();
    assert_ne!(theirs["run_id"], ours["run_id"]);
}

async fn without_a_key_each_start_is_a_run_of_its_own(mock: Mock) {
    for kind in Kind::ALL {
        let first = super::started(&mock, kind, "x").await;
        assert_ne!(super::started(&mock, kind, "x").await, first);
    }
}

async fn retries_at_the_same_time_make_one_run(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..12 {
        let keyed = mock.developer().idempotency_key("order-1");
        let path = if index % 2 == 0 {
            RUNS
        } else {
            "/v1/formats/demo/teaser/runs"
        };
        calls.spawn(async move { keyed.post(path, run_of("x")).await });
    }
    let answers = calls.join_all().await;
    let created = answers
        .iter()
        .filter(|answer| answer.status() == 202)
        .count();
    assert_eq!(created, 1, "{answers:?}");
    for answer in answers.iter().filter(|answer| answer.status() != 202) {
        let in_use = answer.status() == 409 && answer.code() == "idempotency_key_in_use";
        assert!(answer.status() == 200 || in_use, "{answer:?}");
    }
    assert_eq!(
        mock.developer().get(RUNS).await.expect(200).items().len(),
        1
    );
}
