//! Top-ups, which are paid at a hosted checkout and added to the balance.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Client, Host, Mock, Response, forms, on_every_frontend};

use super::{TOP_UPS, VIDEO, available, format_usd, ledger_amounts, text, video};

on_every_frontend! {
    a_top_up_starts_pending_with_a_checkout_link,
    a_replay_returns_the_same_top_up,
    reusing_a_key_for_a_different_amount_is_a_conflict,
    amounts_of_500_to_1000000_cents_are_accepted,
    out_of_range_and_fractional_amounts_are_rejected,
    a_missing_or_mistyped_amount_is_rejected,
    return_urls_must_be_https,
    unknown_fields_are_rejected,
    invalid_idempotency_keys_are_rejected,
    the_checkout_page_is_public_and_has_a_button_for_each_outcome,
    the_checkout_and_the_control_api_settle_top_ups: balance_usd("1.0000"),
    the_payer_is_sent_to_the_success_url,
    a_paid_top_up_is_final: balance_usd("0"),
    a_replay_does_not_reopen_an_expired_top_up,
    a_key_stands_for_one_top_up_forever,
    a_pending_top_up_expires_after_a_day: balance_usd("1.0000"),
    refuse_directive_returns_payment_errors,
    an_unknown_top_up_is_not_found,
    a_top_up_is_visible_only_in_its_workspace,
    a_submit_succeeds_after_a_top_up: balance_usd("0"),
}

/// Returns the body of a top-up.
fn amount(cents: impl Into<Value>) -> Value {
    json!({"amount_usd_cents": cents.into()})
}

async fn create(client: &Client, body: Value) -> Value {
    client.post_data(TOP_UPS, body, 201).await
}

async fn read(client: &Client, id: &str) -> Value {
    client.get_data(&format!("{TOP_UPS}/{id}")).await
}

/// Opens the checkout page and presses the button whose name, value, label or form has `word`.
async fn press_button(mock: &Mock, top_up: &Value, word: &str) -> Response {
    let path = mock.path_of(Host::Media, &top_up["checkout_url"]);
    let payer = mock.client(Host::Media);
    let page = payer.get(&path).await.expect(200);
    let forms = forms(&page.text());
    let by_action = || {
        let form = forms.iter().find(|form| form.action.contains(word))?;
        Some((form, form.buttons.first()?))
    };
    let (form, button) = forms
        .iter()
        .find_map(|form| Some((form, form.button(word)?)))
        .or_else(by_action)
        .unwrap_or_else(|| panic!("no button {word:?} on\n{page:?}"));
    let target = match form.action.strip_prefix(mock.base_url(Host::Media)) {
        Some(target) => target,
        None if form.action.is_empty() => &path,
        None => &form.action,
    };
    assert_eq!(form.method, "post");
    let content_type = Some("application/x-www-form-urlencoded");
    let body = Bytes::from(form.body(button));
    payer.send("POST", target, content_type, body).await
}

/// Sets the status of a top-up with the control API.
async fn settle(mock: &Mock, id: &str, status: &str) -> Response {
    let path = format!("/top-ups/{id}");
    mock.control().post(&path, json!({"status": status})).await
}

async fn a_top_up_starts_pending_with_a_checkout_link(mock: Mock) {
    let open = mock.open();
    let created = create(&open, amount(2_000)).await;
    assert!(text(&created["id"]).starts_with("top_"), "{created}");
    assert_eq!(created["status"], "pending");
    assert_eq!(created["amount_usd_cents"], 2_000);
    mock.path_of(Host::Media, &created["checkout_url"]);
    let read = read(&open, &text(&created["id"])).await;
    assert_eq!(read["status"], "pending");
    assert_eq!(read["checkout_url"], created["checkout_url"]);
    assert_eq!(read["amount_usd_cents"], 2_000);
}

async fn a_replay_returns_the_same_top_up(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    let body = json!({"amount_usd_cents": 2_000, "success_url": "https://shop.example.com/ok"});
    let first = create(&keyed, body.clone()).await;
    let replay = keyed.post_data(TOP_UPS, body, 200).await;
    assert_eq!(first["id"], replay["id"]);
    assert_eq!(first["checkout_url"], replay["checkout_url"]);
    let other = create(&mock.open(), amount(2_000)).await;
    assert_ne!(first["id"], other["id"]);
    assert_ne!(first["checkout_url"], other["checkout_url"]);
}

async fn reusing_a_key_for_a_different_amount_is_a_conflict(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    create(&keyed, amount(2_000)).await;
    keyed
        .post_error(TOP_UPS, amount(2_001), 409, "idempotency_conflict")
        .await;
}

