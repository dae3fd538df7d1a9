//! `attachments[]`, each of which is an `asset_id` or a URL.

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_frontend};

use super::{RUNS, assert_no_runs, start_demo};

on_every_frontend! {
    invalid_attachments_are_rejected,
    unknown_assets_are_rejected,
    public_urls_are_accepted,
}

fn with_attachment(item: &Value) -> Value {
    json!({"instruction": "x", "attachments": [item]})
}

async fn invalid_attachments_are_rejected(mock: Mock) {
    for item in [
        json!({}),
        json!("https://cdn.example.com/a.png"),
        json!(7),
        json!(null),
        json!({"asset_id": 7}),
        json!({"url": 7}),
        json!({"url": "http://cdn.example.com/a.png"}),
        json!({"url": "https://localhost/a.png"}),
        json!({"url": "https://169.254.169.254/a.png"}),
        json!({"url": ""}),
    ] {
        mock.developer()
            .post_error(RUNS, with_attachment(&item), 400, "invalid_attachment")
            .await;
    }
    assert_no_runs(&mock).await;
}

async fn unknown_assets_are_rejected(mock: Mock) {
    let body = with_attachment(&json!({"asset_id": "asset_none"}));
    mock.developer()
        .post_error(RUNS, body, 400, "attachment_not_found")
        .await;
    assert_no_runs(&mock).await;
}

async fn public_urls_are_accepted(mock: Mock) {
    let urls =
        json!([{"url": "https://cdn.example.com/a.png"}, {"url": "https://93.184.215.14/b.mp4"}]);
    start_demo(&mock, json!({"attachments": urls})).await;
}
