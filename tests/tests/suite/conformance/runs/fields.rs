//! Validation of the fields of a Format run.

use super::*;

on_every_frontend! {
    a_run_requires_content,
    input_is_limited_to_64_keys_and_2_mib,
    spend_caps_are_those_of_the_request_or_the_format,
    webhook_urls_must_be_public_https,
    equal_webhook_urls_are_no_conflict,
    webhook_url_is_accepted_at_the_top_or_in_communication,
    actions_and_completions_accept_communication,
    bulk_items_and_concurrency_are_accepted_up_to_their_bounds,
    item_errors_have_the_index: plan("scale"),
}

async fn assert_rejected(mock: &Mock, path: &str, body: Value) {
    mock.developer()
        .post_error(path, body, 400, "invalid_request")
        .await;
}

async fn a_run_requires_content(mock: Mock) {
    let null =
        json!({"instruction": null, "input": null, "previous_run_id": null, "attachments": null});
    assert_rejected(&mock, RUNS, null).await;
    for body in ["[]", "\"x\"", "7", "null", "true"] {
        assert_rejected(&mock, RUNS, serde_json::from_str(body).unwrap()).await;
    }
    assert_no_runs(&mock).await;
    let image = json!([{"url": "https://cdn.example.com/a.png"}]);
    for body in [
        json!({"instruction": "x"}),
        json!({"input": {"product": "boot"}}),
        json!({"attachments": image}),
    ] {
        start_demo(&mock, body).await;
    }
}

async fn input_is_limited_to_64_keys_and_2_mib(mock: Mock) {
    let keys = |count: usize| -> Map<String, Value> {
        (0..count)
            .map(|index| (format!("k{index}"), json!(index)))
            .collect()
    };
    assert_rejected(&mock, RUNS, json!({"input": keys(65)})).await;
    start_demo(&mock, json!({"input": keys(64)})).await;
    let limit = 2 * 1024 * 1024;
    let empty = json!({"k": ""}).to_string().len();
    let sized = |bytes: usize| json!({"input": {"k": "x".repeat(bytes - empty)}});
    assert_rejected(&mock, RUNS, sized(limit + 1)).await;
    start_demo(&mock, sized(limit)).await;
}

async fn spend_caps_are_those_of_the_request_or_the_format(mock: Mock) {
    for (cap, micros) in [
        (json!(0.01), 10_000),
        (json!(12.5), 12_500_000),
        (json!(500), 500_000_000),
        (json!(null), 500_000_000),
    ] {
        let body = with(instruction("x"), json!({"generation_spend_cap_usd": cap}));
        let id = start_demo(&mock, body).await;
        let usage = receipt(&mock, Kind::Format, &id).await["usage"].clone();
        assert_eq!(usage["generation_spend_cap_usd_micros"], micros, "{cap}");
    }
    for (format, micros) in [("fmt_demo", 400_000_000), ("fmt_capped", 2_000_000)] {
        let runs = format!("/v1/formats/{format}/runs");
        let id = start(&mock.developer(), &runs, instruction("x")).await;
        let usage = receipt(&mock, Kind::Format, &id).await["usage"].clone();
        assert_eq!(usage["generation_spend_cap_usd_micros"], micros, "{format}");
    }
}

/// Returns a request with a webhook URL at each position that accepts one.
fn bodies(url: &str) -> Vec<(&'static str, Value)> {
    let hook = json!({"webhook_url": url});
    let mut bodies: Vec<_> = Kind::ALL
        .iter()
        .map(|kind| (kind.start(), with(kind.body("x"), hook.clone())))
        .collect();
    bodies.push((
        BULK,
        with(json!({"items": [instruction("x")]}), hook.clone()),
    ));
    bodies.push((BULK, json!({"items": [with(instruction("x"), hook)]})));
    bodies
}

async fn webhook_urls_must_be_public_https(mock: Mock) {
    for url in [
        "http://hooks.example.com/",
        "https://localhost/",
        "https://10.0.0.1/",
        "x",
        "",
    ] {
        for (path, body) in bodies(url) {
            assert_rejected(&mock, path, body).await;
        }
    }
    assert_no_runs(&mock).await;
    for (path, body) in bodies("https://hooks.example.com/svc") {
        mock.developer().post(path, body).await.expect(202);
    }
}

async fn equal_webhook_urls_are_no_conflict(mock: Mock) {
    let url = |path: &str| format!("https://hooks.example.com/{path}");
    let same_url = json!({"webhook_url": url("a"), "communication": {"webhook_url": url("a")}});
    start_demo(&mock, with(instruction("x"), same_url)).await;
}

async fn webhook_url_is_accepted_at_the_top_or_in_communication(mock: Mock) {
    let hook = json!({"webhook_url": "https://hooks.example.com/svc"});
    for fields in [hook.clone(), json!({"communication": hook})] {
        let id = start_demo(&mock, with(instruction("x"), fields)).await;
        mock.advance(10).await;
        let deliveries = mock.deliveries().await;
        let is_delivered = deliveries
            .iter()
            .any(|one| one["url"] == "https://hooks.example.com/svc");
        assert!(is_delivered, "no event of {id}: {deliveries:?}");
    }
}

async fn actions_and_completions_accept_communication(mock: Mock) {
    for kind in [Kind::Action, Kind::Agent] {
        let hook = json!({"communication": {"webhook_url": "https://hooks.example.com/svc"}});
        start(&mock.developer(), kind.start(), with(kind.body("x"), hook)).await;
        let bad = json!({"communication": {"webhook_url": "https://127.0.0.1/"}});
        assert_rejected(&mock, kind.start(), with(kind.body("x"), bad)).await;
    }
    mock.developer()
        .post_empty(Kind::Action.start())
        .await
        .expect(202);
    let cap = json!({"instruction": "x", "generation_spend_cap_usd": 0.5});
    start(&mock.developer(), COMPLETIONS, cap).await;
}

async fn bulk_items_and_concurrency_are_accepted_up_to_their_bounds(mock: Mock) {
    let items = |count: usize| vec![instruction("x"); count];
    assert_rejected(&mock, BULK, json!({"items": items(101)})).await;
    for (count, concurrency) in [(1, 1), (100, 16), (1, 16)] {
        let body = json!({"items": items(count), "concurrency": concurrency});
        let queue = mock.developer().post_data(BULK, body, 202).await;
        assert_eq!(queue["counts"]["total"], count);
        assert_eq!(queue["concurrency"], concurrency);
    }
}

async fn item_errors_have_the_index(mock: Mock) {
    for item in [json!("x"), json!(null), json!([]), json!(7)] {
        let items = json!({"items": [instruction("x"), item]});
        let error = mock
            .developer()
            .post_error(BULK, items, 400, "invalid_request")
            .await;
        assert_eq!(error["details"]["index"], 1, "{error}");
    }
    let good = instruction("x");
    for (bad, code) in [
        (json!({}), "invalid_request"),
        (json!({"input": []}), "invalid_request"),
        (
            with(instruction("x"), json!({"generation_spend_cap_usd": 0})),
            "invalid_request",
        ),
        (
            with(instruction("x"), json!({"model": "none"})),
            "invalid_request",
        ),
        (
            with(instruction("x"), json!({"instructions": "x"})),
            "unknown_parameter",
        ),
        (
            with(
                instruction("x"),
                json!({"output_schema": {"type": "string"}}),
            ),
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
            let response = mock.developer().post(BULK, json!({"items": items})).await;
            let error = response.expect_error(response.status(), code);
            assert_eq!(error["details"]["index"], index, "{bad}: {error}");
        }
    }
    assert_no_runs(&mock).await;
}
