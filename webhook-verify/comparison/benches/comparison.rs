//! A genuine delivery, verified by this crate, by `svix`, by `standardwebhooks`, and by no more
//! than `hmac` and `sha2`, in one run.
//!
//! `cargo bench --manifest-path webhook-verify/comparison/Cargo.toml`. What to compare is the
//! rows of one body size. The schemes differ a little: those of the other two sign an id as well
//! and write the tag in base64. Both want bodies in UTF-8 and read the system's clock, so theirs
//! are signed at the time of the run.

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

/// The least there is to do: a keyed MAC over the three parts.
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
fn this_crate(bencher: Bencher<'_, '_>, size: usize) {
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
    let headers = theirs(
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
    let headers = theirs(
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

fn theirs(
    id: &'static str,
    timestamp: &'static str,
    signature: &'static str,
    now: i64,
    signed: &str,
) -> HeaderMap {
    let name = HeaderName::from_static;
    HeaderMap::from_iter([
        (name(id), HeaderValue::from_static("msg_1")),
        (name(timestamp), HeaderValue::from(now)),
        (name(signature), signed.parse().expect("a header")),
    ])
}
