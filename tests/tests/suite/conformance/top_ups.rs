//! Top-ups: asked for, paid at the hosted checkout, added to the balance.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Answer, Caller, Host, Mock, forms, on_every_face};

use super::{TOP_UPS, VIDEO, amounts, available, text, video};

on_every_face! {
    a_top_up_starts_pending_with_a_checkout_link,
    a_retry_with_the_same_key_gets_the_same_top_up,
    a_key_used_for_a_different_amount_is_a_conflict,
    amounts_of_500_to_1000000_whole_cents_are_taken,
    other_amounts_are_refused,
    an_amount_has_to_be_given,
    return_urls_are_https,
    unknown_fields_are_refused,
    bad_idempotency_keys_are_refused,
    the_checkout_page_needs_no_key_and_has_a_button_for_each_end,
    paying_at_the_checkout_adds_the_dollars: balance_usd("1.0000"),
    the_payer_lands_where_the_caller_said,
    a_failed_payment_adds_nothing: balance_usd("1.0000"),
    a_closed_checkout_expires_the_top_up: balance_usd("1.0000"),
    the_control_api_does_what_the_payer_does: balance_usd("1.0000"),
    a_paid_top_up_is_paid_once: balance_usd("0"),
    an_expired_top_up_is_not_revived_by_its_key,
    the_payment_processors_errors_can_be_provoked,
    an_unknown_top_up_is_not_found,
    a_top_up_of_another_workspace_is_not_found,
    another_key_of_the_workspace_reads_it,
    a_top_up_lets_a_refused_submit_through: balance_usd("0"),
}

async fn create(caller: &Caller, body: Value) -> Value {
    caller.post(TOP_UPS, body).await.expect(201).data()
}

async fn read(caller: &Caller, id: &str) -> Value {
    caller
        .get(&format!("{TOP_UPS}/{id}"))
        .await
        .expect(200)
        .data()
}

/// Opens the checkout page and presses the button with that word on it.
async fn press(mock: &Mock, top_up: &Value, word: &str) -> Answer {
    let path = mock.path_of(Host::Media, &top_up["checkout_url"]);
    let payer = mock.caller(Host::Media);
    let page = payer.get(&path).await.expect(200);
    let found = forms(&page.text());
    let (form, button) = found
        .iter()
        .find_map(|form| Some((form, form.button(word)?)))
        .or_else(|| {
            found
                .iter()
                .find(|form| form.action.contains(word))
                .and_then(|form| Some((form, form.buttons.first()?)))
        })
        .unwrap_or_else(|| panic!("no button {word:?} on\n{page:?}"));
    let target = match form.action.strip_prefix(mock.base_url(Host::Media)) {
        Some(target) => target,
        None if form.action.is_empty() => &path,
        None => &form.action,
    };
    assert_eq!(form.method, "post", "a payment is no GET");
    let body = Bytes::from(form.pressed(button));
    payer
        .send(
            "POST",
            target,
            Some("application/x-www-form-urlencoded"),
            body,
        )
        .await
}

async fn a_top_up_starts_pending_with_a_checkout_link(mock: Mock) {
    let open = mock.open();
    let created = create(&open, json!({"amount_usd_cents": 2_000})).await;
    assert!(text(&created["id"]).starts_with("top_"), "{created}");
    assert_eq!(created["status"], "pending");
    assert_eq!(created["amount_usd_cents"], 2_000);
    mock.path_of(Host::Media, &created["checkout_url"]);
    let read = read(&open, &text(&created["id"])).await;
    assert_eq!(read["status"], "pending");
    assert_eq!(read["checkout_url"], created["checkout_url"]);
    assert_eq!(read["amount_usd_cents"], 2_000);
}

async fn a_retry_with_the_same_key_gets_the_same_top_up(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    let body = json!({"amount_usd_cents": 2_000, "success_url": "https://shop.example.com/ok"});
    let first = create(&keyed, body.clone()).await;
    let again = keyed.post(TOP_UPS, body).await.expect(200).data();
    assert_eq!(first["id"], again["id"]);
    assert_eq!(first["checkout_url"], again["checkout_url"]);
    let other = create(&mock.open(), json!({"amount_usd_cents": 2_000})).await;
    assert_ne!(first["id"], other["id"]);
    assert_ne!(first["checkout_url"], other["checkout_url"]);
}

async fn a_key_used_for_a_different_amount_is_a_conflict(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    create(&keyed, json!({"amount_usd_cents": 2_000})).await;
    let other = keyed
        .post(TOP_UPS, json!({"amount_usd_cents": 2_001}))
        .await;
    other.refused(409, "idempotency_conflict");
}

async fn amounts_of_500_to_1000000_whole_cents_are_taken(mock: Mock) {
    for cents in [500, 501, 999_999, 1_000_000] {
        let created = create(&mock.open(), json!({"amount_usd_cents": cents})).await;
        assert_eq!(created["amount_usd_cents"], cents);
    }
}