async fn amounts_of_500_to_1000000_cents_are_accepted(mock: Mock) {
    for cents in [500, 501, 999_999, 1_000_000] {
        let created = create(&mock.open(), amount(cents)).await;
        assert_eq!(created["amount_usd_cents"], cents);
    }
}

async fn out_of_range_and_fractional_amounts_are_rejected(mock: Mock) {
    for cents in [
        json!(499),
        json!(0),
        json!(-500),
        json!(1_000_001),
        json!(u64::MAX),
        json!(500.5),
        json!(1e300),
    ] {
        mock.open()
            .post_error(TOP_UPS, amount(cents), 400, "invalid_amount")
            .await;
    }
}

async fn a_missing_or_mistyped_amount_is_rejected(mock: Mock) {
    for body in [
        json!({}),
        json!({"amount": 500}),
        json!({"amount_usd_cents": "500"}),
        json!({"amount_usd_cents": [500]}),
        json!({"amount_usd_cents": true}),
    ] {
        let response = mock.open().post(TOP_UPS, body.clone()).await.expect(400);
        assert!(
            ["invalid_amount", "invalid_request"].contains(&response.code().as_str()),
            "{body}"
        );
    }
}

async fn return_urls_must_be_https(mock: Mock) {
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
                .post_error(TOP_UPS, body, 400, "invalid_request")
                .await;
        }
        let body = json!({"amount_usd_cents": 500, field: 7});
        mock.open()
            .post_error(TOP_UPS, body, 400, "invalid_request")
            .await;
        create(
            &mock.open(),
            json!({"amount_usd_cents": 500, field: "https://shop.example.com/a?b=c#d"}),
        )
        .await;
    }
}

async fn unknown_fields_are_rejected(mock: Mock) {
    for field in ["currency", "workspace_id", "amount_usd"] {
        let body = json!({"amount_usd_cents": 500, field: "x"});
        mock.open()
            .post_error(TOP_UPS, body, 400, "invalid_request")
            .await;
    }
}

async fn invalid_idempotency_keys_are_rejected(mock: Mock) {
    let too_long = "k".repeat(256);
    for key in ["", "a\tb", "\u{e9}", &too_long] {
        mock.open()
            .idempotency_key(key)
            .post_error(TOP_UPS, amount(500), 400, "invalid_request")
            .await;
    }
    let longest = "k".repeat(255);
    create(&mock.open().idempotency_key(&longest), amount(500)).await;
}

async fn the_checkout_page_is_public_and_has_a_button_for_each_outcome(mock: Mock) {
    let created = create(&mock.open(), amount(2_000)).await;
    let page = mock.download(&created["checkout_url"]).await;
    assert!(
        page.header("content-type")
            .is_some_and(|kind| kind.starts_with("text/html")),
        "{page:?}"
    );
    assert!(page.text().contains("20.00"), "{page:?}");
    let forms = forms(&page.text());
    let buttons: usize = forms.iter().map(|form| form.buttons.len()).sum();
    assert!(buttons >= 3, "{page:?}");
}

async fn the_checkout_and_the_control_api_settle_top_ups(mock: Mock) {
    let open = mock.open();
    let mut balance = 10_000;
    for status in ["failed", "expired", "paid"] {
        for uses_checkout in [true, false] {
            let created = create(&open, amount(550)).await;
            let id = text(&created["id"]);
            if uses_checkout {
                let response = press_button(&mock, &created, status).await;
                assert!(response.status() < 400, "{response:?}");
            } else {
                settle(&mock, &id, status).await.expect_success();
            }
            let paid = if status == "paid" { 55_000 } else { 0 };
            balance += paid;
            assert_eq!(read(&open, &id).await["status"], status);
            let credited = ledger_amounts(&mock, "top_up", &id).await;
            assert_eq!(credited.iter().sum::<u64>(), paid);
            // `available` requires a balance below the price of its request.
            if balance < 75_000 {
                assert_eq!(available(&open).await, format_usd(balance));
            }
        }
    }
}

async fn the_payer_is_sent_to_the_success_url(mock: Mock) {
    let success_url = "https://shop.example.com/thanks?order=4711&x=1";
    let body = json!({"amount_usd_cents": 500, "success_url": success_url});
    let created = create(&mock.open(), body).await;
    let response = press_button(&mock, &created, "paid").await;
    let linked = response.text().replace("&amp;", "&").contains(success_url);
    assert!(
        response.header("location") == Some(success_url) || linked,
        "{response:?}"
    );
}

async fn a_paid_top_up_is_final(mock: Mock) {
    let open = mock.open();
    let created = create(&open, amount(550)).await;
    let id = text(&created["id"]);
    press_button(&mock, &created, "paid").await;
    for status in ["paid", "failed", "expired"] {
        settle(&mock, &id, status).await;
        assert_eq!(read(&open, &id).await["status"], "paid");
    }
    assert_eq!(ledger_amounts(&mock, "top_up", &id).await, [55_000]);
    assert_eq!(available(&open).await, "5.5000");
}

