//! Malformed requests, which are client errors and start no runs.

use super::*;

on_every_frontend! {
    invalid_field_values_are_rejected: plan("scale"),
    malformed_ids_are_rejected: plan("scale"),
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
    for field in
        ["previous_run_id", "attachments", "webhook_url", "model", "generation_spend_cap_usd"]
    {
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
    for id in ["%00", "%2e%2e", "%2F", "a%20b", "%ff", "'%20or%201=1", "\u{7e}", &long] {
        for kind in Kind::ALL {
            for end in ["", "/status", "/result"] {
                let response = mock.developer().get(&format!("{}{end}", kind.run(id))).await;
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
