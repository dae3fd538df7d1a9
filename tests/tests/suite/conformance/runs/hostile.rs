//! What nobody in their right mind sends: never a 5xx, never a run.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Mock, on_every_face};

use super::{BULK, COMPLETIONS, Kind, RUNS, nothing_happened, run_of, with};

on_every_face! {
    odd_bytes_are_refused: plan("scale"),
    odd_values_of_fields_are_refused: plan("scale"),
    odd_identifiers_are_not_there: plan("scale"),
    a_word_of_the_mock_that_is_none_is_text: plan("scale"),
}

const STARTS: [&str; 4] = [RUNS, BULK, COMPLETIONS, "/v1/actions/act_daily/runs"];

async fn odd_bytes_are_refused(mock: Mock) {
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
        for path in STARTS {
            let body = Bytes::copy_from_slice(body);
            let json = Some("application/json");
            let answer = mock.developer().send("POST", path, json, body).await;
            assert_eq!(answer.status(), 400, "{path}: {answer:?}");
        }
    }
    nothing_happened(&mock).await;
}

async fn odd_values_of_fields_are_refused(mock: Mock) {
    let long = "x".repeat(100_000);
    let odd: [Value; 9] = [
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
        for value in &odd {
            let body = with(run_of("x"), json!({field: value}));
            let items = json!({"items": [body]});
            for (path, body) in [(RUNS, &body), (BULK, &items)] {
                let answer = mock.developer().post(path, body.clone()).await;
                let status = answer.status();
                assert!((400..500).contains(&status), "{field}: {answer:?}");
            }
        }
    }
    nothing_happened(&mock).await;
}

async fn odd_identifiers_are_not_there(mock: Mock) {
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
                let answer = mock
                    .developer()
                    .get(&format!("{}{end}", kind.run(id)))
                    .await;
                let status = answer.status();
                assert!((400..500).contains(&status), "{id}: {answer:?}");
            }
        }
        for path in [
            format!("/v1/formats/{id}"),
            format!("/v1/formats/{id}/{id}"),
            format!("/v1/formats/{id}/runs"),
            format!("/v1/actions/{id}"),
            format!("/v1/format-run-queues/{id}"),
        ] {
            let answer = mock.developer().get(&path).await;
            assert!((400..500).contains(&answer.status()), "{path}: {answer:?}");
        }
    }
}

async fn a_word_of_the_mock_that_is_none_is_text(mock: Mock) {
    for words in [
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
        let id = super::started(&mock, Kind::Format, words).await;
        mock.advance(10).await;
        assert_eq!(
            super::status(&mock, Kind::Format, &id).await,
            "completed",
            "{words}"
        );
    }
}
