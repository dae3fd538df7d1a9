//! `attachments[]`: an `asset_id` or a URL each.

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_face};

use super::{RUNS, nothing_happened, start};

on_every_face! {
    an_attachment_is_an_asset_or_a_public_url,
    an_asset_has_to_be_there,
    public_urls_are_taken,
}

fn with_attachment(item: &Value) -> Value {
    json!({"instruction": "x", "attachments": [item]})
}

async fn an_attachment_is_an_asset_or_a_public_url(mock: Mock) {
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
        let answer = mock.developer().post(RUNS, with_attachment(&item)).await;
        assert_eq!(answer.status(), 400, "{item} got\n{answer:?}");
        answer.refused(400, "invalid_attachment");
    }
    nothing_happened(&mock).await;
}

async fn an_asset_has_to_be_there(mock: Mock) {
    let body = with_attachment(&json!({"asset_id": "asset_none"}));
    let answer = mock.developer().post(RUNS, body).await;
    answer.refused(400, "attachment_not_found");
    nothing_happened(&mock).await;
}

async fn public_urls_are_taken(mock: Mock) {
    let urls =
        json!([{"url": "https://cdn.example.com/a.png"}, {"url": "https://93.184.215.14/b.mp4"}]);
    start(&mock.developer(), RUNS, json!({"attachments": urls})).await;
}
