use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::accept::Accept;
use super::*;
use crate::addresses::PublicUrl;
use crate::clock::Speed;
use crate::engine::{Fault, FaultKind};
use crate::frontends::testing::{RawMessage, begin, connect, get, read_to_end, send};
use crate::setup::Network;

const TIMEOUT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(20);

async fn server(setup: Setup) -> Server {
    Server::bind(setup, 0, |_| {}).await.unwrap()
}

async fn server_with_short_timeouts() -> Server {
    let timeouts =
        Timeouts { idle: SHORT, head: SHORT, body: SHORT, write: SHORT, shutdown: SHORT };
    Server::start(Setup::default(), 0, |_| {}, timeouts).await.unwrap()
}

fn fault(server: &Server, kind: FaultKind) {
    server.add_fault(Fault::new(kind)).unwrap();
}

#[tokio::test]
async fn another_address_and_host_name_are_used() {
    let every_address = IpAddr::from([0, 0, 0, 0]);
    let server = server(Setup::default().bind(every_address)).await;
    assert!(server.base_url().starts_with("http://127.0.0.1:"));

    let setup = Setup::default().bind(every_address);
    let server = self::server(setup.host(url::Host::Domain("mock".to_owned()))).await;
    let (host, port) = server.control_url().rsplit_once(':').unwrap();
    assert_eq!(host, "http://mock");
    let address = format!("http://127.0.0.1:{port}");
    for (name, status) in [("mock", 200), ("elsewhere", 421)] {
        let head = format!("GET /clock HTTP/1.1\r\nhost: {name}:{port}");
        assert_eq!(send_head(&address, &head).await.status(), status, "{name}");
    }
}

#[tokio::test]
async fn every_control_request_of_a_foreign_host_or_origin_is_refused() {
    let server = server(Setup::default().clock_manual()).await;
    let address = server.control_url().trim_start_matches("http://");
    let before = get(server.control_url(), "/state").await.json();
    let index = get(server.control_url(), "/").await.json();
    let mut requests: Vec<_> = index["data"].as_array().unwrap().iter().collect();
    // Container platforms send it with any host.
    requests.retain(|request| request["path"] != "/healthz");
    let pages = ["/dashboard/state", "/dashboard/keys", "/dashboard/assets/app.js"];
    let pages = pages.map(|path| json!({"method": "GET", "path": path}));
    let replay = json!({"method": "POST", "path": "/dashboard/requests/1/replay"});
    requests.extend(pages.iter().chain([&replay]));
    assert!(requests.len() > 30, "{}", requests.len());
    for request in requests {
        let method = request["method"].as_str().unwrap();
        let path = request["path"].as_str().unwrap().replace("{id}", "x");
        for (sender, status) in [
            ("host: evil.example".to_owned(), "421"),
            (format!("host: evil.example\r\norigin: http://{address}"), "421"),
            (format!("host: {address}\r\norigin: https://evil.example"), "403"),
            (format!("host: {address}\r\norigin: null"), "403"),
        ] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\n{sender}\r\naccept: text/html\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}"
            );
            let mut response = vec![0; 12];
            let mut stream = begin(server.control_url(), &request).await;
            stream.read_exact(&mut response).await.unwrap();
            let received = String::from_utf8_lossy(&response).into_owned();
            assert!(received.ends_with(status), "{method} {path}, {sender}: {received}");
        }
    }
    assert_eq!(get(server.control_url(), "/state").await.json(), before);
}

