//! Verification of a genuine delivery by this crate, by `svix`, by `standardwebhooks`, and by plain
//! `hmac` and `sha2` with a key prepared beforehand, and by a verifier that is made for each delivery.
//!
//! It prints one JSON object for each comparison, which `svc-benchmarks` reads. The schemes differ
//! slightly: `svix` and `standardwebhooks` also sign a message ID and encode the tag in base64. They
//! require UTF-8 bodies and read the system clock, so all deliveries are signed with the current time.

#[path = "../../src/timing.rs"]
mod timing;

use std::error::Error;
use std::hint::black_box;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use sha2::Sha256;
use svc_webhook_verify::{DeliveryHeaders, Key, Signer, Verifier};
use timing::{Costs, thread_time};

const SECRET: &[u8] = b"whsec_newest";
const PEERS: [&str; 3] = ["hmac + sha2, keyed beforehand", "svix 2.9.1", "standardwebhooks 1.0.1"];

fn main() -> Result<(), Box<dyn Error>> {
    for (size, count) in [(512, 20_000), (64 * 1024, 200)] {
        let costs = measure(size, count)?;
        for (index, peer) in (1..).zip(PEERS) {
            print("verify a delivery", size, &costs, index, peer);
        }
        let costs = measure_new_verifiers(size, count)?;
        let work = "make a verifier and verify a delivery";
        print(work, size, &costs, 1, "hmac + sha2, keyed each time");
    }
    Ok(())
}

fn print<const N: usize>(work: &str, bytes: usize, costs: &Costs<N>, index: usize, peer: &str) {
    let (medians, ratio) = (costs.medians(), costs.ratio(index));
    let (own, other) = (medians[0], medians[index]);
    let row = json!({"work": work, "bytes": bytes, "own": own, "peer": peer, "other": other, "ratio": ratio});
    println!("{row}");
}

/// Returns the nanoseconds of preparing a secret and verifying one delivery with it.
fn measure_new_verifiers(size: usize, count: u32) -> Result<Costs<2>, Box<dyn Error>> {
    const NOW: u64 = 1_700_000_000;
    let body = vec![b'x'; size];
    let signed = Signer::new(Key::new(SECRET)?).sign(NOW, &body);
    let headers = DeliveryHeaders::from(&signed);
    Ok(Costs::measure(
        60,
        [
            &mut || {
                nanoseconds_each(count, || {
                    let verifier = Key::new(black_box(SECRET)).map(Verifier::new);
                    let verified = verifier.map(|it| it.verify(headers, black_box(&body), NOW));
                    black_box(verified.is_ok_and(|it| it.is_ok()));
                })
            },
            &mut || {
                nanoseconds_each(count, || {
                    let mac = Hmac::<Sha256>::new_from_slice(black_box(SECRET));
                    let mac = mac.map(|mac| {
                        mac.chain_update(signed.timestamp())
                            .chain_update(b".")
                            .chain_update(black_box(&body))
                    });
                    black_box(mac.map(|mac| mac.finalize().into_bytes()).is_ok());
                })
            },
        ],
    ))
}

/// Returns the nanoseconds of verifying one delivery.
fn measure(size: usize, count: u32) -> Result<Costs<4>, Box<dyn Error>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let (body, seconds) = ("x".repeat(size), now.cast_signed());

    let key = Key::new(SECRET)?;
    let own_headers = HeaderMap::from(Signer::new(key.clone()).sign(now, &body));
    let verifier = Verifier::new(key);

    let keyed = Hmac::<Sha256>::new_from_slice(SECRET)?;
    let timestamp = now.to_string();

    let svix = svix::webhooks::Webhook::from_bytes(SECRET.to_vec())?;
    let signature = svix.sign("msg_1", seconds, body.as_bytes())?;
    let svix_headers =
        signed_headers(["svix-id", "svix-timestamp", "svix-signature"], seconds, &signature)?;

    let standard = standardwebhooks::Webhook::from_bytes(SECRET.to_vec())?;
    let signature = standard.sign("msg_1", seconds, body.as_bytes())?;
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let standard_headers = signed_headers(names, seconds, &signature)?;

    verifier.verify_with_headers(&own_headers, &body, now)?;
    svix.verify(body.as_bytes(), &svix_headers)?;
    standard.verify(body.as_bytes(), &standard_headers)?;

    let body = body.as_bytes();
    Ok(Costs::measure(
        60,
        [
            &mut || {
                nanoseconds_each(count, || {
                    let verified =
                        verifier.verify_with_headers(black_box(&own_headers), black_box(body), now);
                    black_box(verified.is_ok());
                })
            },
            &mut || {
                nanoseconds_each(count, || {
                    let mut mac = keyed.clone();
                    mac.update(black_box(timestamp.as_bytes()));
                    mac.update(b".");
                    mac.update(black_box(body));
                    black_box(mac.finalize().into_bytes());
                })
            },
            &mut || {
                nanoseconds_each(count, || {
                    black_box(svix.verify(black_box(body), black_box(&svix_headers)).is_ok());
                })
            },
            &mut || {
                nanoseconds_each(count, || {
                    black_box(
                        standard.verify(black_box(body), black_box(&standard_headers)).is_ok(),
                    );
                })
            },
        ],
    ))
}

/// Returns the processor time of this thread, in nanoseconds, for each of `count` repetitions.
fn nanoseconds_each(count: u32, mut work: impl FnMut()) -> f64 {
    let began = thread_time();
    for _ in 0..count {
        work();
    }
    let spent = thread_time().saturating_sub(began);
    spent.as_secs_f64() * 1e9 / f64::from(count)
}

fn signed_headers(
    names: [&'static str; 3],
    now: i64,
    signature: &str,
) -> Result<HeaderMap, Box<dyn Error>> {
    let [id, timestamp, signed] = names.map(HeaderName::from_static);
    Ok(HeaderMap::from_iter([
        (id, HeaderValue::from_static("msg_1")),
        (timestamp, HeaderValue::from(now)),
        (signed, signature.parse()?),
    ]))
}
