//! The fields of a Format run's body: what is taken, and what is `400 invalid_request`.

use serde_json::{Map, Value, json};
use svc_tests::{Mock, on_every_face};

use super::{BULK, COMPLETIONS, Kind, RUNS, nothing_happened, receipt, run_of, start, with};

on_every_face! {
    some_content_has_to_be_there,
    an_input_is_an_object_of_at_most_64_keys_and_2_mib,
    a_spend_cap_is_above_0_and_at_most_500,
    fields_of_another_type_are_refused,
    a_schema_and_a_response_format_exclude_each_other,
    a_model_has_to_be_in_the_catalog,
    a_webhook_url_has_to_be_public_https,
    aliases_of_communication_may_not_contradict_each_other,
    a_webhook_url_is_taken_at_the_top_or_in_communication,
    actions_and_completions_take_the_communication_fields,
    bulk_items_and_concurrency_have_their_bounds,
    an_items_error_says_which: plan("scale"),
    an_item_that_is_no_object_says_which,
}

async fn refused(mock: &Mock, path: &str, body: Value) {
    let answer = mock.developer().post(path, body.clone()).await;
    let shown: String = body.to_string().chars().take(200).collect();
    assert_eq!(answer.status(), 400, "{path} {shown} got\n{answer:?}");
    answer.refused(400, "invalid_request");
}

async fn some_content_has_to_be_there(mock: Mock) {
    for body in [
        json!({}),
        json!({"generation_spend_cap_usd": 5}),
        json!({"model": "video-f"}),
        json!({"output_schema": {"type": "object"}}),
        json!({"instruction": null, "input": null, "previous_run_id": null, "attachments": null}),
    ] {
        refused(&mock, RUNS, body).await;
    }
    for body in ["[]", "\"x\"", "7", "null", "true"] {
        refused(&mock, RUNS, serde_json::from_str(body).unwrap()).await;
    }
    nothing_happened(&mock).await;
    let image = json!([{"url": "https://cdn.example.com/a.png"}]);
    for body in [
        json!({"instruction": "x"}),
        json!({"input": {"product": "boot"}}),
        json!({"attachments": image}),
    ] {
        start(&mock.developer(), RUNS, body).await;
    }
}

async fn an_input_is_an_object_of_at_most_64_keys_and_2_mib(mock: Mock) {
    for input in [json!("x"), json!(7), json!([1]), json!(true)] {
        refused(&mock, RUNS, json!({"input": input})).await;
        refused(&mock, RUNS, json!({"instruction": "x", "input": input})).await;
    }
    let of_keys = |count: usize| -> Map<String, Value> {
        (0..count)
            .map(|index| (format!("k{index}"), json!(index)))
            .collect()
    };
    refused(&mock, RUNS, json!({"input": of_keys(65)})).await;
    start(&mock.developer(), RUNS, json!({"input": of_keys(64)})).await;
    let limit = 2 * 1024 * 1024;
    let empty = json!({"k": ""}).to_string().len();
    let of_size = |bytes: usize| json!({"input": {"k": "x".repeat(bytes - empty)}});
    refused(&mock, RUNS, of_size(limit + 1)).await;
    start(&mock.developer(), RUNS, of_size(limit)).await;
}

async fn a_spend_cap_is_above_0_and_at_most_500(mock: Mock) {
    for cap in [
        json!(0),
        json!(-1),
        json!(500.01),
        json!(501),
        json!(1e300),
        json!("5"),
        json!([]),
    ] {
        refused(
            &mock,
            RUNS,
            with(run_of("x"), json!({"generation_spend_cap_usd": cap})),
        )
        .await;
    }
    nothing_happened(&mock).await;
    for (cap, micros) in [
        (json!(0.01), 10_000),
        (json!(12.5), 12_500_000),
        (json!(500), 500_000_000),
        (json!(null), 500_000_000),
    ] {
        let body = with(run_of("x"), json!({"generation_spend_cap_usd": cap}));
        let id = start(&mock.developer(), RUNS, body).await;
        let usage = receipt(&mock, Kind::Format, &id).await["usage"].clone();
        assert_eq!(usage["generation_spend_cap_usd_micros"], micros, "{cap}");
    }
    for (format, micros) in [("fmt_demo", 400_000_000), ("fmt_capped", 2_000_000)] {
        let runs = format!("/v1/formats/{format}/runs");
        let id = start(&mock.developer(), &runs, run_of("x")).await;
        let usage = receipt(&mock, Kind::Format, &id).await["usage"].clone();
        assert_eq!(usage["generation_spend_cap_usd_micros"], micros, "{format}");
    }
}

