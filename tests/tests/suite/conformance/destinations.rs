//! URLs that a caller gives: public HTTPS, and nothing else.

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_face};

use super::{VIDEO, with};

on_every_face! {
    media_urls_lead_to_public_hosts_over_https: plan("scale").balance_usd("1000"),
    webhook_urls_lead_to_public_hosts_over_https: plan("scale").balance_usd("1000"),
    test_deliveries_lead_to_public_hosts_over_https: plan("scale"),
    a_webhook_url_has_at_most_2048_characters,
    every_media_field_is_judged: plan("scale"),
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

const NOT_PUBLIC: [&str; 80] = [
    // No HTTPS URL.
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
    // This machine.
    "https://localhost/a.png",
    "https://LOCALHOST/a.png",
    "https://localhost:8080/a.png",
    "https://localhost./a.png",
    "https://api.localhost/a.png",
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
    // Link local, and where clouds keep their secrets.
    "https://169.254.169.254/latest/meta-data",
    "https://[fe80::1]/a.png",
    "https://[::ffff:169.254.169.254]/a.png",
    // Other special ranges.
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
    // Addresses within addresses.
    "https://[::127.0.0.1]/a.png",
    "https://[::ffff:0:127.0.0.1]/a.png",
    "https://[64:ff9b::127.0.0.1]/a.png",
    "https://[64:ff9b:1::10.0.0.1]/a.png",
    "https://[2002:7f00:1::1]/a.png",
    "https://[2001:0:7f00:1::1]/a.png",
    // Spellings that a browser reads as an address.
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
    json!({"model": "video-l", "prompt": "p", "duration": 2, "image_url": url})
}

async fn judged(mock: &Mock, body: Value, url: &str, expected: u16) {
    let answer = mock.open().post(VIDEO, body).await;
    assert_eq!(answer.status(), expected, "{url:?} got\n{answer:?}");
    if expected == 400 {
        answer.refused(400, "invalid_request");
    }
}

async fn media_urls_lead_to_public_hosts_over_https(mock: Mock) {
    for url in PUBLIC {
        judged(&mock, video_from(url), url, 202).await;
        mock.advance(8).await;
    }
    for url in NOT_PUBLIC {
        judged(&mock, video_from(url), url, 400).await;
    }
}

async fn webhook_urls_lead_to_public_hosts_over_https(mock: Mock) {
    let body = |url: &str| json!({"model": "video-l", "prompt": "p", "duration": 2, "mode": "webhook", "webhook_url": url});
    for url in PUBLIC {
        judged(&mock, body(url), url, 202).await;
        mock.advance(8).await;
    }
    for url in NOT_PUBLIC {
        judged(&mock, body(url), url, 400).await;
    }
}

async fn test_deliveries_lead_to_public_hosts_over_https(mock: Mock) {
    let path = "/v1/webhooks/test-deliveries";
    for url in PUBLIC {
        let answer = mock.developer().post(path, json!({"url": url})).await;
        assert_eq!(answer.status(), 202, "{url:?} got\n{answer:?}");
    }
    for url in NOT_PUBLIC {
        let answer = mock.developer().post(path, json!({"url": url})).await;
        assert_eq!(answer.status(), 400, "{url:?} got\n{answer:?}");
        answer.refused(400, "invalid_request");
    }
}

async fn a_webhook_url_has_at_most_2048_characters(mock: Mock) {
    let base = "https://hooks.example.com/";
    for (length, expected) in [(2_048, 202), (2_049, 400), (100_000, 400)] {
        let url = format!("{base}{}", "x".repeat(length - base.len()));
        let body = json!({"model": "video-l", "prompt": "p", "duration": 2, "mode": "webhook", "webhook_url": url});
        judged(&mock, body, "a long URL", expected).await;
    }
}

async fn every_media_field_is_judged(mock: Mock) {
    let good = "https://cdn.example.com/a";
    let lip_sync = json!({"model": "lipsync-s", "audio_url": good, "image_url": good});
    for bad in [
        "http://cdn.example.com/a",
        "https://127.0.0.1/a",
        "https://localhost/a",
    ] {
        for (body, fields) in [
            (video_from(good), json!({"end_image_url": bad})),
            (
                video_from(good),
                json!({"reference_image_urls": [good, bad]}),
            ),
            (video_from(good), json!({"reference_video_urls": [bad]})),
            (lip_sync.clone(), json!({"audio_url": bad})),
            (lip_sync.clone(), json!({"image_url": bad})),
            (
                json!({"model": "lipsync-s", "audio_url": good}),
                json!({"video_url": bad}),
            ),
            (
                json!({"model": "auto", "prompt": "p"}),
                json!({"image_url": bad}),
            ),
        ] {
            let body = with(body, fields);
            judged(&mock, body.clone(), &body.to_string(), 400).await;
        }
    }
}
