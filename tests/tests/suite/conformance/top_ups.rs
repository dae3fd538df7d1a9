//! Top-ups, which are paid at a hosted checkout and added to the balance.

use super::*;

scripts! {
    a_replay_returns_the_same_top_up r#"
        open key=pay-1 top-up {"success_url": "https://shop.example.com/ok"} => 201 id=<id> checkout_url=<url>
        open key=pay-1 top-up {"success_url": "https://shop.example.com/ok"} => 200 id=<id> checkout_url=<url>
        open top-up => 201 id!=<id> checkout_url!=<url>
    "#
    a_pending_top_up_expires_after_a_day [balance_usd("1.0000")] r#"
        open key=pay-1 top-up {"amount_usd_cents": 550} => 201 id=<id> checkout_url=<url>
        open top-up => 201 id=<paid>
        control /top-ups/<paid> {"status": "paid"} => 200
        advance 86399
        open /v1/open/top-ups/<id> => 200 status=pending
        # The expiry survives a restart.
        restore
        advance 1
        open /v1/open/top-ups/<id> => 200 status=expired
        control /top-ups/<id> {"status": "paid"} => 409
        media <url> => 200 %*=expired
        open key=pay-1 top-up {"amount_usd_cents": 550} => 200 id=<id>
        open /v1/open/top-ups/<paid> => 200 status=paid
        ledger <id> =
    "#
    refusals_release_the_key r#"
        for <status> <code> in 502 stripe_error, 503 stripe_not_configured
          open key=pay-1 top-up {"success_url": "https://shop.example.com/[mock:refuse=<code>]"} => <status> <code>
          open key=pay-1 top-up {"success_url": "https://shop.example/?x=%5Bmock%3Arefuse%3D<code>%5D"} => <status> <code>
        open key=pay-1 top-up {"amount_usd_cents": 499} => 400 invalid_amount
        open key=pay-1 top-up => 201
    "#
    a_top_up_is_visible_only_in_its_workspace r#"
        open top-up => 201 id=<id>
        control /keys {"kind": "open", "workspace": "ws_demo"} => 201 key=<same>
        control /keys {"kind": "open", "workspace": "ws_elsewhere"} => 201 key=<other>
        open:<same> /v1/open/top-ups/<id> => 200 status=pending
        open:<other> /v1/open/top-ups/<id> => 404 top_up_not_found
    "#
    a_settled_top_up_is_not_changed_by_the_control_api r#"
        open top-up => 201 id=<id>
        for <status> <expected> in paid 200, paid 200, failed 409, pending 400
          control /top-ups/<id> {"status": "<status>"} => <expected>
        ledger <id> = top_up 5.0000
    "#
    a_key_stands_for_one_top_up_forever r#"
        open key=pay-1 top-up {"amount_usd_cents": 550} => 201 id=<id>
        control /top-ups/<id> {"status": "paid"} => 200
        repeat 2
          advance 8640000
          open key=pay-1 top-up {"amount_usd_cents": 550} => 200 id=<id> status=paid
          # Only the amount tells one from another.
          open key=pay-1 top-up {"amount_usd_cents": 550, "success_url": "https://shop.example.com/b"} => 200 id=<id>
          open key=pay-1 top-up {"amount_usd_cents": 551} => 409 idempotency_conflict
        restore
        open key=pay-1 top-up {"amount_usd_cents": 550} => 200 id=<id>
        ledger <id> = top_up 5.5000
    "#
    a_submit_succeeds_after_a_top_up [balance_usd("0")] r#"
        open key=order-1 video => 402 insufficient_funds
        open top-up => 201 id=<id>
        control /top-ups/<id> {"status": "paid"} => 200
        open key=order-1 video => 202
        available 4.8750
    "#
}

on_every_frontend! {
    the_checkout_and_the_control_api_settle_top_ups: balance_usd("1.0000"),
    a_settled_checkout_redirects_to_the_return_url,
    a_checkout_without_a_return_url_shows_the_status,
}

/// Returns the body of a top-up.
fn amount(cents: u64) -> Value {
    json!({"amount_usd_cents": cents})
}

async fn create(client: &Client, body: Value) -> Value {
    client.post_data(TOP_UPS, body, 201).await
}

async fn read(client: &Client, id: &str) -> Value {
    client.get_data(&format!("{TOP_UPS}/{id}")).await
}

/// Sends the form of a checkout page, as its button for a status does.
async fn submit_form(mock: &Mock, path: &str, status: &str) -> Response {
    let form = Some("application/x-www-form-urlencoded");
    let body = format!("status={status}").into();
    mock.client(Host::Media).send("POST", path, form, body).await
}

/// Opens the checkout page of a pending top-up and presses the button for a status.
async fn press_button(mock: &Mock, top_up: &Value, status: &str) -> Response {
    let path = mock.path_of(Host::Media, &top_up["checkout_url"]);
    let html = mock.client(Host::Media).get(&path).await.expect(200).text();
    let form = format!("<form method=\"post\" action=\"{path}\">");
    let button = format!("name=\"status\" value=\"{status}\"");
    assert!(html.contains(&form) && html.contains(&button), "{html}");
    submit_form(mock, &path, status).await
}

/// Sets the status of a top-up with the control API.
async fn settle(mock: &Mock, id: &str, status: &str) -> Response {
    let path = format!("/top-ups/{id}");
    mock.control().post(&path, json!({"status": status})).await
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

async fn new_top_up(mock: &Mock, body: Value) -> (Value, String) {
    let top_up = mock.open().post(TOP_UPS, body).await.expect(201).data();
    let path = mock.path_of(Host::Media, &top_up["checkout_url"]);
    (top_up, path)
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
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        let html = page.text();
        let button = format!("value=\"{end}\"");
        assert!(html.contains("$12.50") && html.contains(&button), "{html}");
        for _ in 0..2 {
            let sent = submit_form(&mock, &path, end).await.expect(303);
            assert_eq!(sent.header("location"), Some(redirect));
        }
        assert_eq!(read(&mock.open(), &text(&top_up["id"])).await["status"], end);
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
    assert_eq!(read(&mock.open(), &text(&top_up["id"])).await["status"], "paid");
    let media = mock.client(Host::Media);
    media.get("/checkout/no_such").await.expect(404);
    let response = media.send("PUT", &path, None, bytes::Bytes::new()).await;
    assert_eq!(response.header("allow"), Some("GET, HEAD, POST"));
}
