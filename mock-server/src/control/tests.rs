use super::*;
use crate::clock::{Clock, ClockMode, TimeSource};
use crate::engine::{Host, HostRequest, Settings};
use crate::exchanges::Exchanges;
use crate::mock_state::WebhookDispatch;
use crate::simulator::Simulator;

/// A mock as the control API sees it.
struct Mock(MockState);

impl Mock {
    fn with_clock_mode(clock_mode: ClockMode) -> Self {
        let settings = Settings::default();
        let clock = Clock::start(clock_mode, TimeSource::runtime(), settings.epoch);
        Self(MockState {
            simulator: Simulator::new(settings),
            clock,
            dispatch: WebhookDispatch::new(Vec::new()),
            exchanges: Exchanges::default(),
        })
    }

    fn manual() -> Self {
        Self::with_clock_mode(ClockMode::Manual)
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let response = self.response(method, path, body);
        let value = serde_json::from_slice(response.body()).unwrap();
        (response.status().as_u16(), value)
    }

    fn response(&mut self, method: &str, path: &str, body: &str) -> Response<Bytes> {
        let request = http::Request::builder().method(method).uri(path);
        let body = Bytes::copy_from_slice(body.as_bytes());
        let response = answer(&mut self.0, &request.body(body).unwrap());
        response.map(ControlBody::into_bytes)
    }

    fn ok(&mut self, method: &str, path: &str, body: &str) -> Value {
        let (status, value) = self.send(method, path, body);
        assert!(
            (200..300).contains(&status),
            "{method} {path}: {status} {value}"
        );
        value
    }

    /// Sends a request that must fail with the status, and returns the message.
    fn error(&mut self, status: u16, method: &str, path: &str, body: &str) -> String {
        let (actual, value) = self.send(method, path, body);
        assert_eq!(actual, status, "{method} {path} {body}: {value}");
        let code = value["error"]["code"].as_str().unwrap();
        assert!(
            code.bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase()),
            "{code}"
        );
        value["error"]["message"].as_str().unwrap().to_owned()
    }

    /// Submits an image on the open surface.
    fn submit(&mut self, prompt: &str) -> Value {
        let body = json!({"model": "image-i", "prompt": prompt}).to_string();
        let request = http::Request::post("/v1/image-router/generate")
            .header("authorization", "Bearer svc_open_demo")
            .header("content-type", "application/json")
            .body(Bytes::from(body))
            .unwrap();
        let call = HostRequest {
            host: Host::Open,
            peer: [127, 0, 0, 1].into(),
            request,
        };
        let now = self.0.clock.now();
        let reply = self.0.simulator.handle(now, &call);
        serde_json::from_slice(reply.response.body()).unwrap()
    }
}

fn items(value: &Value) -> &Vec<Value> {
    value["data"].as_array().unwrap()
}

