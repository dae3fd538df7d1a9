//! Top-ups and their checkout pages.

use serde_json::{Value, json};
use svc_sdk::contract::TopUpStatus;

use super::{Answer, Mock, TOP_UPS};
use crate::engine::{ControlError, Host};

#[track_caller]
fn create(mock: &mut Mock, body: Value) -> Value {
    mock.open().post(TOP_UPS, body).data(201)
}

fn path(top_up: &Value) -> String {
    let url = top_up["checkout_url"].as_str().unwrap();
    url.strip_prefix("http://127.0.0.1:4012")
        .unwrap()
        .to_owned()
}

fn press(mock: &mut Mock, path: &str, status: &str) -> Answer {
    let form = mock
        .ask(Host::Media)
        .header("content-type", "application/x-www-form-urlencoded");
    form.send("POST", path, format!("status={status}"))
}

fn read(mock: &mut Mock, id: &Value) -> Value {
    mock.open()
        .get(&format!("{TOP_UPS}/{}", id.as_str().unwrap()))
        .data(200)
}

#[test]
fn a_top_up_is_pending_until_it_is_paid() {
    let mut mock = Mock::new();
    let top_up = create(&mut mock, json!({"amount_usd_cents": 2_000}));
    let expected = json!({
        "id": top_up["id"], "status": "pending", "checkout_url": top_up["checkout_url"],
        "amount_usd_cents": 2_000, "created_at": "2026-01-01T00:00:00Z"
    });
    assert_eq!(top_up, expected);
    assert_eq!(read(&mut mock, &top_up["id"]), expected);
    let id = top_up["id"].as_str().unwrap();
    let paid = mock
        .simulator
        .settle_top_up(mock.now, id, TopUpStatus::Paid)
        .unwrap();
    assert_eq!(paid["status"], "paid");
    mock.simulator
        .settle_top_up(mock.now, id, TopUpStatus::Paid)
        .unwrap();
    let entries = mock.simulator.ledger();
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (
            &entries[0]["kind"],
            &entries[0]["amount_usd"],
            &entries[0]["top_up_id"]
        ),
        (&json!("top_up"), &json!("20.0000"), &json!(id))
    );
    let failed = mock
        .simulator
        .settle_top_up(mock.now, id, TopUpStatus::Failed);
    assert!(matches!(failed, Err(ControlError::Conflict(_))));
    let pending = mock
        .simulator
        .settle_top_up(mock.now, id, TopUpStatus::Pending);
    assert!(matches!(pending, Err(ControlError::Invalid(_))));
    mock.books_are_balanced();
}

#[test]
fn only_whole_cents_within_the_limits_are_an_amount() {
    let mut mock = Mock::new();
    for good in [500, 1_000_000] {
        create(&mut mock, json!({"amount_usd_cents": good}));
    }
    for bad in [
        json!(499),
        json!(1_000_001),
        json!(0),
        json!(-500),
        json!(500.5),
        json!(500.0),
        json!("500"),
        json!(null),
        json!(1e30),
        json!([500]),
    ] {
        mock.open()
            .post(TOP_UPS, json!({"amount_usd_cents": bad}))
            .refused(400, "invalid_amount");
    }
    mock.open()
        .post(TOP_UPS, json!({}))
        .refused(400, "invalid_amount");
}

#[test]
fn a_return_url_is_https() {
    let mut mock = Mock::new();
    for (field, url) in [
        ("success_url", "http://shop.example/"),
        ("cancel_url", "shop"),
        ("success_url", ""),
    ] {
        let error = mock
            .open()
            .post(TOP_UPS, json!({"amount_usd_cents": 500, field: url}));
        assert_eq!(
            error.refused(400, "invalid_request")["details"],
            json!({"field": field})
        );
    }
    let error = mock
        .open()
        .post(TOP_UPS, json!({"amount_usd_cents": 500, "currency": "EUR"}));
    assert_eq!(
        error.refused(400, "invalid_request")["details"],
        json!({"field": "currency"})
    );
}