async fn a_replay_does_not_reopen_an_expired_top_up(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    let created = create(&keyed, amount(550)).await;
    let id = text(&created["id"]);
    settle(&mock, &id, "expired").await;
    let replay = keyed.post_data(TOP_UPS, amount(550), 200).await;
    assert_eq!(replay["id"], created["id"]);
    assert_eq!(read(&keyed, &id).await["status"], "expired");
    let second = create(&mock.open().idempotency_key("pay-2"), amount(550)).await;
    assert_ne!(second["id"], created["id"]);
}

async fn a_key_stands_for_one_top_up_forever(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    let created = create(&keyed, amount(550)).await;
    press_button(&mock, &created, "paid").await;
    let id = text(&created["id"]);
    for _ in 0..2 {
        mock.advance(100 * 86_400).await;
        let replay = keyed.post_data(TOP_UPS, amount(550), 200).await;
        assert_eq!(replay["id"], created["id"]);
        keyed
            .post_error(TOP_UPS, amount(551), 409, "idempotency_conflict")
            .await;
    }
    let restored = mock.state().await;
    mock.put_state(restored).await.expect_success();
    let replay = keyed.post_data(TOP_UPS, amount(550), 200).await;
    assert_eq!(replay["id"], created["id"]);
    assert_eq!(ledger_amounts(&mock, "top_up", &id).await, [55_000]);
}

async fn a_pending_top_up_expires_after_a_day(mock: Mock) {
    let open = mock.open();
    let keyed = open.clone().idempotency_key("pay-1");
    let created = create(&keyed, amount(550)).await;
    let paid = create(&open, amount(700)).await;
    settle(&mock, &text(&paid["id"]), "paid").await;
    let id = text(&created["id"]);
    mock.advance(86_399).await;
    assert_eq!(read(&open, &id).await["status"], "pending");
    // The expiry survives a restart.
    let restored = mock.state().await;
    mock.put_state(restored).await.expect_success();
    mock.advance(1).await;
    assert_eq!(read(&open, &id).await["status"], "expired");
    settle(&mock, &id, "paid").await.expect(409);
    let page = checkout_page(&mock, &created).await;
    assert!(page.contains("expired"), "{page}");
    let replay = keyed.post_data(TOP_UPS, amount(550), 200).await;
    assert_eq!(replay["id"], created["id"]);
    assert_eq!(read(&open, &text(&paid["id"])).await["status"], "paid");
    assert!(ledger_amounts(&mock, "top_up", &id).await.is_empty());
}

/// Returns the checkout page of a top-up.
async fn checkout_page(mock: &Mock, top_up: &Value) -> String {
    let path = mock.path_of(Host::Media, &top_up["checkout_url"]);
    mock.client(Host::Media).get(&path).await.text()
}

async fn refuse_directive_returns_payment_errors(mock: Mock) {
    let keyed = mock.open().idempotency_key("pay-1");
    for (status, code) in [(502, "stripe_error"), (503, "stripe_not_configured")] {
        let url = format!("https://shop.example.com/[mock:refuse={code}]");
        let body = json!({"amount_usd_cents": 500, "success_url": url});
        keyed.post_error(TOP_UPS, body, status, code).await;
    }
    create(&keyed, amount(500)).await;
}

async fn an_unknown_top_up_is_not_found(mock: Mock) {
    for id in ["top_unknown", "x", "%00", "a%2Fb"] {
        mock.open()
            .get(&format!("{TOP_UPS}/{id}"))
            .await
            .expect(404);
    }
    settle(&mock, "top_unknown", "paid")
        .await
        .expect_client_error();
}

async fn a_top_up_is_visible_only_in_its_workspace(mock: Mock) {
    let created = create(&mock.open(), amount(500)).await;
    let id = text(&created["id"]);
    let same_workspace = mock.new_open_client("ws_demo").await;
    assert_eq!(read(&same_workspace, &id).await["status"], "pending");
    let other_workspace = mock.new_open_client("ws_elsewhere").await;
    other_workspace
        .get(&format!("{TOP_UPS}/{id}"))
        .await
        .expect(404);
}

async fn a_submit_succeeds_after_a_top_up(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    keyed
        .post_error(VIDEO, video(), 402, "insufficient_funds")
        .await;
    let created = create(&mock.open(), amount(500)).await;
    press_button(&mock, &created, "paid").await;
    keyed.post(VIDEO, video()).await.expect(202);
    assert_eq!(available(&mock.open()).await, "4.8750");
}