async fn other_amounts_are_refused(mock: Mock) {
    for amount in [
        json!(499),
        json!(0),
        json!(-500),
        json!(1_000_001),
        json!(u64::MAX),
        json!(500.5),
        json!(1e300),
    ] {
        let answer = mock
            .open()
            .post(TOP_UPS, json!({"amount_usd_cents": amount}))
            .await;
        assert_eq!(answer.status(), 400, "{amount} got\n{answer:?}");
        answer.refused(400, "invalid_amount");
    }
}

async fn an_amount_has_to_be_given(mock: Mock) {
    for body in [
        json!({}),
        json!({"amount": 500}),
        json!({"amount_usd_cents": "500"}),
        json!({"amount_usd_cents": [500]}),
        json!({"amount_usd_cents": true}),
    ] {
        let answer = mock.open().post(TOP_UPS, body.clone()).await.expect(400);
        assert!(
            ["invalid_amount", "invalid_request"].contains(&answer.code().as_str()),
            "{body}"
        );
    }
}

async fn return_urls_are_https(mock: Mock) {
    for field in ["success_url", "cancel_url"] {
        for url in [
            "http://shop.example.com/ok",
            "ftp://shop.example.com",
            "shop.example.com",
            "",
            "javascript:alert(1)",
        ] {
            let body = json!({"amount_usd_cents": 500, field: url});
            mock.open()
                .post(TOP_UPS, body)
                .await
                .refused(400, "invalid_request");
        }
        let body = json!({"amount_usd_cents": 500, field: 7});
        mock.open()
            .post(TOP_UPS, body)
            .await
            .refused(400, "invalid_request");
        create(
            &mock.open(),
            json!({"amount_usd_cents": 500, field: "https://shop.example.com/a?b=c#d"}),
        )
        .await;
    }
}

async fn unknown_fields_are_refused(mock: Mock) {
    for field in ["currency", "workspace_id", "amount_usd"] {
        let body = json!({"amount_usd_cents": 500, field: "x"});
        mock.open()
            .post(TOP_UPS, body)
            .await
            .refused(400, "invalid_request");
    }
}

async fn bad_idempotency_keys_are_refused(mock: Mock) {
    let too_long = "k".repeat(256);
    for key in ["", "a\tb", "\u{e9}", &too_long] {
        let answer = mock
            .open()
            .idempotency_key(key)
            .post(TOP_UPS, json!({"amount_usd_cents": 500}))
            .await;
        answer.refused(400, "invalid_request");
    }
    let longest = "k".repeat(255);
    create(
        &mock.open().idempotency_key(&longest),
        json!({"amount_usd_cents": 500}),
    )
    .await;
}

async fn the_checkout_page_needs_no_key_and_has_a_button_for_each_end(mock: Mock) {
    let created = create(&mock.open(), json!({"amount_usd_cents": 2_000})).await;
    let path = mock.path_of(Host::Media, &created["checkout_url"]);
    let page = mock.caller(Host::Media).get(&path).await.expect(200);
    assert!(
        page.header("content-type")
            .is_some_and(|kind| kind.starts_with("text/html")),
        "{page:?}"
    );
    assert!(
        page.text().contains("20.00"),
        "the payer sees the amount:\n{page:?}"
    );
    assert!(
        forms(&page.text())
            .iter()
            .map(|form| form.buttons.len())
            .sum::<usize>()
            >= 3,
        "{page:?}"
    );
}

async fn paying_at_the_checkout_adds_the_dollars(mock: Mock) {
    let open = mock.open();
    let created = create(&open, json!({"amount_usd_cents": 550})).await;
    let id = text(&created["id"]);
    assert_eq!(available(&open).await, "1.0000");
    assert!(press(&mock, &created, "paid").await.status() < 400);
    assert_eq!(read(&open, &id).await["status"], "paid");
    assert_eq!(amounts(&mock, "top_up", &id).await, [55_000]);
    assert_eq!(available(&open).await, "6.5000");
}

async fn the_payer_lands_where_the_caller_said(mock: Mock) {
    let landing = "https://shop.example.com/thanks?order=4711&x=1";
    let body = json!({"amount_usd_cents": 500, "success_url": landing});
    let created = create(&mock.open(), body).await;
    let answer = press(&mock, &created, "paid").await;
    let linked = answer.text().replace("&amp;", "&").contains(landing);
    assert!(
        answer.header("location") == Some(landing) || linked,
        "{answer:?}"
    );
}

async fn a_failed_payment_adds_nothing(mock: Mock) {
    let open = mock.open();
    let created = create(&open, json!({"amount_usd_cents": 550})).await;
    assert!(press(&mock, &created, "failed").await.status() < 400);
    assert_eq!(read(&open, &text(&created["id"])).await["status"], "failed");
    assert_eq!(available(&open).await, "1.0000");
}

