//! The checkout page of a top-up.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, Response, on_every_frontend};

use super::{TOP_UPS, text};

on_every_frontend! {
    a_settled_checkout_redirects_to_the_return_url,
    a_checkout_without_a_return_url_shows_the_status,
    a_settled_top_up_is_not_changed_by_the_control_api,
    amounts_of_another_type_are_invalid_amounts,
    directives_in_a_return_url_are_decoded,
    a_refused_top_up_releases_its_key,
}

async fn new_top_up(mock: &Mock, body: Value) -> (Value, String) {
    let top_up = mock.open().post(TOP_UPS, body).await.expect(201).data();
    let path = mock.path_of(Host::Media, &top_up["checkout_url"]);
    (top_up, path)
}

async fn submit_form(mock: &Mock, path: &str, status: &str) -> Response {
    let form = Some("application/x-www-form-urlencoded");
    let body = format!("status={status}").into();
    mock.client(Host::Media)
        .send("POST", path, form, body)
        .await
}

async fn status(mock: &Mock, top_up: &Value) -> String {
    let path = format!("{TOP_UPS}/{}", text(&top_up["id"]));
    text(&mock.open().get(&path).await.expect(200).data()["status"])
}

async fn a_settled_checkout_redirects_to_the_return_url(mock: Mock) {
    let success = "https://shop.example/thanks?a=1&b=2";
    let cancel = "https://shop.example/basket";
    let media = mock.client(Host::Media);
    for (end, redirect) in [("paid", success), ("failed", cancel), ("expired", cancel)] {
        let body = json!({
            "amount_usd_cents": 1_250, "success_url": success, "cancel_url": cancel
        });
        let (top_up, path) = new_top_up(&mock, body).await;
        let page = media.get(&path).await.expect(200);
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        let html = page.text();
        let button = format!("value=\"{end}\"");
        assert!(html.contains("$12.50") && html.contains(&button), "{html}");
        for _ in 0..2 {
            let sent = submit_form(&mock, &path, end).await.expect(303);
            assert_eq!(sent.header("location"), Some(redirect));
        }
        assert_eq!(status(&mock, &top_up).await, end);
        let html = media.get(&path).await.expect(200).text();
        assert!(!html.contains("<form"), "{html}");
    }
    assert_eq!(mock.ledger().await.len(), 1);
}

async fn a_checkout_without_a_return_url_shows_the_status(mock: Mock) {
    let (top_up, path) = new_top_up(&mock, json!({"amount_usd_cents": 500})).await;
    submit_form(&mock, &path, "stolen").await.expect(400);
    // A settled top-up stays as it is.
    for end in ["paid", "expired"] {
        let page = submit_form(&mock, &path, end).await.expect(200);
        assert!(page.text().contains("Paid."), "{page:?}");
    }
    assert_eq!(status(&mock, &top_up).await, "paid");
    let media = mock.client(Host::Media);
    media.get("/checkout/no_such").await.expect(404);
    let response = media.send("PUT", &path, None, bytes::Bytes::new()).await;
    assert_eq!(response.header("allow"), Some("GET, HEAD, POST"));
}

async fn a_settled_top_up_is_not_changed_by_the_control_api(mock: Mock) {
    let (top_up, _) = new_top_up(&mock, json!({"amount_usd_cents": 500})).await;
    let path = format!("/top-ups/{}", text(&top_up["id"]));
    for (end, expected) in [
        ("paid", 200),
        ("paid", 200),
        ("failed", 409),
        ("pending", 400),
    ] {
        let response = mock.control().post(&path, json!({"status": end})).await;
        assert_eq!(response.status(), expected, "{end}: {response:?}");
    }
    assert_eq!(mock.ledger().await.len(), 1);
}

async fn amounts_of_another_type_are_invalid_amounts(mock: Mock) {
    for amount in [json!(500.0), json!("500"), json!(null), json!([500])] {
        let body = json!({"amount_usd_cents": amount});
        let response = mock.open().post(TOP_UPS, body).await;
        response.expect_error(400, "invalid_amount");
    }
    let response = mock.open().post(TOP_UPS, json!({})).await;
    response.expect_error(400, "invalid_amount");
}

async fn directives_in_a_return_url_are_decoded(mock: Mock) {
    let url = "https://shop.example/?x=%5Bmock%3Arefuse%3Dstripe_not_configured%5D";
    let body = json!({"amount_usd_cents": 500, "success_url": url});
    let response = mock.open().post(TOP_UPS, body).await;
    response.expect_error(503, "stripe_not_configured");
}

async fn a_refused_top_up_releases_its_key(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    let response = keyed.post(TOP_UPS, json!({"amount_usd_cents": 499})).await;
    response.expect_error(400, "invalid_amount");
    let response = keyed.post(TOP_UPS, json!({"amount_usd_cents": 500})).await;
    response.expect(201);
}