#[tokio::test]
async fn what_cannot_be_bound_is_reported() {
    // A documentation address, which no machine has.
    let elsewhere = Setup::default().bind(IpAddr::from([192, 0, 2, 1]));
    for (setup, port_base, expected) in [
        (elsewhere, 0, "cannot listen on 192.0.2.1: "),
        (Setup::default(), 65_533, "invalid --port-base: expected at most 65532"),
    ] {
        let error = Server::bind(setup, port_base, |_| {}).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_connection_serves_pipelined_requests() {
    let server = server(Setup::default()).await;
    let request = "GET /clock HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".repeat(3)
        + "GET /clock HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
    let mut stream = begin(server.control_url(), &request).await;
    let responses = String::from_utf8(read_to_end(&mut stream).await.0).unwrap();
    assert_eq!(responses.matches("HTTP/1.1 200 OK").count(), 4);
}

#[tokio::test]
async fn an_incomplete_request_times_out() {
    let server = server_with_short_timeouts().await;
    for beginning in
        ["", "GET /clo", "POST /reset HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{"]
    {
        read_to_end(&mut begin(server.control_url(), beginning).await).await;
    }
}

#[tokio::test]
async fn a_connection_that_stays_idle_after_a_request_is_closed() {
    let timeouts = Timeouts { idle: SHORT, ..Timeouts::default() };
    let server = Server::start(Setup::default(), 0, |_| {}, timeouts).await.unwrap();
    // The second request takes longer than a connection may be idle.
    for path in ["/clock", "/requests?wait=1&count=1"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        read_to_end(&mut begin(server.control_url(), &request).await).await;
    }
}

#[tokio::test]
async fn a_head_that_comes_slowly_is_closed_but_an_idle_connection_is_not() {
    let timeouts = Timeouts { head: SHORT, ..Timeouts::default() };
    let server = Server::start(Setup::default(), 0, |_| {}, timeouts).await.unwrap();
    let mut idle = connect(server.control_url()).await;
    let mut slow = begin(server.control_url(), "GET /clock HTTP/1.1\r\n").await;
    // The limit between requests is longer than the test waits for the end.
    read_to_end(&mut slow).await;
    for _ in 0..2 {
        idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut response = [0; 1024];
        let length = idle.read(&mut response).await.unwrap();
        assert!(response[..length].starts_with(b"HTTP/1.1 200 OK"));
        tokio::time::sleep(SHORT * 5).await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_times_out() {
    let server = server_with_short_timeouts().await;
    let mut stream = connect(server.control_url()).await;
    let request = "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".repeat(1000);
    let until_closed = async { while stream.write_all(request.as_bytes()).await.is_ok() {} };
    timeout(TIMEOUT, until_closed).await.unwrap();
    assert!(server.listening.iter().all(|task| !task.is_finished()));
}

#[tokio::test]
async fn slow_clients_do_not_block_others() {
    let server = server(Setup::default()).await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        slow.push(begin(server.control_url(), "GET /clock HTTP/1.1\r\n").await);
    }
    assert_eq!(get(server.control_url(), "/clock").await.status(), 200);
}

#[tokio::test]
async fn a_truncated_response_has_the_full_content_length_and_half_the_body() {
    let server = server(Setup::default()).await;
    let whole = get(server.base_url(), "/v1/open/catalog").await;
    fault(&server, FaultKind::Truncate);
    let response = get(server.base_url(), "/v1/open/catalog").await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.header("content-length"), whole.header("content-length"));
    assert_eq!(response.body(), &whole.body()[..whole.body().len() / 2]);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_idle_connections() {
    let server = server_with_short_timeouts().await;
    let url = server.control_url().to_owned();
    let idle = connect(&url).await;
    timeout(TIMEOUT, server.shutdown()).await.unwrap();
    drop(idle);
    let address: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

/// A listener whose first accepts fail, as without free file descriptors.
struct FailingListener {
    listener: TcpListener,
    failures: AtomicU32,
}

impl Accept for FailingListener {
    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let left = self.failures.load(Ordering::Relaxed);
        if left > 0 {
            self.failures.store(left - 1, Ordering::Relaxed);
            return Err(io::Error::other("too many open files"));
        }
        self.listener.accept().await
    }
}

#[tokio::test(start_paused = true)]
async fn accept_errors_are_retried_and_reported_once() {
    static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let log: Log = |line| LOG.lock().unwrap().push(line.to_owned());
    let running = server(Setup::default()).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let failing = FailingListener { listener, failures: AtomicU32::new(3) };
    let timeouts = Timeouts::default();
    let handler = RequestHandler::new(
        Host::Control,
        running.service.clone(),
        timeouts.body,
        &Network::default(),
    );
    let (stop, stopped) = watch::channel(());
    let accepting = tokio::spawn(accept(failing, handler, timeouts, 8, stopped, log));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /clock HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await.unwrap();
    let mut response = [0; 15];
    stream.read_exact(&mut response).await.unwrap();
    assert_eq!(&response, b"HTTP/1.1 200 OK");
    assert_eq!(LOG.lock().unwrap().len(), 1);
    drop((stop, stream));
    accepting.await.unwrap();
}

/// Sends a head without a body to an address and returns the response.
async fn send_head(url: &str, head: &str) -> RawMessage {
    let head = format!("{head}\r\nconnection: close\r\n\r\n");
    read_to_end(&mut begin(url, &head).await).await
}

fn public_url(text: &str) -> PublicUrl {
    text.parse().unwrap()
}

#[tokio::test]
async fn every_port_tells_any_host_that_the_mock_runs() {
    let server = server(Setup::default()).await;
    let (open, developer) = (server.base_url(), server.developer_base_url());
    for url in [open, developer, server.media_url(), server.control_url()] {
        let response = send_head(url, "GET /healthz HTTP/1.1\r\nhost: evil.example").await;
        assert_eq!((response.status(), response.json()), (200, json!({"status": "ok"})));
        assert!(response.header("x-svc-request-id").unwrap().starts_with("req_"));
    }
}

#[tokio::test]
async fn public_urls_are_those_in_responses() {
    let setup = Setup::default()
        .public_url(public_url("https://mock.example.com:8443"))
        .public_url(public_url("media=https://files.example.com"));
    let server = server(setup).await;
    assert_eq!(server.base_url(), "https://mock.example.com:8443");
    assert_eq!(server.developer_base_url(), "https://mock.example.com:8444");
    assert_eq!(server.media_url(), "https://files.example.com");
    for text in ["moon=https://a.example", "ftp://a.example", "media=", "https://a.example/?x"] {
        assert!(text.parse::<PublicUrl>().is_err(), "{text}");
    }
}

#[tokio::test]
async fn the_host_of_a_request_is_that_of_the_urls_in_its_response() {
    let setup = Setup::default().urls_from_host().allow_host("mock");
    let server = server(setup.speed(Speed::new(1000.0).unwrap())).await;
    let open = server.base_url().to_owned();
    let port = open.rsplit_once(':').unwrap().1.to_owned();
    let bodies = [
        (r#"{"model": "image-i", "prompt": "x"}"#, "/data/status_url"),
        (
            r#"{"model": "image-i", "prompt": "x", "mode": "sync"}"#,
            "/data/job/result/artifacts/0/url",
        ),
    ];
    for (body, place) in bodies {
        let request = format!(
            "POST /v1/image-router/generate HTTP/1.1\r\nhost: mock:{port}\r\nx-api-key: svc_open_demo\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let reply = read_to_end(&mut begin(&open, &request).await).await.json();
        let url = reply.pointer(place).and_then(|url| url.as_str()).unwrap_or_default();
        assert!(url.starts_with("http://mock:"), "{reply}");
        #[cfg(feature = "dashboard")]
        for page in [
            "requests/1".to_owned(),
            format!("jobs/{}", reply["data"]["job"]["id"].as_str().unwrap()),
        ] {
            let head =
                format!("GET /dashboard/{page} HTTP/1.1\r\nhost: mock:1\r\naccept: text/html");
            let page = send_head(server.control_url(), &head).await;
            let text = String::from_utf8_lossy(page.body());
            assert!(page.status() == 200 && !text.contains("http://127.0.0.1"), "{text}");
        }
    }
    let clock = send_head(server.control_url(), "GET /clock HTTP/1.1\r\nhost: mock:1").await;
    assert_eq!(clock.status(), 200);
    let clock = send_head(server.control_url(), "GET /clock HTTP/1.1\r\nhost: other").await;
    assert_eq!(clock.status(), 421);
}

#[tokio::test]
async fn web_pages_of_an_allowed_origin_can_read_responses() {
    let server = server(Setup::default().cors("http://localhost:5173")).await;
    let key = "host: 127.0.0.1\r\nx-api-key: svc_open_demo";
    for (origin, allowed) in
        [("http://localhost:5173", Some("http://localhost:5173")), ("http://localhost:1", None)]
    {
        let head = format!("GET /v1/jobs HTTP/1.1\r\n{key}\r\norigin: {origin}");
        let response = send_head(server.base_url(), &head).await;
        assert_eq!(response.header("access-control-allow-origin"), allowed, "{origin}");
    }
    let head = "OPTIONS /v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\norigin: http://localhost:5173\r\n\
        access-control-request-method: GET\r\naccess-control-request-headers: x-api-key";
    let preflight = send_head(server.base_url(), head).await;
    assert_eq!(preflight.status(), 204);
    assert!(preflight.header("x-svc-request-id").unwrap().starts_with("req_"));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("x-api-key"));
}

#[tokio::test]
async fn a_connection_too_many_closes_the_one_that_was_idle_longest() {
    let limit = std::num::NonZeroU32::new(2).unwrap();
    let server = server(Setup::default().max_connections(limit)).await;
    let request = "GET /clock HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    let mut idle = begin(server.control_url(), request).await;
    let mut start = [0; 15];
    idle.read_exact(&mut start).await.unwrap();
    for _ in 0..3 {
        assert_eq!(get(server.control_url(), "/clock").await.status(), 200);
    }
    let mut newer = Vec::new();
    for _ in 0..2 {
        newer.push(connect(server.control_url()).await);
        tokio::time::sleep(SHORT).await;
    }
    read_to_end(&mut idle).await;
    assert_eq!(get(server.control_url(), "/clock").await.status(), 200);
}

#[tokio::test]
async fn one_host_is_named_and_a_second_one_is_judged_after_the_credential() {
    let server = server(Setup::default()).await;
    for (url, key, status) in [
        (server.base_url(), "svc_open_demo", 400),
        (server.base_url(), "svc_wrong", 401),
        (server.developer_base_url(), "svc_dev_demo", 400),
    ] {
        let head = format!("GET /v1/jobs HTTP/1.1\r\nhost: a\r\nhost: b\r\nx-api-key: {key}");
        let response = send_head(url, &head).await;
        assert_eq!(response.status(), status, "{key}");
        assert!(response.header("ratelimit-limit").is_some(), "{key}");
    }
    for url in [server.media_url(), server.control_url()] {
        let response = send_head(url, "GET /clock HTTP/1.1\r\nhost: a\r\nhost: b").await;
        assert_eq!(response.status(), 400);
    }
}

#[tokio::test]
async fn a_body_of_any_size_is_read_so_that_its_sender_can_read_the_413() {
    let server = server(Setup::default()).await;
    let body = vec![b' '; 50_000_000];
    let response = send(server.base_url(), "POST /v1/video-router/generate", &body).await;
    assert_eq!(response.status(), 413);
    assert_eq!(response.json()["error"]["code"], "payload_too_large");
}

#[tokio::test]
async fn what_is_not_http_is_refused_with_json() {
    let server = server(Setup::default()).await;
    let long = format!("x-long: {}", "a".repeat(600_000));
    let chunks = "POST /v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n";
    let mut ids = HashSet::new();
    for (head, status) in [
        (&*format!("{chunks}\r\nzz"), 400),
        (&format!("{chunks}\r\n2\r\n{{}}2"), 400),
        (&format!("{chunks}\r\nffffffffffffffffff"), 400),
        ("GET /v1/jobs HTTP/1.1\r\nhost: a\r\nno colon", 400),
        (&format!("GET /v1/jobs HTTP/1.1\r\nhost: a\r\n{}", "x: y\r\n".repeat(200)), 431),
        (&format!("GET /v1/jobs HTTP/1.1\r\nhost: a\r\n{long}"), 431),
    ] {
        for url in [server.base_url(), server.developer_base_url(), server.control_url()] {
            let response = send_head(url, head.trim_end()).await;
            assert_eq!(response.status(), status, "{}", &head[..50]);
            assert_eq!(response.header("content-type"), Some("application/json"));
            let error = response.json()["error"].clone();
            let is_developer = url == server.developer_base_url();
            assert_eq!(error["next_action"] == "fix_input", is_developer, "{error}");
            let id = response.header("x-svc-request-id").unwrap();
            assert!(error["request_id"] == id && error["code"].is_string(), "{error}");
            assert!(ids.insert(id.to_owned()), "{id}");
        }
    }
}
