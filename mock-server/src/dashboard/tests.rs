use axum::body::to_bytes;
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::*;
use crate::Setup;
use crate::addresses::Addresses;
use crate::clock::TimeSource;
use crate::engine::{Host, HostRequest};

/// A mock as the dashboard sees it.
struct DashboardMock {
    service: Service,
    dashboard: Dashboard,
}

impl DashboardMock {
    fn new() -> Self {
        let hosts = ["open", "developer", "media", "control"];
        let addresses = Addresses::new(hosts.map(|host| format!("http://{host}.test")));
        let setup = Setup::default().clock_manual();
        let service = setup.service(TimeSource::system(), addresses);
        service.store_exchanges();
        let dashboard = Dashboard::new(service.clone());
        Self { service, dashboard }
    }

    async fn call(&self, host: Host, method: &str, path: &str, body: &str) -> Value {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", "Bearer svc_open_demo");
        let request = request.header("content-type", "application/json");
        let request = request.body(Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let call = HostRequest { host, peer: [127, 0, 0, 1].into(), request };
        let reply = self.service.call(call).await;
        serde_json::from_slice(reply.response.body()).unwrap()
    }

    async fn submit(&self, body: Value) -> Value {
        self.call(Host::Open, "POST", "/v1/image-router/generate", &body.to_string()).await
    }

    async fn image(&self, prompt: &str) -> Value {
        self.submit(json!({"model": "image-i", "prompt": prompt})).await
    }

    async fn control(&self, method: &str, path: &str, body: &str) -> Value {
        self.call(Host::Control, method, path, body).await
    }

    async fn response(&self, path: &str) -> Response<Body> {
        let request = Request::get(path).header(ACCEPT, "text/html").body(()).unwrap();
        assert!(Dashboard::is_for(&request), "{path}");
        self.dashboard.respond(request).await
    }

    /// Returns a page that must exist.
    async fn page(&self, path: &str) -> String {
        let response = self.response(path).await;
        assert_eq!(response.status(), 200, "{path}");
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }
}

#[test]
fn programs_get_the_list_of_endpoints_and_browsers_a_page() {
    let is_page = |method: &str, path: &str, accept: &str| {
        let request = Request::builder().method(method).uri(path);
        Dashboard::is_for(&request.header(ACCEPT, accept).body(()).unwrap())
    };
    assert!(is_page("GET", "/", "text/html,application/xhtml+xml"));
    assert!(!is_page("GET", "/", "*/*") && !is_page("GET", "/", "application/json"));
    assert!(is_page("GET", "/events", "*/*") && is_page("GET", "/dashboard/jobs", "*/*"));
    assert!(!is_page("GET", "/clock", "text/html") && !is_page("POST", "/events", "*/*"));
}

#[tokio::test]
async fn every_view_is_a_page_with_a_strict_content_policy() {
    let mock = DashboardMock::new();
    for path in [
        "/",
        "/dashboard",
        "/dashboard/requests?q=video&show=errors&before=7",
        "/dashboard/requests/1",
        "/dashboard/jobs?show=active",
        "/dashboard/jobs/job_none",
        "/dashboard/money?workspace=ws_team",
        "/dashboard/webhooks",
        "/dashboard/webhooks/test",
        "/dashboard/limits",
        "/dashboard/clock",
        "/dashboard/faults",
        "/dashboard/keys",
        "/dashboard/state",
    ] {
        let response = mock.response(path).await;
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
        let page = mock.page(path).await;
        assert!(page.contains("<main") && page.contains("aria-label=\"Views\""), "{path}");
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "{path}");
    }
    assert_eq!(mock.response("/dashboard/nothing").await.status(), 404);
    assert_eq!(mock.response("/dashboard/assets/nothing.js").await.status(), 404);
    let script = mock.response("/dashboard/assets/app.js").await;
    assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
}

#[tokio::test]
async fn an_empty_mock_says_what_to_do_first() {
    let page = DashboardMock::new().page("/").await;
    assert!(page.contains("curl -sS http://open.test/v1/image-router/generate"), "{page}");
    assert!(page.contains("SVC_BASE_URL"), "{page}");
}

