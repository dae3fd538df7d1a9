//! Verification of a genuine delivery by this crate, by `svix`, by `standardwebhooks`, and by plain
//! `hmac` and `sha2` with a key prepared beforehand.
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
use svc_webhook_verify::{Key, Signer, Verifier};
use timing::{Costs, thread_time};

const SECRET: &[u8] = b"whsec_newest";
const PEERS: [&str; 3] = ["hmac + sha2, keyed beforehand", "svix 2.9.1", "standardwebhooks 1.0.1"];

fn main() -> Result<(), Box<dyn Error>> {
    for (size, count) in [(512, 20_000), (64 * 1024, 200)] {
        let costs = measure(size, count)?;
        let medians = costs.medians();
        for (index, peer) in (1..).zip(PEERS) {
            let row = json!({
                "bytes": size,
                "own": medians[0],
                "peer": peer,
                "other": medians[index],
                "ratio": costs.ratio(index),
            });
            println!("{row}");
        }
    }
    Ok(())
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
