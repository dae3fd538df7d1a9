//! Malformed headers and malformed HTTP: client errors, after which the mock keeps running.

use super::*;

on_every_frontend! {
    malformed_headers_are_tolerated,
    malformed_http_is_rejected,
    unusual_http_is_served,
}

/// Asserts that the mock still serves requests.
async fn assert_alive(mock: &Mock) {
    mock.open().get("/v1/video-router/models").await.expect(200);
    mock.control().get("/clock").await.expect(200);
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
