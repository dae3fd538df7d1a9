//! Malformed and malicious requests: they are client errors, and the mock keeps running.

use super::*;

on_every_frontend! {
    malformed_bodies_are_rejected: plan("scale"),
    malformed_paths_are_rejected: plan("scale"),
    malformed_headers_are_tolerated,
    malformed_control_requests_are_rejected,
    malformed_http_is_rejected,
    unusual_http_is_served,
}

/// Asserts that the mock still serves requests.
async fn assert_alive(mock: &Mock) {
    mock.open().get("/v1/video-router/models").await.expect(200);
    mock.control().get("/clock").await.expect(200);
}

/// Bodies that are not a JSON object.
const BODIES: [&[u8]; 24] = [
    b"",
    b"\0",
    b"hello",
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\0}\0",
    b"{\"model\":",
    b"{\"model\":\"video",
    b"{\"model\":\"\\u12",
    b"{\"model\":\"\\ud800\"}",
    b"{}{}",
    b"{/* */}",
    b"{\"model\":\"video-l\",}",
    b"{'model':'video-l'}",
    b"[{\"model\":\"video-l\"}]",
    b"4711",
    b"null",
    b"true",
    b"\"video-l\"",
    b"{\"model\":\"video-l\",\"prompt\":\"\xff\xfe\"}",
    b"{\"model\":\"video-l\",\"prompt\":\"\xc0\xaf\"}",
    b"{\"model\":\"video-l\",\"prompt\":\"\x01\"}",
    br#"{"model":null,"prompt":"p"}"#,
    br#"{"model":{"$ne":""},"prompt":"p"}"#,
    br#"{"model":"../../etc/passwd","prompt":"p"}"#,
];

/// Fields, one a line, that make a valid request invalid. `@N` stands for a long repetition.
const FIELDS: &str = r#"
"duration":NaN
"wait_timeout_seconds":1e999
"duration":1e308
"duration":@9
"duration":2.@01
"num_images":-0
"duration":18446744073709551616
"duration":-9223372036854775808
"mode":"sync","wait_timeout_seconds":18446744073709551616
":1
"\u0000":1
"__proto__":{"admin":true}
"@n":1
"reference_image_urls":["@x"]
"image_url":"https://@@"
"image_url":"https://@["
"image_url":"https://cdn.example.com\n.localhost/a"
"image_url":"ht\ttps://127.0.0.1/a"
"image_url":"https:\\127.0.0.1\a"
"image_url":"https://cdn.example.com:99999/a"
"#;