#[test]
fn the_clock_can_be_read_and_advanced() {
    let mut mock = Mock::manual();
    let clock = mock.ok("GET", "/clock", "");
    assert_eq!(clock["mode"], "manual");
    assert_eq!(clock["now"], clock["epoch"]);
    let moved = mock.ok("POST", "/clock/advance", r#"{"seconds": 1.5}"#);
    assert_eq!(moved["now"], "2026-01-01T00:00:01.5Z");
    assert_eq!(mock.ok("GET", "/clock", "")["now"], moved["now"]);
    assert_eq!(mock.ok("POST", "/reset", "")["now"], moved["now"]);
}

#[test]
fn the_error_of_a_real_clock_suggests_a_manual_clock() {
    let mut mock = Mock::with_clock_mode(ClockMode::default());
    let message = mock.error(409, "POST", "/clock/advance", r#"{"seconds": 1}"#);
    assert!(message.contains("--clock manual"), "{message}");
    assert_eq!(mock.ok("GET", "/clock", "")["speed"], 1.0);
}

#[test]
fn errors_of_invalid_bodies_describe_the_expected_body() {
    let rows = [
        ("/clock/advance", "", "missing field `seconds`"),
        ("/clock/advance", r#"{"seconds": -1}"#, "expected 0 to"),
        ("/clock/advance", r#"{"seconds": 1e300}"#, "expected 0 to"),
        ("/clock/advance", r#"{"minutes": 1}"#, "expected `seconds`"),
        ("/clock/advance", "{", "EOF"),
        ("/reset", r#"{"hard": true}"#, "unknown field `hard`"),
        ("/faults", r#"{"kind": "explode"}"#, "`status_503`"),
        (
            "/faults",
            r#"{"kind": "delay", "sometimes": 1}"#,
            "`probability`",
        ),
        (
            "/faults",
            r#"{"kind": "delay", "operation": "jobs"}"#,
            "operation",
        ),
        ("/keys", r#"{"kind": "master"}"#, "`service_account`"),
        ("/top-ups/top_1", "{}", "missing field `status`"),
        (
            "/jobs/job_1",
            r#"{"state": "failed"}"#,
            "expected `status` or `code`",
        ),
    ];
    let mut mock = Mock::manual();
    for (path, body, expected) in rows {
        let message = mock.error(400, "POST", path, body);
        assert!(message.contains(expected), "{path} {body}: {message}");
    }
    let message = mock.error(400, "POST", "/clock/advance", "{}");
    assert!(
        message.ends_with(r#"expected body of POST /clock/advance: {"seconds": N}"#),
        "{message}"
    );
}

#[test]
fn errors_of_unknown_paths_list_the_known_paths() {
    let mut mock = Mock::manual();
    for path in ["/v1/jobs", "/clock/", "/jobs/", "/jobs/a/b"] {
        let message = mock.error(404, "GET", path, "");
        assert!(message.contains("/clock/advance"), "{path}: {message}");
    }
}

#[test]
fn errors_of_wrong_methods_list_the_allowed_methods() {
    let mut mock = Mock::manual();
    let message = mock.error(405, "DELETE", "/clock", "");
    assert!(message.contains("GET"), "{message}");
    let response = mock.response("PATCH", "/faults", "");
    assert_eq!(response.headers()[ALLOW], "GET, POST, DELETE");
}

#[test]
fn bodies_that_are_too_large_are_rejected() {
    let body = " ".repeat(MAX_BODY_BYTES + 1);
    Mock::manual().error(413, "POST", "/reset", &body);
}

#[test]
fn the_ledger_and_the_jobs_are_paged() {
    let mut mock = Mock::manual();
    for _ in 0..5 {
        mock.submit("x");
    }
    mock.ok("POST", "/clock/advance", r#"{"seconds": 2}"#);
    for (path, count) in [("/ledger", 10), ("/jobs", 5)] {
        let all = mock.ok("GET", path, "");
        assert_eq!(all.get("next_cursor"), None, "{path}");
        let (mut items, mut cursor) = (Vec::new(), "0".to_owned());
        loop {
            let page = mock.ok("GET", &format!("{path}?limit=2&cursor={cursor}"), "");
            let data = page["data"].as_array().unwrap();
            assert!((1..=2).contains(&data.len()), "{page}");
            assert_eq!(page.get("workspaces"), all.get("workspaces"), "{path}");
            items.extend(data.clone());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        assert_eq!(items.len(), count, "{path}");
        assert_eq!(json!(items), all["data"], "{path}");
        let page = mock.ok("GET", &format!("{path}?limit=1000"), "");
        assert_eq!(
            (&page["data"], &page["next_cursor"]),
            (&all["data"], &Value::Null)
        );
        for query in [
            "limit=0",
            "limit=1001",
            "limit=x",
            "cursor=-1",
            "cursor",
            "page=2",
        ] {
            let message = mock.error(400, "GET", &format!("{path}?{query}"), "");
            let name = query.split('=').next().unwrap();
            assert!(message.contains(name), "{message}");
        }
    }
}

#[test]
fn the_clock_can_be_paused_and_run() {
    let mut mock = Mock::with_clock_mode(ClockMode::default());
    let paused = mock.ok("PUT", "/clock", r#"{"mode": "manual"}"#);
    assert_eq!(
        (&paused["mode"], &paused["speed"]),
        (&json!("manual"), &Value::Null)
    );
    mock.ok("POST", "/clock/advance", r#"{"seconds": 5}"#);
    let running = mock.ok("PUT", "/clock", r#"{"mode": "real", "speed": 20}"#);
    assert_eq!(running["speed"], 20.0);
    assert!(
        running["now"].as_str() > Some("2026-01-01T00:00:05"),
        "{running}"
    );
    let message = mock.error(400, "PUT", "/clock", r#"{"mode": "real", "speed": 0}"#);
    assert!(message.contains("0.001 to 1000000"), "{message}");
    mock.error(400, "PUT", "/clock", r#"{"mode": "manual", "speed": 2}"#);
}

#[test]
fn the_waits_in_responses_follow_the_speed() {
    let mut mock = Mock::manual();
    let hint = |mock: &mut Mock| mock.submit("a fox")["data"]["next_poll_after_seconds"].as_f64();
    assert_eq!(hint(&mut mock), Some(1.0));
    mock.ok("PUT", "/clock", r#"{"mode": "real", "speed": 10}"#);
    assert_eq!(hint(&mut mock), Some(0.1));
}

#[test]
fn a_request_can_be_read_by_its_number() {
    let mut mock = Mock::manual();
    mock.submit("a fox");
    let request = mock.ok("GET", "/requests/1", "");
    assert_eq!(request["key"], "key_open_demo");
    assert_eq!(request["operation"], "image_generate");
    assert_eq!(
        request["request"],
        Value::Null,
        "no bodies are stored without a server"
    );
    mock.error(404, "GET", "/requests/2", "");
    mock.error(400, "GET", "/requests/last", "");
}

#[test]
fn keys_workspaces_and_limits_are_listed() {
    let mut mock = Mock::manual();
    mock.submit("a fox");
    let find = |list: Value, name: &str, value: &str| {
        let items = list["data"].as_array().unwrap().clone();
        items.into_iter().find(|item| item[name] == value).unwrap()
    };
    let key = find(mock.ok("GET", "/keys", ""), "id", "key_open_demo");
    assert_eq!(
        (&key["key"], &key["workspace"]),
        (&json!("svc_open_demo"), &json!("ws_demo"))
    );
    assert!(key["last_used_at"].is_string());
    let workspace = find(mock.ok("GET", "/workspaces", ""), "id", "ws_demo");
    assert_eq!(workspace["available_usd"], "99.9950");
    assert_eq!(
        (&workspace["in_flight"], &workspace["concurrent_jobs"]),
        (&json!(1), &json!(100))
    );
    let limit = find(mock.ok("GET", "/limits", ""), "key", "key_open_demo");
    assert_eq!(
        (&limit["write"]["used"], &limit["write"]["remaining"]),
        (&json!(1), &json!(119))
    );
    assert_eq!(limit["write"]["resets_at"], "2026-01-01T00:01:00Z");
    assert_eq!(limit["read"]["used"], 0);
    assert!(items(&mock.ok("GET", "/runs", "")).is_empty());
    assert!(items(&mock.ok("GET", "/top-ups", "")).is_empty());
}

#[test]
fn webhooks_are_redelivered_only_when_there_is_one() {
    let mut mock = Mock::manual();
    let receipt = mock.submit("a fox");
    let id = receipt["data"]["job"]["id"].as_str().unwrap();
    mock.error(409, "POST", &format!("/deliveries/{id}"), "");
    mock.error(404, "POST", "/deliveries/job_none", "");
}

#[test]
fn a_balance_can_be_topped_up() {
    let mut mock = Mock::manual();
    let body = r#"{"workspace": "ws_team", "amount_usd": "20.50"}"#;
    let top_up = mock.ok("POST", "/top-ups", body);
    assert_eq!(
        (&top_up["status"], &top_up["amount_usd_cents"]),
        (&json!("paid"), &json!(2050))
    );
    let ledger = mock.ok("GET", "/ledger", "");
    assert_eq!(ledger["workspaces"]["ws_team"]["available_usd"], "120.5000");
    assert_eq!(items(&ledger)[0]["kind"], "top_up");
    for body in [
        r#"{"amount_usd": "0"}"#,
        r#"{"amount_usd": "-1"}"#,
        r#"{"amount_usd": "0.001"}"#,
        r#"{"amount_usd": "99999999999"}"#,
        r#"{"amount_usd": "a lot"}"#,
        r#"{"amount_usd": "1", "workspace": "ws_none"}"#,
        "{}",
    ] {
        mock.error(400, "POST", "/top-ups", body);
    }
    let largest = r#"{"balance_usd": "9223372036854.00"}"#;
    mock.ok("POST", "/workspaces/ws_team", largest);
    mock.error(409, "POST", "/top-ups", body);
    assert_eq!(items(&mock.ok("GET", "/top-ups", "")).len(), 1);
}