async fn fields_of_another_type_are_refused(mock: Mock) {
    for fields in [
        json!({"instruction": 7}),
        json!({"instruction": ["x"]}),
        json!({"input": {}, "instruction": {"text": "x"}}),
        json!({"instruction": "x", "previous_run_id": 7}),
        json!({"instruction": "x", "model": 7}),
        json!({"instruction": "x", "webhook_url": 7}),
        json!({"instruction": "x", "communication": "webhook"}),
    ] {
        refused(&mock, RUNS, fields).await;
    }
    nothing_happened(&mock).await;
}

async fn a_schema_and_a_response_format_exclude_each_other(mock: Mock) {
    let schema = json!({"type": "object"});
    let both = json!({"output_schema": schema, "response_format": {"type": "json_object"}});
    refused(&mock, RUNS, with(run_of("x"), both)).await;
    start(
        &mock.developer(),
        RUNS,
        with(run_of("x"), json!({"output_schema": schema})),
    )
    .await;
}

async fn a_model_has_to_be_in_the_catalog(mock: Mock) {
    for model in ["", "video-z", "VIDEO-F"] {
        refused(&mock, RUNS, with(run_of("x"), json!({"model": model}))).await;
    }
    start(
        &mock.developer(),
        RUNS,
        with(run_of("x"), json!({"model": "video-f"})),
    )
    .await;
}

/// Where each kind of run, and each run of a queue, may be told of.
fn bodies(url: &str) -> Vec<(&'static str, Value)> {
    let hook = json!({"webhook_url": url});
    let mut bodies: Vec<_> = Kind::ALL
        .iter()
        .map(|kind| (kind.start(), with(kind.body("x"), hook.clone())))
        .collect();
    bodies.push((BULK, with(json!({"items": [run_of("x")]}), hook.clone())));
    bodies.push((BULK, json!({"items": [with(run_of("x"), hook)]})));
    bodies
}

async fn a_webhook_url_has_to_be_public_https(mock: Mock) {
    for url in [
        "http://hooks.example.com/",
        "https://localhost/",
        "https://10.0.0.1/",
        "x",
        "",
    ] {
        for (path, body) in bodies(url) {
            refused(&mock, path, body).await;
        }
    }
    nothing_happened(&mock).await;
    for (path, body) in bodies("https://hooks.example.com/svc") {
        mock.developer().post(path, body).await.expect(202);
    }
}

async fn aliases_of_communication_may_not_contradict_each_other(mock: Mock) {
    let url = |path: &str| format!("https://hooks.example.com/{path}");
    for fields in [
        json!({"webhook_url": url("a"), "communication": {"webhook_url": url("b")}}),
        json!({"communication": {"webhook_url": "http://hooks.example.com/"}}),
        json!({"communication": {"mode": "webhook"}}),
    ] {
        refused(&mock, RUNS, with(run_of("x"), fields)).await;
    }
    nothing_happened(&mock).await;
    let twice = json!({"webhook_url": url("a"), "communication": {"webhook_url": url("a")}});
    start(&mock.developer(), RUNS, with(run_of("x"), twice)).await;
}

