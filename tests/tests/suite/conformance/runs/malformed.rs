//! Malformed requests, which are client errors and start no runs.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Mock, on_every_frontend};

use super::{BULK, COMPLETIONS, Kind, RUNS, assert_no_runs, instruction, start_run, status, with};

on_every_frontend! {
    malformed_bodies_are_rejected: plan("scale"),
    invalid_field_values_are_rejected: plan("scale"),
    malformed_ids_are_rejected: plan("scale"),
    invalid_directives_are_ignored: plan("scale"),
}

const START_PATHS: [&str; 4] = [RUNS, BULK, COMPLETIONS, "/v1/actions/act_daily/runs"];

async fn malformed_bodies_are_rejected(mock: Mock) {
    let deep = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
    let nested = format!("{{\"instruction\": {}}}", deep(10_000));
    for body in [
        &b"{"[..],
        b"{\"instruction\": \"x\"} x",
        b"{\"instruction\": \"\xff\xfe\"}",
        b"{\"instruction\": \"\\ud800\"}",
        b"{\"instruction\": NaN}",
        b"{'instruction': 'x'}",
        b"\xef\xbb\xbf{\"instruction\": 1}",
        b"\x00",
        deep(100_000).as_bytes(),
        nested.as_bytes(),
    ] {
        for path in START_PATHS {
            let body = Bytes::copy_from_slice(body);
            let json = Some("application/json");
            mock.developer()
                .send("POST", path, json, body)
                .await
                .expect(400);
        }
    }
    assert_no_runs(&mock).await;
}

async fn invalid_field_values_are_rejected(mock: Mock) {
    let long = "x".repeat(100_000);
    let invalid: [Value; 9] = [
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!([[[[]]]]),
        json!({"a": {"b": {"c": {}}}}),
        json!(false),
        json!("\u{0}"),
        json!(long),
        json!("../../etc/passwd"),
    ];
    for field in [
        "previous_run_id",
        "attachments",
        "webhook_url",
        "model",
        "generation_spend_cap_usd",
    ] {
        for value in &invalid {
            let body = with(instruction("x"), json!({field: value}));
            let items = json!({"items": [body]});
            for (path, body) in [(RUNS, &body), (BULK, &items)] {
                let response = mock.developer().post(path, body.clone()).await;
                let status = response.status();
                assert!((400..500).contains(&status), "{field}: {response:?}");
            }
        }
    }
    assert_no_runs(&mock).await;
}

async fn malformed_ids_are_rejected(mock: Mock) {
    let long = "x".repeat(2_000);
    for id in [
        "%00",
        "%2e%2e",
        "%2F",
        "a%20b",
        "%ff",
        "'%20or%201=1",
        "\u{7e}",
        &long,
    ] {
        for kind in Kind::ALL {
            for end in ["", "/status", "/result"] {
                let response = mock
                    .developer()
                    .get(&format!("{}{end}", kind.run(id)))
                    .await;
                let status = response.status();
                assert!((400..500).contains(&status), "{id}: {response:?}");
            }
        }
        for path in [
            format!("/v1/formats/{id}"),
            format!("/v1/formats/{id}/{id}"),
            format!("/v1/formats/{id}/runs"),
            format!("/v1/actions/{id}"),
            format!("/v1/format-run-queues/{id}"),
        ] {
            mock.developer().get(&path).await.expect_client_error();
        }
    }
}

async fn invalid_directives_are_ignored(mock: Mock) {
    for prompt in [
        "[mock:]",
        "[mock:fail",
        "[mock:cost=]",
        "[mock:cost=-1]",
        "[mock:cost=1e3]",
        "[mock:cost=NaN]",
        "[mock:seconds=]",
        "[mock:seconds=-5]",
        "[mock:nonsense=1]",
        "[MOCK:FAIL]",
    ] {
        let id = start_run(&mock, Kind::Format, prompt).await;
        mock.advance(10).await;
        assert_eq!(
            status(&mock, Kind::Format, &id).await,
            "completed",
            "{prompt}"
        );
    }
}