fn bodies() -> Vec<Vec<u8>> {
    let mut bodies: Vec<_> = BODIES.map(<[u8]>::to_vec).into();
    for field in FIELDS.lines().filter(|line| !line.is_empty()) {
        let (start, end) = field.split_once('@').unwrap_or((field, ""));
        let (repeated, end) = end.split_at(end.len().min(1));
        let field = [start, &repeated.repeat(100_000), end].concat();
        bodies.push(format!(r#"{{"model":"video-l","prompt":"p","duration":2,{field}}}"#).into());
    }
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), ("[", "")] {
        bodies.push(format!("{}1{}", open.repeat(50_000), close.repeat(50_000)).into());
    }
    let names: Vec<_> = (0..5_000).map(|n| format!(r#""n{n}":{n}"#)).collect();
    bodies.push(format!("{{{}}}", names.join(",")).into());
    bodies
}

async fn malformed_bodies_are_rejected(mock: Mock) {
    let open = mock.open();
    for body in bodies() {
        for path in [VIDEO, IMAGE, ESTIMATE, TOP_UPS] {
            let response = open.post_bytes(path, body.clone()).await;
            response.expect_client_error();
        }
    }
    assert!(mock.jobs().await.is_empty(), "a malformed body created a job");
    // The specification has no limit for the depth of metadata.
    let lists = ["[".repeat(5_000), "]".repeat(5_000)].concat();
    let body = format!(r#"{{"model":"video-l","prompt":"p","metadata":{{"a":{lists}}}}}"#);
    open.post_bytes(VIDEO, body).await.expect_no_server_error();
    assert_alive(&mock).await;
}

async fn malformed_paths_are_rejected(mock: Mock) {
    let long = format!("/v1/jobs/{}", "a".repeat(30_000));
    let deep = format!("/v1{}", "/jobs".repeat(5_000));
    let query = format!("/v1/jobs/job_x?{}", "a=b&".repeat(5_000));
    for path in [
        "/",
        "//",
        "///v1/jobs",
        "/v1//jobs/",
        "/v1/jobs/",
        "/v1/jobs//status",
        "/v1/jobs/../nothing",
        "/v1/jobs/..%2f..%2fme",
        "/v1/jobs/%2e%2e/%2e%2e/state",
        "/v1/jobs/%",
        "/v1/jobs/%0",
        "/v1/jobs/%zz",
        "/v1/jobs/%00",
        "/v1/jobs/%ff%fe",
        "/v1/jobs/%0d%0aset-cookie:x",
        "/v1/jobs/;/status",
        "/v1/jobs/{id}",
        "/v1/jobs/job_x/status/",
        "/v1/jobs/job_x%2Fstatus",
        "/v1/jobs/job_x/?status",
        "/v1/video-router/models/%F0%9F%A6%8A",
        "/state",
        "/clock",
        "/v1/state",
        "/mcp/../v1/nothing",
        &long,
        &deep,
        &query,
    ] {
        for client in [mock.open(), mock.client(Host::Open), mock.developer()] {
            client.get(path).await.expect_client_error();
        }
        mock.open().post(path, json!({})).await.expect_client_error();
    }
    for query in [
        "?status=%ff",
        "?status=%00&type=%zz",
        "?status=a&status=b",
        "?&&&=",
        "?status[]=x",
        "?limit=-1",
    ] {
        mock.open().get(&format!("/v1/jobs{query}")).await.expect_no_server_error();
    }
    assert_alive(&mock).await;
}

async fn malformed_headers_are_tolerated(mock: Mock) {
    let long = "x".repeat(20_000);
    for (name, value) in [
        ("x-svc-request-id", "req_chosen"),
        ("x-svc-request-id", long.as_str()),
        ("accept", "application/xml"),
        ("accept-encoding", "br;q=1.0, gzip;q=0.8, *;q=0.1"),
        ("range", "bytes=0-0"),
        ("if-none-match", "*"),
        ("cookie", "session=\u{1}"),
        ("x-forwarded-for", "127.0.0.1, 8.8.8.8"),
        ("x-http-method-override", "DELETE"),
        ("expect", "something"),
        ("x-odd", "\u{e9}\u{f1}"),
        ("x-long", &long),
    ] {
        let value = value.replace('\u{1}', "\t");
        let client = mock.open().header(name, &value);
        if let Ok(response) = client.try_get("/v1/jobs").await {
            let response = response.expect_no_server_error();
            assert_ne!(response.header("x-svc-request-id"), Some("req_chosen"));
        }
    }
    let many: Vec<_> = (0..60).map(|n| format!("x-n{n}")).collect();
    let client = many.iter().fold(mock.open(), |client, name| client.header(name, "v"));
    client.get("/v1/jobs").await.expect(200);
    for content_type in [
        "application/json;",
        ";",
        "/",
        "application/json; charset=utf-7",
        "a/b; c=\"",
        "application/json, text/plain",
    ] {
        let body = Bytes::from(image().to_string());
        mock.open().send("POST", IMAGE, Some(content_type), body).await.expect_no_server_error();
    }
    assert_alive(&mock).await;
}

async fn malformed_control_requests_are_rejected(mock: Mock) {
    let deep = "[".repeat(50_000);
    for (method, path, body) in [
        ("POST", "/clock/advance", ""),
        ("POST", "/clock/advance", "{"),
        ("POST", "/clock/advance", r#"{"seconds": 1e400}"#),
        ("POST", "/clock/advance", deep.as_str()),
        ("POST", "/faults", "null"),
        ("POST", "/keys", "[]"),
        ("POST", "/jobs/%ff", r#"{"status":"completed"}"#),
        ("POST", "/top-ups/..%2f", r#"{"status":"paid"}"#),
        ("GET", "/requests?since=x", ""),
        ("GET", "/requests?since=-1", ""),
        ("GET", "/requests?since=99999999999999999999", ""),
        ("GET", "/nothing", ""),
        ("POST", "/clock", "{}"),
        ("PATCH", "/state", "{}"),
        ("DELETE", "/ledger", ""),
    ] {
        let body = Bytes::copy_from_slice(body.as_bytes());
        mock.control()
            .send(method, path, Some("application/json"), body)
            .await
            .expect_client_error();
    }
    assert_alive(&mock).await;
}

async fn malformed_http_is_rejected(mock: Mock) {
    let key = "authorization: Bearer svc_open_demo\r\nhost: x\r\nconnection: close\r\n";
    let rows: Vec<Vec<u8>> = vec![
        b"\r\n\r\n".to_vec(),
        b"hello\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(20),
        b"GET\r\n\r\n".to_vec(),
        b"GET /v1/jobs\r\n\r\n".to_vec(),
        b"GET /v1/jobs HTTP/9.9\r\nhost: x\r\n\r\n".to_vec(),
        format!("GET /v1/jobs\x01 HTTP/1.1\r\n{key}\r\n").into_bytes(),
        format!("GET http://[::1/v1/jobs HTTP/1.1\r\n{key}\r\n").into_bytes(),
        format!("GET * HTTP/1.1\r\n{key}\r\n").into_bytes(),
        format!("CONNECT x:443 HTTP/1.1\r\n{key}\r\n").into_bytes(),
        format!("GET /v1/jobs HTTP/1.1\r\n{key}no colon\r\n\r\n").into_bytes(),
        format!("GET /v1/jobs HTTP/1.1\r\n{key}x: a\x00b\r\n\r\n").into_bytes(),
        format!("GET /v1/jobs HTTP/1.1\r\n{key}{}\r\n", "x: y\r\n".repeat(5_000)).into_bytes(),
        format!("POST {VIDEO} HTTP/1.1\r\n{key}content-length: -1\r\n\r\n").into_bytes(),
        format!("POST {VIDEO} HTTP/1.1\r\n{key}content-length: x\r\n\r\n").into_bytes(),
        format!("POST {VIDEO} HTTP/1.1\r\n{key}content-length: 1\r\ncontent-length: 2\r\n\r\n{{}}")
            .into_bytes(),
        format!("POST {VIDEO} HTTP/1.1\r\n{key}transfer-encoding: chunked\r\n\r\nzz\r\n")
            .into_bytes(),
        format!(
            "POST {VIDEO} HTTP/1.1\r\n{key}transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n"
        )
        .into_bytes(),
    ];
    for bytes in rows {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let Some(response) = mock.send_raw(Host::Open, bytes).await else { return };
        let response = response.unwrap_or_default();
        let head = String::from_utf8_lossy(&response);
        let rejected = head.starts_with("HTTP/1.") && head.get(9..10) == Some("4");
        assert!(response.is_empty() || rejected, "{shown:?} got\n{head}");
    }
    assert_alive(&mock).await;
}

async fn unusual_http_is_served(mock: Mock) {
    let key = "AUTHORIZATION:Bearer svc_open_demo\r\nhost: x\r\nconnection: close\r\n";
    let body = image().to_string();
    let (start, end) = body.split_at(10);
    let chunks = format!(
        "{:x}\r\n{start}\r\n{:X};ext=1\r\n{end}\r\n0\r\ntrailer: x\r\n\r\n",
        start.len(),
        end.len()
    );
    let json = "Content-Type:  application/json  \r\n";
    let length = body.len();
    for (request, status) in [
        (format!("GET /v1/jobs HTTP/1.1\r\n{key}\r\n"), "200"),
        (format!("GET /v1/jobs HTTP/1.0\r\n{key}\r\n"), "200"),
        (format!("\r\nGET /v1/jobs HTTP/1.1\r\n{key}\r\n"), "200"),
        (format!("GET /v1/jobs? HTTP/1.1\r\n{key}\r\n"), "200"),
        (format!("GET http://x/v1/jobs HTTP/1.1\r\n{key}\r\n"), "200"),
        (
            format!(
                "POST {IMAGE} HTTP/1.1\r\n{key}{json}transfer-encoding: chunked\r\n\r\n{chunks}"
            ),
            "202",
        ),
        (
            format!("POST {IMAGE} HTTP/1.1\r\n{key}{json}content-length: {length}\r\n\r\n{body}"),
            "202",
        ),
    ] {
        let Some(response) = mock.send_raw(Host::Open, request.clone().into_bytes()).await else {
            return;
        };
        let response = response.unwrap_or_default();
        let head = String::from_utf8_lossy(&response);
        assert_eq!(head.get(9..12), Some(status), "{request}\ngot\n{head}");
    }
}
