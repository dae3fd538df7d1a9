//! Benchmarks of verification, compared with a plain HMAC computation.
//!
//! Run with `cargo bench -p svc-webhook-verify`. Compare each row with the row `plain_hmac` of
//! the same body size: the difference is the cost of header parsing, tag comparison and
//! zeroizing.

#![allow(clippy::expect_used, reason = "benchmark code")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use svc_webhook_verify::{DeliveryHeaders, KeySet, Signer, Verifier};

const SIZES: [usize; 2] = [256, 64 * 1024];
const NOW: u64 = 1_700_000_000;
const SECRET: &str = "whsec_newest";

fn main() {
    divan::main();
}

fn keys(count: usize) -> KeySet {
    let previous = std::iter::repeat_n("whsec_previous", count - 1);
    KeySet::new(std::iter::once(SECRET).chain(previous)).expect("one or two secrets")
}

/// The lower bound: only the HMAC, with a prepared key.
#[divan::bench(args = SIZES)]
fn plain_hmac(bencher: Bencher<'_, '_>, size: usize) {
    let body = vec![b'x'; size];
    let keyed = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length");
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        let mut mac = keyed.clone();
        mac.update(b"1700000000");
        mac.update(b".");
        mac.update(black_box(&body));
        mac.finalize().into_bytes()
    });
}

#[divan::bench(args = SIZES)]
fn one_key(bencher: Bencher<'_, '_>, size: usize) {
    verify_with_keys(bencher, size, 1);
}

/// During a secret rotation: one MAC per key, so the body is hashed twice.
#[divan::bench(args = SIZES)]
fn two_keys(bencher: Bencher<'_, '_>, size: usize) {
    verify_with_keys(bencher, size, 2);
}

fn verify_with_keys(bencher: Bencher<'_, '_>, size: usize, key_count: usize) {
    let body = vec![b'x'; size];
    let headers = Signer::new(keys(key_count)).sign(NOW, &body);
    let verifier = Verifier::new(keys(key_count));
    bencher
        .counter(BytesCount::new(size))
        .bench_local(|| verifier.verify(DeliveryHeaders::from(&headers), black_box(&body), NOW));
}

/// A verifier that is created for each delivery, which prepares the key each time.
#[divan::bench(args = SIZES)]
fn new_verifier(bencher: Bencher<'_, '_>, size: usize) {
    let body = vec![b'x'; size];
    let headers = Signer::new(keys(1)).sign(NOW, &body);
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        let verifier = Verifier::new(keys(1));
        verifier.verify(DeliveryHeaders::from(&headers), black_box(&body), NOW)
    });
}

/// A header with the maximum of 32 entries, which still requires only one MAC.
#[divan::bench(args = SIZES)]
fn maximum_entries(bencher: Bencher<'_, '_>, size: usize) {
    let body = vec![b'x'; size];
    let signature = vec![format!("svc-v1={}", "0".repeat(64)); 32].join(",");
    let verifier = Verifier::new(keys(1));
    let headers = DeliveryHeaders { timestamp: "1700000000", signature: signature.as_str() };
    bencher
        .counter(BytesCount::new(size))
        .bench_local(|| verifier.verify(headers, black_box(&body), NOW));
}
