use serde_json::{Value, json};

use super::*;
use crate::clock::Speed;
use crate::faces::testing::{Hooks, get, post, submit_hooked};
use crate::serve::Server;
use crate::setup::Setup;
use crate::{MockService, WebhookRoute};

const SOON: Duration = Duration::from_secs(20);

async fn server(setup: Setup) -> Server {
    Server::bind(setup, 0, |_| {}).await.unwrap()
}

/// The program with a manual clock, and a receiver that answers so.
async fn with_hooks(answers: &[&'static str]) -> (Server, Hooks) {
    let hooks = Hooks::answering(answers).await;
    let setup = Setup::default().clock_manual();
    let setup = setup.webhook_timeout(Duration::from_millis(300));
    (
        server(setup.route_webhooks(hooks.route.clone())).await,
        hooks,
    )
}

async fn advance(server: &Server, seconds: u32) -> Value {
    let body = json!({"seconds": seconds});
    let answer = post(server.control_url(), "/clock/advance", body).await;
    assert_eq!(answer.status(), 200);
    answer.json()
}

fn delivery(service: &Service) -> Value {
    service.jobs()[0]["webhook_delivery"].clone()
}

async fn until(mut done: impl FnMut() -> bool) {
    let waited = async {
        while !done() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(SOON, waited).await.unwrap();
}

#[tokio::test]
async fn a_webhook_arrives_as_the_service_sends_it() {
    let (server, hooks) = with_hooks(&["204 No Content"]).await;
    let id = submit_hooked(server.base_url()).await;
    advance(&server, 2).await;
    let requests = hooks.requests();
    let [request] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    let text = String::from_utf8_lossy(&request.0);
    assert!(text.starts_with("POST /svc?a=b HTTP/1.1\r\n"), "{text}");
    assert_eq!(request.header("host"), Some("hooks.example.com"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.json()["event"], "job.completed");
    assert_eq!(request.json()["job_id"], json!(id));
    let attempts = get(server.control_url(), "/deliveries").await.json();
    let sent = &attempts["data"][0]["headers"];
    for name in [
        "user-agent",
        "x-svc-webhook-timestamp",
        "x-svc-webhook-signature",
        "x-svc-webhook-secret-fingerprint",
    ] {
        assert_eq!(sent[name], json!(request.header(name)), "{name}");
    }
    assert_eq!(attempts["data"][0]["status"], 204);
    assert_eq!(delivery(&server)["status"], "delivered");
}

#[tokio::test]
async fn one_advance_makes_ten_attempts_each_at_its_moment_and_no_more() {
    let (server, hooks) = with_hooks(&["500 Oops"]).await;
    submit_hooked(server.base_url()).await;
    let start = server.now();
    let clock = advance(&server, 20_000).await;
    assert_eq!(
        clock["now"],
        start.after(Duration::from_secs(20_000)).to_string()
    );
    let moments = hooks.requests().into_iter().map(|request| {
        let sent: u64 = request
            .header("x-svc-webhook-timestamp")
            .unwrap()
            .parse()
            .unwrap();
        sent - start.as_secs()
    });
    let moments: Vec<_> = moments.collect();
    assert_eq!(moments, [2, 32, 92, 212, 452, 932, 1892, 3812, 7412, 11012]);
    assert_eq!(delivery(&server)["status"], "exhausted");
    advance(&server, 1_000_000).await;
    assert_eq!(hooks.requests().len(), 10);
}

#[tokio::test]
async fn nine_failures_and_then_a_success_are_a_success() {
    let mut answers = vec!["500 Oops"; 9];
    answers.push("200 OK");
    let (server, hooks) = with_hooks(&answers).await;
    submit_hooked(server.base_url()).await;
    advance(&server, 100_000).await;
    assert_eq!(hooks.requests().len(), 10);
    assert_eq!(delivery(&server)["status"], "delivered");
    assert_eq!(delivery(&server)["attempts"], 10);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (server, hooks) = with_hooks(&["302 Found\r\nlocation: /elsewhere"]).await;
    submit_hooked(server.base_url()).await;
    advance(&server, 2).await;
    assert_eq!(hooks.requests().len(), 1);
    let delivery = delivery(&server);
    assert_eq!(delivery["status"], "retrying");
    assert_eq!(delivery["last_status_code"], 302);
    assert_eq!(delivery["last_error"], "redirect");
}

#[tokio::test]
async fn a_receiver_that_is_too_slow_has_not_answered() {
    let (server, hooks) = with_hooks(&["", "200 OK"]).await;
    submit_hooked(server.base_url()).await;
    advance(&server, 2).await;
    let first = delivery(&server);
    assert_eq!(first["last_error"], "timeout");
    assert_eq!(first["last_status_code"], Value::Null);
    advance(&server, 30).await;
    assert_eq!(hooks.requests().len(), 2);
    assert_eq!(delivery(&server)["status"], "delivered");
}

#[tokio::test]
async fn a_receiver_may_ask_for_time() {
    let (server, hooks) = with_hooks(&["503 Busy\r\nretry-after: 600", "200 OK"]).await;
    submit_hooked(server.base_url()).await;
    advance(&server, 601).await;
    assert_eq!(hooks.requests().len(), 1);
    advance(&server, 1).await;
    assert_eq!(hooks.requests().len(), 2);
}

#[tokio::test]
async fn where_nobody_listens_the_connection_fails() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let route = format!(
        "https://hooks.example.com=http://{}",
        listener.local_addr().unwrap()
    );
    drop(listener);
    let route: WebhookRoute = route.parse().unwrap();
    let server = server(Setup::default().clock_manual().route_webhooks(route)).await;
    submit_hooked(server.base_url()).await;
    advance(&server, 2).await;
    assert_eq!(delivery(&server)["last_error"], "connection_failed");
}

#[tokio::test]
async fn without_a_route_nothing_leaves_the_machine() {
    let server = server(Setup::default().clock_manual()).await;
    submit_hooked(server.base_url()).await;
    advance(&server, 100_000).await;
    assert_eq!(delivery(&server)["status"], "exhausted");
    assert_eq!(delivery(&server)["last_error"], "no_route");
    assert_eq!(server.deliveries().len(), 10);
}

#[tokio::test]
async fn webhooks_go_out_by_themselves_as_time_passes() {
    let hooks = Hooks::answering(&["500 Oops", "200 OK"]).await;
    let speed = Speed::new(500.0).unwrap();
    let service = MockService::builder().speed(speed).start().await;
    service.route_webhooks(hooks.route.clone());
    submit_hooked(service.base_url()).await;
    until(|| hooks.requests().len() == 2).await;
    until(|| delivery(&service)["status"] == "delivered").await;
    assert_eq!(service.webhook_routes(), vec![hooks.route.clone()]);
}

#[tokio::test]
async fn what_is_due_at_once_does_not_wait_for_a_manual_clock() {
    let (server, hooks) = with_hooks(&["200 OK"]).await;
    let id = submit_hooked(server.base_url()).await;
    let end = json!({"status": "failed"});
    post(server.control_url(), &format!("/jobs/{id}"), end).await;
    until(|| hooks.requests().len() == 1).await;
    assert_eq!(hooks.requests()[0].json()["event"], "job.failed");
}

#[tokio::test]
async fn on_wiremock_a_test_can_wait_for_webhooks_too() {
    let hooks = Hooks::answering(&["500 Oops", "200 OK"]).await;
    let setup = MockService::builder().clock_manual();
    let service = setup.route_webhooks(hooks.route.clone()).start().await;
    submit_hooked(service.base_url()).await;
    let minute = Duration::from_secs(60);
    service.advance_and_deliver(minute).await.unwrap();
    assert_eq!(hooks.requests().len(), 2);
    assert_eq!(delivery(&service)["attempts"], 2);
}

#[tokio::test]
async fn what_was_under_way_at_a_reset_is_not_heard_of() {
    let (server, hooks) = with_hooks(&[""]).await;
    let id = submit_hooked(server.base_url()).await;
    let end = json!({"status": "failed"});
    post(server.control_url(), &format!("/jobs/{id}"), end).await;
    until(|| hooks.requests().len() == 1).await;
    server.reset();
    sleep(Duration::from_millis(400)).await;
    assert!(server.deliveries().is_empty());
}

#[tokio::test]
async fn a_state_that_is_taken_up_sends_what_was_under_way_again() {
    let (one, slow) = with_hooks(&[""]).await;
    let id = submit_hooked(one.base_url()).await;
    post(
        one.control_url(),
        &format!("/jobs/{id}"),
        json!({"status": "failed"}),
    )
    .await;
    until(|| slow.requests().len() == 1).await;
    let (other, hooks) = with_hooks(&["200 OK"]).await;
    other.restore(one.snapshot()).unwrap();
    until(|| hooks.requests().len() == 1).await;
    assert_eq!(hooks.requests()[0].body(), slow.requests()[0].body());
}