async fn a_webhook_url_is_taken_at_the_top_or_in_communication(mock: Mock) {
    let hook = json!({"webhook_url": "https://hooks.example.com/svc"});
    for fields in [hook.clone(), json!({"communication": hook})] {
        let id = start(&mock.developer(), RUNS, with(run_of("x"), fields)).await;
        mock.advance(10).await;
        let deliveries = mock.deliveries().await;
        let told = deliveries
            .iter()
            .any(|one| one["url"] == "https://hooks.example.com/svc");
        assert!(told, "nobody is told of {id}: {deliveries:?}");
    }
}

async fn actions_and_completions_take_the_communication_fields(mock: Mock) {
    for kind in [Kind::Action, Kind::Agent] {
        let hook = json!({"communication": {"webhook_url": "https://hooks.example.com/svc"}});
        start(&mock.developer(), kind.start(), with(kind.body("x"), hook)).await;
        let bad = json!({"communication": {"webhook_url": "https://127.0.0.1/"}});
        refused(&mock, kind.start(), with(kind.body("x"), bad)).await;
    }
    let nothing = mock.developer().post_nothing(Kind::Action.start()).await;
    nothing.expect(202);
    let cap = json!({"instruction": "x", "generation_spend_cap_usd": 0.5});
    start(&mock.developer(), COMPLETIONS, cap).await;
}

async fn bulk_items_and_concurrency_have_their_bounds(mock: Mock) {
    let items = |count: usize| vec![run_of("x"); count];
    for body in [
        json!({}),
        json!({"items": null}),
        json!({"items": []}),
        json!({"items": "x"}),
        json!({"items": {"0": run_of("x")}}),
        json!({"items": items(101)}),
        json!({"items": items(1), "concurrency": 0}),
        json!({"items": items(1), "concurrency": 17}),
        json!({"items": items(1), "concurrency": -1}),
        json!({"items": items(1), "concurrency": 1.5}),
        json!({"items": items(1), "concurrency": "4"}),
    ] {
        refused(&mock, BULK, body).await;
    }
    nothing_happened(&mock).await;
    for (count, concurrency) in [(1, 1), (100, 16), (1, 16)] {
        let body = json!({"items": items(count), "concurrency": concurrency});
        let queue = mock.developer().post(BULK, body).await.expect(202).data();
        assert_eq!(queue["counts"]["total"], count);
        assert_eq!(queue["concurrency"], concurrency);
    }
}

async fn an_items_error_says_which(mock: Mock) {
    let good = run_of("x");
    for (bad, code) in [
        (json!({}), "invalid_request"),
        (json!({"input": []}), "invalid_request"),
        (
            with(run_of("x"), json!({"generation_spend_cap_usd": 0})),
            "invalid_request",
        ),
        (
            with(run_of("x"), json!({"model": "none"})),
            "invalid_request",
        ),
        (
            with(run_of("x"), json!({"instructions": "x"})),
            "unknown_parameter",
        ),
        (
            with(run_of("x"), json!({"output_schema": {"type": "string"}})),
            "output_schema_invalid",
        ),
        (
            json!({"attachments": [{"asset_id": "asset_none"}]}),
            "attachment_not_found",
        ),
        (json!({"attachments": [{}]}), "invalid_attachment"),
        (
            json!({"previous_run_id": "run_none"}),
            "previous_run_not_found",
        ),
    ] {
        for index in [0, 1, 99] {
            let mut items = vec![good.clone(); index];
            items.push(bad.clone());
            let answer = mock.developer().post(BULK, json!({"items": items})).await;
            let error = answer.refused(answer.status(), code);
            assert_eq!(error["details"]["index"], index, "{bad}: {error}");
        }
    }
    nothing_happened(&mock).await;
}

async fn an_item_that_is_no_object_says_which(mock: Mock) {
    for item in [json!("x"), json!(null), json!([]), json!(7)] {
        let items = json!({"items": [run_of("x"), item]});
        let error = mock
            .developer()
            .post(BULK, items)
            .await
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["index"], 1, "{error}");
    }
}