#[tokio::test]
async fn what_clients_send_is_escaped() {
    let mock = DashboardMock::new();
    let script = "<script>alert(1)</script>\"'";
    let body = json!({
        "model": "image-i", "prompt": script, "metadata": {"note": script},
        "mode": "webhook", "webhook_url": "https://hooks.example.com/?a=<script>",
    });
    let receipt = mock.submit(body).await;
    mock.control("POST", "/clock/advance", "{\"seconds\": 60}").await;
    let job = receipt["data"]["job"]["id"].as_str().unwrap();
    for path in [
        "/dashboard/requests/1".to_owned(),
        "/dashboard/requests?q=%3Cscript%3Ealert".to_owned(),
        "/dashboard/jobs?q=%22%3E%3Cscript%3E".to_owned(),
        format!("/dashboard/jobs/{job}"),
        format!("/dashboard/webhooks/{job}"),
        "/dashboard/jobs/%3Cscript%3E".to_owned(),
        "/dashboard/money?workspace=%3Cscript%3E".to_owned(),
    ] {
        let page = mock.page(&path).await;
        // The only scripts are those of the dashboard itself.
        assert_eq!(page.matches("<script").count(), 1, "{path}: {page}");
        assert!(page.contains("&lt;script"), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_refused_request_is_explained() {
    let mock = DashboardMock::new();
    for _ in 0..2 {
        mock.image("a fox").await;
    }
    let fox = |fields: Value| {
        let mut body = json!({"model": "image-i", "prompt": "a fox"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    // The balance before the request, the request, and what its page says.
    for (seq, (balance, body, expected)) in (3..).zip([
        (99.99, json!({"model": "image-i"}), "invalid_request"),
        (99.99, json!({"model": "image-i"}), "99.9900 USD"),
        (99.99, json!({"model": "image-i"}), "2 of 100"),
        (99.99, json!({"model": "image-i"}), "authorization: Bearer svc_open_demo"),
        (99.99, fox(json!({"size": 3})), "<code>size</code> is not a field"),
        (0.0, fox(json!({})), "It needs <strong>"),
        (0.0, fox(json!({})), "data-send=\"POST /top-ups\""),
        (
            0.0,
            fox(json!({"prompt": "a [mock:refuse=insufficient_funds] fox"})),
            "[mock:refuse=insufficient_funds]</code>, which asks",
        ),
    ]) {
        let balance = json!({"balance_usd": balance}).to_string();
        mock.control("POST", "/workspaces/ws_demo", &balance).await;
        mock.submit(body).await;
        let page = mock.page(&format!("/dashboard/requests/{seq}")).await;
        assert!(page.contains("Why it was refused") && page.contains(expected), "{page}");
    }
    // A top-up does not help against an error that was asked for.
    assert!(!mock.page("/dashboard/requests/10").await.contains("POST /top-ups"));
    let errors = mock.page("/dashboard/requests?show=errors").await;
    assert_eq!(errors.matches("data-key=\"3\"").count(), 2, "the row and the view: {errors}");
    assert!(!errors.contains("/dashboard/requests/2"), "{errors}");
}

#[tokio::test]
async fn lists_are_searched_and_count_what_is_newer_than_seen() {
    let mock = DashboardMock::new();
    let receipt = mock.image("a red fox").await;
    mock.image("an owl, größer").await;
    mock.submit(json!({"model": "image-i", "prompt": "a whale", "size": 3})).await;
    mock.control("POST", "/clock/advance", "{\"seconds\": 60}").await;
    let job = receipt["data"]["job"]["id"].as_str().unwrap();
    for (path, expected) in [
        ("/dashboard/requests", "3 requests"),
        ("/dashboard/requests?q=FOX", "1 of 3 requests"),
        ("/dashboard/requests?q=gr%C3%B6%C3%9Fer", "1 of 3 requests"),
        ("/dashboard/requests?q=status:400+op:image_generate+ws:ws_demo", "1 of 3 requests"),
        ("/dashboard/requests?q=ws:ws_bob", "0 of 3 requests"),
        ("/dashboard/requests?seen=1", "1 request<"),
        ("/dashboard/requests?seen=1", "2 new "),
        ("/dashboard/requests?seen=1&q=whale", "1 new "),
        // From before a reset.
        ("/dashboard/requests?seen=9", "3 requests"),
        ("/dashboard/jobs?q=owl", "1 of 2 jobs and runs"),
        ("/dashboard/jobs?q=status:completed+op:image*", "2 jobs and runs"),
        ("/dashboard/jobs?seen=1.0", "1 new "),
        (&format!("/dashboard/jobs?q=id:{job}"), "a red fox"),
        (&format!("/dashboard/jobs/{job}"), "<blockquote class=\"prompt\">a red fox</blockquote>"),
        (&format!("/dashboard/jobs/{job}"), "0.0050 USD"),
    ] {
        let page = mock.page(path).await;
        assert!(page.contains(expected), "{path}: {expected}: {page}");
    }
}

#[tokio::test]
async fn a_request_is_sent_again() {
    let mock = DashboardMock::new();
    mock.image("a fox").await;
    let replay = |seq: u64| {
        let path = format!("/dashboard/requests/{seq}/replay");
        let request = Request::post(path).body(()).unwrap();
        assert!(Dashboard::is_for(&request));
        mock.dashboard.respond(request)
    };
    let response = replay(1).await;
    assert_eq!(response.status(), 200);
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert_eq!(body, "{\"seq\":2}");
    let requests = mock.service.requests(0);
    assert_eq!((requests.len(), &requests[1]["status"]), (2, &json!(202)));
    assert_eq!(replay(9).await.status(), 409);
}

#[tokio::test]
async fn an_artifact_is_served_from_the_control_port_without_being_logged() {
    let mock = DashboardMock::new();
    let receipt = mock.image("a fox").await;
    mock.control("POST", "/clock/advance", "{\"seconds\": 60}").await;
    let job = receipt["data"]["job"]["id"].as_str().unwrap();
    let page = mock.page(&format!("/dashboard/jobs/{job}")).await;
    let (_, rest) = page.split_once("src=\"/dashboard/media/").unwrap();
    let (file, _) = rest.split_once('"').unwrap();
    let image = mock.response(&format!("/dashboard/media/{file}")).await;
    assert_eq!(
        (image.status().as_u16(), &image.headers()["content-type"]),
        (200, &HeaderValue::from_static("image/png"))
    );
    let thumbnail = mock.response(&format!("/dashboard/thumbnails/{file}")).await;
    assert_eq!(
        (thumbnail.status(), &thumbnail.headers()["content-type"]),
        (image.status(), &image.headers()["content-type"])
    );
    assert_eq!(mock.service.requests(0).len(), 1);
}

#[tokio::test]
async fn requests_and_changes_are_streamed() {
    let mock = DashboardMock::new();
    mock.image("one").await;
    let response = mock.response("/events?since=0").await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut stream = response.into_body().into_data_stream();
    let mut received = String::new();
    while !received.contains("event: change") {
        let bytes = stream.next().await.unwrap().unwrap();
        received.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    assert!(received.contains("event: request\nid: 1\ndata: {"), "{received}");
    mock.image("two").await;
    while !received.contains("id: 2\n") {
        let bytes = stream.next().await.unwrap().unwrap();
        received.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    assert_eq!(mock.response("/events?from=1").await.status(), 400);
}