async fn a_closed_checkout_expires_the_top_up(mock: Mock) {
    let open = mock.open();
    let created = create(&open, json!({"amount_usd_cents": 550})).await;
    assert!(press(&mock, &created, "expired").await.status() < 400);
    assert_eq!(
        read(&open, &text(&created["id"])).await["status"],
        "expired"
    );
    assert_eq!(available(&open).await, "1.0000");
}

async fn the_control_api_does_what_the_payer_does(mock: Mock) {
    let open = mock.open();
    for (status, left) in [
        ("failed", "1.0000"),
        ("expired", "1.0000"),
        ("paid", "6.5000"),
    ] {
        let created = create(&open, json!({"amount_usd_cents": 550})).await;
        let id = text(&created["id"]);
        let path = format!("/top-ups/{id}");
        let answer = mock.control().post(&path, json!({"status": status})).await;
        assert!(answer.status() < 300, "{answer:?}");
        assert_eq!(read(&open, &id).await["status"], status);
        assert_eq!(available(&open).await, left);
    }
}

async fn a_paid_top_up_is_paid_once(mock: Mock) {
    let open = mock.open();
    let created = create(&open, json!({"amount_usd_cents": 550})).await;
    let id = text(&created["id"]);
    press(&mock, &created, "paid").await;
    for status in ["paid", "failed", "expired"] {
        mock.control()
            .post(&format!("/top-ups/{id}"), json!({"status": status}))
            .await;
        assert_eq!(read(&open, &id).await["status"], "paid");
    }
    assert_eq!(amounts(&mock, "top_up", &id).await, [55_000]);
    assert_eq!(available(&open).await, "5.5000");
}

async fn an_expired_top_up_is_not_revived_by_its_key(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    let created = create(&keyed, json!({"amount_usd_cents": 550})).await;
    let id = text(&created["id"]);
    mock.control()
        .post(&format!("/top-ups/{id}"), json!({"status": "expired"}))
        .await;
    let again = keyed
        .post(TOP_UPS, json!({"amount_usd_cents": 550}))
        .await
        .expect(200)
        .data();
    assert_eq!(again["id"], created["id"]);
    assert_eq!(read(&keyed, &id).await["status"], "expired");
    let fresh = create(
        &mock.open().idempotency_key("pay-2"),
        json!({"amount_usd_cents": 550}),
    )
    .await;
    assert_ne!(fresh["id"], created["id"]);
}

async fn the_payment_processors_errors_can_be_provoked(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    for (status, code) in [(502, "stripe_error"), (503, "stripe_not_configured")] {
        let url = format!("https://shop.example.com/[mock:refuse={code}]");
        let body = json!({"amount_usd_cents": 500, "success_url": url});
        keyed.post(TOP_UPS, body).await.refused(status, code);
    }
    create(&keyed, json!({"amount_usd_cents": 500})).await;
}

async fn an_unknown_top_up_is_not_found(mock: Mock) {
    for id in ["top_unknown", "x", "%00", "a%2Fb"] {
        mock.open()
            .get(&format!("{TOP_UPS}/{id}"))
            .await
            .expect(404);
    }
    let answer = mock
        .control()
        .post("/top-ups/top_unknown", json!({"status": "paid"}))
        .await;
    assert!((400..500).contains(&answer.status()), "{answer:?}");
}

async fn a_top_up_of_another_workspace_is_not_found(mock: Mock) {
    let created = create(&mock.open(), json!({"amount_usd_cents": 500})).await;
    let key = mock
        .new_key(json!({"kind": "open", "workspace": "ws_elsewhere"}))
        .await;
    let stranger = mock.caller(Host::Open).bearer(&key);
    stranger
        .get(&format!("{TOP_UPS}/{}", text(&created["id"])))
        .await
        .expect(404);
}

async fn another_key_of_the_workspace_reads_it(mock: Mock) {
    let created = create(&mock.open(), json!({"amount_usd_cents": 500})).await;
    let key = mock
        .new_key(json!({"kind": "open", "workspace": "ws_demo"}))
        .await;
    let colleague = mock.caller(Host::Open).bearer(&key);
    assert_eq!(
        read(&colleague, &text(&created["id"])).await["status"],
        "pending"
    );
}

async fn a_top_up_lets_a_refused_submit_through(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    keyed
        .post(VIDEO, video())
        .await
        .refused(402, "insufficient_funds");
    let created = create(&mock.open(), json!({"amount_usd_cents": 500})).await;
    press(&mock, &created, "paid").await;
    keyed.post(VIDEO, video()).await.expect(202);
    assert_eq!(available(&mock.open()).await, "4.8750");
}
