//! Benchmarks of verifying a genuine delivery with this crate, `svix`, `standardwebhooks`, and
//! plain `hmac` and `sha2`.
//!
//! Run with `cargo bench --manifest-path webhook-verify/comparison/Cargo.toml`. Compare rows of
//! the same body size. The schemes differ slightly: `svix` and `standardwebhooks` also sign a
//! message ID and encode the tag in base64. They require UTF-8 bodies and read the system clock,
//! so all deliveries are signed with the current time.

use std::time::{SystemTime, UNIX_EPOCH};

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;
use svc_webhook_verify::{Key, Signer, Verifier};

const SIZES: [usize; 2] = [256, 64 * 1024];
const SECRET: &[u8] = b"whsec_newest";

fn main() {
    divan::main();
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a clock past 1970").as_secs()
}

fn body(size: usize) -> String {
    "x".repeat(size)
}

/// The lower bound: only the HMAC, with a prepared key.
#[divan::bench(args = SIZES)]
fn hmac_and_sha2(bencher: Bencher<'_, '_>, size: usize) {
    let (body, timestamp) = (body(size), now().to_string());
    let keyed = Hmac::<Sha256>::new_from_slice(SECRET).expect("any length");
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        let mut mac = keyed.clone();
        mac.update(timestamp.as_bytes());
        mac.update(b".");
        mac.update(black_box(body.as_bytes()));
        mac.finalize().into_bytes()
    });
}

#[divan::bench(args = SIZES)]
fn svc_webhook_verify(bencher: Bencher<'_, '_>, size: usize) {
    let (body, now) = (body(size), now());
    let key = Key::new(SECRET).expect("a secret");
    let headers = HeaderMap::from(Signer::new(key.clone()).sign(now, &body));
    let verifier = Verifier::new(key);
    assert!(verifier.verify_with_headers(&headers, &body, now).is_ok());
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        verifier
            .verify_with_headers(&headers, black_box(&body), now)
            .is_ok()
    });
}

#[divan::bench(args = SIZES)]
fn svix(bencher: Bencher<'_, '_>, size: usize) {
    let (body, now) = (body(size), now().cast_signed());
    let webhook = svix::webhooks::Webhook::from_bytes(SECRET.to_vec()).expect("a secret");
    let signature = webhook.sign("msg_1", now, body.as_bytes()).expect("a body");
    let headers = signed_headers(
        "svix-id",
        "svix-timestamp",
        "svix-signature",
        now,
        &signature,
    );
    assert!(webhook.verify(body.as_bytes(), &headers).is_ok());
    bencher
        .counter(BytesCount::new(size))
        .bench_local(|| webhook.verify(black_box(body.as_bytes()), &headers).is_ok());
}

#[divan::bench(args = SIZES)]
fn standardwebhooks(bencher: Bencher<'_, '_>, size: usize) {
    let (body, now) = (body(size), now().cast_signed());
    let webhook = standardwebhooks::Webhook::from_bytes(SECRET.to_vec()).expect("a secret");
    let signature = webhook.sign("msg_1", now, body.as_bytes()).expect("a body");
    let headers = signed_headers(
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        now,
        &signature,
    );
    assert!(webhook.verify(body.as_bytes(), &headers).is_ok());
    bencher
        .counter(BytesCount::new(size))
        .bench_local(|| webhook.verify(black_box(body.as_bytes()), &headers).is_ok());
}

fn signed_headers(
    id: &'static str,
    timestamp: &'static str,
    signature: &'static str,
    now: i64,
    value: &str,
) -> HeaderMap {
    let name = HeaderName::from_static;
    HeaderMap::from_iter([
        (name(id), HeaderValue::from_static("msg_1")),
        (name(timestamp), HeaderValue::from(now)),
        (name(signature), value.parse().expect("a header")),
    ])
}
