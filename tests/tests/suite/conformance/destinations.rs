//! URLs in requests, which must be public HTTPS URLs.

use super::*;

scripts! {
    every_media_field_is_validated [plan("scale")] r#"
        for <bad> in http://cdn.example.com/a https://127.0.0.1/a https://localhost/a
          for <fields> in
            | {"image_url":"<bad>"}
            | {"image_url":"https://cdn.example.com/a","end_image_url":"<bad>"}
            | {"reference_image_urls":["https://cdn.example.com/a","<bad>"]}
            | {"reference_video_urls":["<bad>"]}
            | {"model":"auto","image_url":"<bad>"}
            open video <fields> => 400 invalid_request
          for <fields> in
            | {"audio_url":"<bad>","image_url":"https://cdn.example.com/a"}
            | {"audio_url":"https://cdn.example.com/a","image_url":"<bad>"}
            | {"audio_url":"https://cdn.example.com/a","video_url":"<bad>"}
            open /v1/video-router/generate {"model": "lipsync-s"} <fields> => 400 invalid_request
    "#
}

on_every_frontend! {
    media_urls_must_be_public_https: plan("scale").balance_usd("1000"),
    webhook_urls_must_be_public_https: plan("scale").balance_usd("1000"),
    test_delivery_urls_must_be_public_https: plan("scale"),
    a_webhook_url_has_at_most_2048_characters,
}

const PUBLIC: [&str; 18] = [
    "https://cdn.example.com/a.png",
    "HTTPS://cdn.example.com/a.png",
    "https://CDN.Example.COM/a.png?x=1&y=%20#z",
    "https://cdn.example.com:8443/a.png",
    "https://93.184.215.14/a.png",
    "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/a.png",
    "https://localhost.example.com/a.png",
    "https://100.63.255.255/a.png",
    "https://172.15.0.1/a.png",
    "https://172.32.0.1/a.png",
    "https://11.0.0.1/a.png",
    "https://126.255.255.255/a.png",
    "https://169.253.255.255/a.png",
    "https://192.167.255.255/a.png",
    "https://198.20.0.1/a.png",
    "https://223.255.255.255/a.png",
    "https://[2001:4860:4860::8888]/a.png",
    "https://xn--bcher-kva.example.com/a.png",
];

