use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::*;
use crate::frontends::testing::{RECEIVER_ORIGIN, post, submit_with_webhook};
use crate::serve::Server;
use crate::setup::Setup;
use crate::{MockService, WebhookRoute};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A server that receives webhooks.
struct TestReceiver {
    route: WebhookRoute,
    requests: Arc<Mutex<Vec<Request>>>,
    _server: MockServer,
}

impl TestReceiver {
    /// Starts a receiver that answers with the statuses in order and repeats the last one. It does not
    /// respond if that is 0.
    async fn start(statuses: &[u16]) -> Self {
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (stored, statuses) = (Arc::clone(&requests), statuses.to_vec());
        let respond = move |request: &Request| {
            let mut stored = stored.lock().unwrap();
            stored.push(request.clone());
            match statuses[(stored.len() - 1).min(statuses.len() - 1)] {
                0 => ResponseTemplate::new(200).set_delay(Duration::from_secs(60)),
                status => ResponseTemplate::new(status),
            }
        };
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(respond).mount(&server).await;
        let route = format!("{RECEIVER_ORIGIN}={}", server.uri()).parse().unwrap();
        Self { route, requests, _server: server }
    }

    /// Returns the bodies of the webhooks.
    fn received(&self) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|request| request.body_json().unwrap()).collect()
    }
}

async fn server(setup: Setup) -> Server {
    Server::bind(setup, 0, |_| {}).await.unwrap()
}

/// Starts a server with a manual clock and a receiver with those statuses.
async fn server_and_receiver(statuses: &[u16]) -> (Server, TestReceiver) {
    let receiver = TestReceiver::start(statuses).await;
    let setup = Setup::default().clock_manual();
    let setup = setup.webhook_timeout(Duration::from_millis(300));
    (server(setup.route_webhooks(receiver.route.clone())).await, receiver)
}

async fn advance(server: &Server, seconds: u32) -> Value {
    let body = json!({"seconds": seconds});
    let response = post(server.control_url(), "/clock/advance", body).await;
    assert_eq!(response.status(), 200);
    response.json()
}

fn delivery(service: &Service) -> Value {
    service.jobs()[0]["webhook_delivery"].clone()
}

async fn wait_until(mut is_done: impl FnMut() -> bool) {
    let wait = async {
        while !is_done() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(TIMEOUT, wait).await.unwrap();
}

#[tokio::test]
async fn a_refused_connection_is_reported() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let route = format!("https://hooks.example.com=http://{}", listener.local_addr().unwrap());
    drop(listener);
    let route: WebhookRoute = route.parse().unwrap();
    let server = server(Setup::default().clock_manual().route_webhooks(route)).await;
    submit_with_webhook(server.base_url()).await;
    advance(&server, 2).await;
    assert_eq!(delivery(&server)["last_error"], "connection_failed");
}

#[tokio::test]
async fn immediate_deliveries_do_not_wait_for_the_manual_clock() {
    let (server, receiver) = server_and_receiver(&[200]).await;
    let id = submit_with_webhook(server.base_url()).await;
    let end = json!({"status": "failed"});
    post(server.control_url(), &format!("/jobs/{id}"), end).await;
    wait_until(|| receiver.received().len() == 1).await;
    assert_eq!(receiver.received()[0]["event"], "job.failed");
}

#[tokio::test]
async fn advance_and_deliver_sends_webhooks_on_wiremock() {
    let receiver = TestReceiver::start(&[500, 200]).await;
    let setup = MockService::builder().clock_manual();
    let service = setup.route_webhooks(receiver.route.clone()).start().await;
    submit_with_webhook(service.base_url()).await;
    let minute = Duration::from_secs(60);
    service.advance_and_deliver(minute).await.unwrap();
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(delivery(&service)["attempts"], 2);
}

#[tokio::test]
async fn a_reset_discards_the_outcome_of_open_attempts() {
    let (server, receiver) = server_and_receiver(&[0]).await;
    let id = submit_with_webhook(server.base_url()).await;
    let end = json!({"status": "failed"});
    post(server.control_url(), &format!("/jobs/{id}"), end).await;
    wait_until(|| receiver.received().len() == 1).await;
    server.reset();
    sleep(Duration::from_millis(400)).await;
    assert!(server.deliveries().is_empty());
}

#[tokio::test]
async fn a_restored_state_repeats_open_attempts() {
    let (one, slow) = server_and_receiver(&[0]).await;
    let id = submit_with_webhook(one.base_url()).await;
    post(one.control_url(), &format!("/jobs/{id}"), json!({"status": "failed"})).await;
    wait_until(|| slow.received().len() == 1).await;
    let (other, receiver) = server_and_receiver(&[200]).await;
    other.restore(one.snapshot()).unwrap();
    wait_until(|| receiver.received().len() == 1).await;
    let body = |receiver: &TestReceiver| receiver.requests.lock().unwrap()[0].body.clone();
    assert_eq!(body(&receiver), body(&slow));
}