#[test]
fn one_key_is_one_top_up() {
    let mut mock = Mock::new();
    let body = json!({"amount_usd_cents": 500});
    let first = mock.open().once("k").post(TOP_UPS, body.clone());
    let again = mock.open().once("k").post(TOP_UPS, body);
    assert_eq!((first.status(), again.status()), (201, 200));
    assert_eq!(first.json(), again.json());
    mock.open()
        .once("k")
        .post(TOP_UPS, json!({"amount_usd_cents": 501}))
        .refused(409, "idempotency_conflict");
    let error = mock
        .open()
        .once("ä")
        .post(TOP_UPS, json!({"amount_usd_cents": 500}));
    error.refused(400, "invalid_request");
}

#[test]
fn a_magic_word_in_the_return_url_refuses_the_checkout() {
    let mut mock = Mock::new();
    for (url, status, code) in [
        (
            "https://shop.example/[mock:refuse=stripe_error]",
            502,
            "stripe_error",
        ),
        (
            "https://shop.example/?x=%5Bmock%3Arefuse%3Dstripe_not_configured%5D",
            503,
            "stripe_not_configured",
        ),
    ] {
        let body = json!({"amount_usd_cents": 500, "success_url": url});
        mock.open().post(TOP_UPS, body).refused(status, code);
    }
}

#[test]
fn the_payer_presses_a_button_and_is_sent_on() {
    let mut mock = Mock::new();
    let urls = json!({
        "amount_usd_cents": 1_250, "success_url": "https://shop.example/thanks?a=1&b=2",
        "cancel_url": "https://shop.example/basket"
    });
    for (status, redirect_url) in [
        ("paid", "https://shop.example/thanks?a=1&b=2"),
        ("failed", "https://shop.example/basket"),
        ("expired", "https://shop.example/basket"),
    ] {
        let top_up = create(&mut mock, urls.clone());
        let page = mock.ask(Host::Media).get(&path(&top_up));
        assert_eq!(
            (page.status(), page.header("content-type")),
            (200, "text/html; charset=utf-8")
        );
        let html = String::from_utf8(page.0.response.body().to_vec()).unwrap();
        assert!(
            html.contains("$12.50") && html.contains(&format!("value=\"{status}\"")),
            "{html}"
        );
        for _ in 0..2 {
            let sent = press(&mut mock, &path(&top_up), status);
            assert_eq!(
                (sent.status(), sent.header("location")),
                (303, redirect_url)
            );
        }
        assert_eq!(read(&mut mock, &top_up["id"])["status"], status);
        let html = mock
            .ask(Host::Media)
            .get(&path(&top_up))
            .0
            .response
            .into_body();
        assert!(
            !String::from_utf8_lossy(&html).contains("<form"),
            "{html:?}"
        );
    }
    assert_eq!(mock.simulator.ledger().len(), 1);
}

#[test]
fn without_a_return_url_the_page_confirms() {
    let mut mock = Mock::new();
    let top_up = create(&mut mock, json!({"amount_usd_cents": 500}));
    let nothing = press(&mut mock, &path(&top_up), "stolen");
    assert_eq!(nothing.status(), 400);
    let paid = press(&mut mock, &path(&top_up), "paid");
    assert_eq!(paid.status(), 200);
    assert!(String::from_utf8_lossy(paid.0.response.body()).contains("Paid."));
    // What is settled stays so.
    let late = press(&mut mock, &path(&top_up), "expired");
    assert!(String::from_utf8_lossy(late.0.response.body()).contains("Paid."));
    assert_eq!(read(&mut mock, &top_up["id"])["status"], "paid");
    assert_eq!(mock.ask(Host::Media).get("/checkout/no_such").status(), 404);
    assert_eq!(
        mock.ask(Host::Media)
            .send("PUT", &path(&top_up), "")
            .header("allow"),
        "GET, HEAD, POST"
    );
}

#[test]
fn a_top_up_is_the_workspaces_own() {
    let mut mock = Mock::new();
    let top_up = create(&mut mock, json!({"amount_usd_cents": 500}));
    let other = serde_json::from_value(json!({"kind": "open", "workspace": "ws_b"})).unwrap();
    let key = mock.simulator.add_key(mock.now, other).unwrap().key;
    let path = format!("{TOP_UPS}/{}", top_up["id"].as_str().unwrap());
    mock.ask(Host::Open)
        .key(&key)
        .get(&path)
        .refused(404, "top_up_not_found");
    mock.open()
        .get("/v1/open/top-ups/top_x")
        .refused(404, "top_up_not_found");
}