const NOT_PUBLIC: [&str; 86] = [
    // Not an HTTPS URL.
    "",
    "cdn.example.com/a.png",
    "//cdn.example.com/a.png",
    "http://cdn.example.com/a.png",
    "ftp://cdn.example.com/a.png",
    "file:///etc/passwd",
    "data:image/png;base64,AAAA",
    "javascript:alert(1)",
    "https://",
    "https:///a.png",
    "https://:443/a.png",
    // Loopback and unspecified addresses.
    "https://localhost/a.png",
    "https://LOCALHOST/a.png",
    "https://localhost:8080/a.png",
    "https://localhost./a.png",
    "https://api.localhost/a.png",
    "https://intranet/a.png",
    "https://printer.local/a.png",
    "https://api.INTERNAL/a.png",
    "https://nas.lan/a.png",
    "https://nas.home.arpa/a.png",
    "https://nas.home.arpa./a.png",
    "https://127.0.0.1/a.png",
    "https://127.255.255.254/a.png",
    "https://0.0.0.0/a.png",
    "https://[::1]/a.png",
    "https://[::]/a.png",
    "https://[::ffff:127.0.0.1]/a.png",
    "https://[::ffff:7f00:1]/a.png",
    // Private networks.
    "https://10.0.0.1/a.png",
    "https://172.16.0.1/a.png",
    "https://172.31.255.255/a.png",
    "https://192.168.1.1/a.png",
    "https://[fc00::1]/a.png",
    "https://[fd12:3456:789a::1]/a.png",
    "https://[::ffff:10.0.0.1]/a.png",
    // Link-local addresses, which include the metadata services of clouds.
    "https://169.254.169.254/latest/meta-data",
    "https://[fe80::1]/a.png",
    "https://[::ffff:169.254.169.254]/a.png",
    // Other special-purpose ranges.
    "https://0.1.2.3/a.png",
    "https://100.64.0.1/a.png",
    "https://100.127.255.255/a.png",
    "https://192.0.0.1/a.png",
    "https://192.0.2.1/a.png",
    "https://198.18.0.1/a.png",
    "https://198.51.100.1/a.png",
    "https://203.0.113.1/a.png",
    "https://224.0.0.1/a.png",
    "https://240.0.0.1/a.png",
    "https://255.255.255.255/a.png",
    "https://[2001:db8::1]/a.png",
    "https://[ff02::1]/a.png",
    "https://192.88.99.1/a.png",
    "https://198.19.255.255/a.png",
    "https://239.255.255.255/a.png",
    "https://[100::1]/a.png",
    "https://[2001:2::1]/a.png",
    "https://[3fff::1]/a.png",
    "https://[5f00::1]/a.png",
    "https://[febf::1]/a.png",
    "https://[fdff:ffff::1]/a.png",
    // IPv4 addresses embedded in IPv6 addresses.
    "https://[::127.0.0.1]/a.png",
    "https://[::ffff:0:127.0.0.1]/a.png",
    "https://[64:ff9b::127.0.0.1]/a.png",
    "https://[64:ff9b:1::10.0.0.1]/a.png",
    "https://[2002:7f00:1::1]/a.png",
    "https://[2001:0:7f00:1::1]/a.png",
    // Spellings that URL parsers normalize to an address.
    "https://0/a.png",
    "https://127.000.000.001/a.png",
    "https://0x7f.0x0.0x0.0x1/a.png",
    "https://127.0.1/a.png",
    "https://127\u{3002}0\u{3002}0\u{3002}1/a.png",
    "https://\u{ff11}27.0.0.1/a.png",
    "https://loc\u{ff41}lhost/a.png",
    "https:\\\\127.0.0.1\\a.png",
    "https://2130706433/a.png",
    "https://0x7f000001/a.png",
    "https://0x7f.1/a.png",
    "https://127.1/a.png",
    "https://017700000001/a.png",
    "https://0177.0.0.1/a.png",
    "https://010.0.0.1/a.png",
    "https://127.0.0.1./a.png",
    "https://%6c%6f%63alhost/a.png",
    "https://user@127.0.0.1/a.png",
    "https://cdn.example.com@10.0.0.1/a.png",
];

fn video_from(url: &str) -> Value {
    with(video(), json!({"image_url": url}))
}

fn video_to_webhook(url: &str) -> Value {
    with(video(), json!({"mode": "webhook", "webhook_url": url}))
}

fn test_delivery(url: &str) -> Value {
    json!({"url": url})
}

/// Asserts that public URLs are accepted in the request body, and no others.
async fn assert_public_only(client: &Client, mock: &Mock, path: &str, body: fn(&str) -> Value) {
    for url in PUBLIC {
        client.post(path, body(url)).await.expect(202);
        mock.advance(8).await;
    }
    for url in NOT_PUBLIC {
        client.post_error(path, body(url), 400, "invalid_request").await;
    }
}

async fn media_urls_must_be_public_https(mock: Mock) {
    assert_public_only(&mock.open(), &mock, VIDEO, video_from).await;
}

async fn webhook_urls_must_be_public_https(mock: Mock) {
    assert_public_only(&mock.open(), &mock, VIDEO, video_to_webhook).await;
}

async fn test_delivery_urls_must_be_public_https(mock: Mock) {
    let path = "/v1/webhooks/test-deliveries";
    assert_public_only(&mock.developer(), &mock, path, test_delivery).await;
}

async fn a_webhook_url_has_at_most_2048_characters(mock: Mock) {
    let base = "https://hooks.example.com/";
    let body = |length: usize| {
        let path = "x".repeat(length - base.len());
        video_to_webhook(&format!("{base}{path}"))
    };
    let open = mock.open();
    open.post(VIDEO, body(2_048)).await.expect(202);
    for length in [2_049, 100_000] {
        open.post_error(VIDEO, body(length), 400, "invalid_request").await;
    }
    let long = test_delivery(&format!("{base}{}", "x".repeat(2_048)));
    mock.developer().post_error("/v1/webhooks/test-deliveries", long, 400, "invalid_request").await;
}
