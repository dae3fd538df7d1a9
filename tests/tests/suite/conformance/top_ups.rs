//! Top-ups, which are paid at a hosted checkout and added to the balance.

use super::*;

on_every_frontend! {
    a_replay_returns_the_same_top_up,
    the_checkout_and_the_control_api_settle_top_ups: balance_usd("1.0000"),
    a_key_stands_for_one_top_up_forever,
    a_pending_top_up_expires_after_a_day: balance_usd("1.0000"),
    refuse_directive_returns_payment_errors,
    a_top_up_is_visible_only_in_its_workspace,
    a_submit_succeeds_after_a_top_up: balance_usd("0"),
    a_settled_checkout_redirects_to_the_return_url,
    a_checkout_without_a_return_url_shows_the_status,
    a_settled_top_up_is_not_changed_by_the_control_api,
    directives_in_a_return_url_are_decoded,
    a_refused_top_up_releases_its_key,
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

async fn a_top_up_is_visible_only_in_its_workspace(mock: Mock) {
    let created = create(&mock.open(), amount(500)).await;
    let id = text(&created["id"]);
    let same_workspace = mock.new_open_client("ws_demo").await;
    assert_eq!(read(&same_workspace, &id).await["status"], "pending");
    let other_workspace = mock.new_open_client("ws_elsewhere").await;
    let path = format!("{TOP_UPS}/{id}");
    other_workspace
        .get_error(&path, 404, "top_up_not_found")
        .await;
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
