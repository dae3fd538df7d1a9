//! Prints deliveries, many of them damaged, and what the crate says of each, one JSON object a line: what
//! verifiers in other languages are compared with.
//!
//! ```console
//! $ cargo run -p svc-webhook-verify --example mutated_deliveries -- 100000 7
//! ```
//!
//! The arguments are the number of deliveries and a seed. Secrets, header lines and bodies are in
//! hexadecimal; `expect` is the index of the secret that matched, or the reason.

#![allow(clippy::print_stdout, reason = "this is a program")]

use std::env;
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use svc_webhook_verify::{DeliveryHeaders, KeyError, KeySet, Signer, Verifier};

/// Parts that are likely to be near the border of what is valid.
const PARTS: [&[u8]; 12] =
    [b",", b" ", b"\t", b"=", b"svc-v1=", b"svc-v2=00", b"0", b"f", b"\0", b"\xff", b"\r", b"-1"];

#[derive(Clone)]
struct SampleDelivery {
    secrets: Vec<Vec<u8>>,
    timestamp: Vec<Vec<u8>>,
    signature: Vec<Vec<u8>>,
    body: Vec<u8>,
    now: u64,
    /// 0 if timestamps of any age are accepted.
    tolerance: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let vectors: Value = serde_json::from_str(include_str!("../vectors/vectors.json"))?;
    let cases = vectors.get("cases").and_then(Value::as_array).ok_or("no vectors")?;
    let cases: Option<Vec<SampleDelivery>> = cases.iter().map(of_vector).collect();
    let cases = cases.ok_or("a vector is not valid")?;
    let mut random = Rng::with_seed(seed);
    let mut output = BufWriter::new(io::stdout().lock());
    for _ in 0..count {
        let mut delivery = match random.choice(&cases) {
            Some(case) if random.bool() => case.clone(),
            _ => signed(&mut random),
        };
        for _ in 0..random.usize(0..3) {
            mutate(&mut delivery, &mut random);
        }
        let hex_list = |list: &[Vec<u8>]| list.iter().map(|item| hex(item)).collect::<Vec<_>>();
        let line = json!({
            "secrets": hex_list(&delivery.secrets),
            "timestamp": hex_list(&delivery.timestamp),
            "signature": hex_list(&delivery.signature),
            "body": hex(&delivery.body),
            "now": delivery.now.to_string(),
            "tolerance": delivery.tolerance.to_string(),
            "expect": expected(&delivery),
        });
        writeln!(output, "{line}")?;
    }
    Ok(output.flush()?)
}

fn expected(delivery: &SampleDelivery) -> Value {
    let verifier = match KeySet::new(&delivery.secrets) {
        Ok(keys) if delivery.tolerance == 0 => Verifier::new(keys).ignoring_timestamp(),
        Ok(keys) => Verifier::new(keys).tolerance(Duration::from_secs(delivery.tolerance)),
        Err(KeyError::EmptySecret) => return json!("secret_empty"),
        Err(KeyError::NoSecrets) => return json!("secret_missing"),
        Err(_) => return json!("secret_too_many"),
    };
    let (timestamp, signature) = (delivery.timestamp.join(&b','), delivery.signature.join(&b','));
    match verifier.verify(DeliveryHeaders { timestamp, signature }, &delivery.body, delivery.now) {
        Ok(verified) => json!(verified.key_index()),
        Err(error) => json!(error.code()),
    }
}

/// Returns a delivery that is genuine for one of its secrets or more.
fn signed(random: &mut Rng) -> SampleDelivery {
    let secrets: Vec<Vec<u8>> = (0..random.usize(1..4)).map(|_| bytes(random, 1..80)).collect();
    let body = bytes(random, 0..700);
    let now = random.u64(0..4_000_000_000);
    let at = now.saturating_add(random.u64(0..320)).saturating_sub(random.u64(0..320));
    let first = random.usize(0..secrets.len());
    let keys = KeySet::new(secrets.iter().skip(first));
    let headers = keys.map(|keys| Signer::new(keys).sign(at, &body));
    let lines = headers.map(|it| (it.timestamp().to_owned(), it.signature().to_owned()));
    let (timestamp, signature) = lines.unwrap_or_default();
    let split = random.bool();
    let signature: Vec<_> = match split {
        true => signature.split(',').map(|entry| entry.as_bytes().to_vec()).collect(),
        false => vec![signature.into_bytes()],
    };
    SampleDelivery {
        secrets,
        timestamp: vec![timestamp.into_bytes()],
        signature,
        body,
        now,
        tolerance: 300,
    }
}

fn mutate(delivery: &mut SampleDelivery, random: &mut Rng) {
    match random.u8(0..9) {
        0 => edit(&mut delivery.body, random),
        1 => delivery.now = delivery.now.wrapping_add(random.u64(0..700)).wrapping_sub(350),
        2 => delivery.tolerance = *random.choice(&[0, 1, 299, 300, u64::MAX]).unwrap_or(&300),
        3 => delivery.signature.push(bytes(random, 0..90)),
        4 => random.shuffle(&mut delivery.signature),
        number => {
            let list = match number {
                5 => &mut delivery.secrets,
                6 | 7 => &mut delivery.signature,
                _ => &mut delivery.timestamp,
            };
            let index = random.usize(..list.len().max(1));
            if let Some(item) = list.get_mut(index) {
                edit(item, random);
            }
        }
    }
}

/// Flips a bit, swaps the case of letters, removes bytes, or inserts a part.
fn edit(bytes: &mut Vec<u8>, random: &mut Rng) {
    let at = random.usize(..=bytes.len());
    match random.u8(0..4) {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.u8(0..8)),
        1 => bytes.make_ascii_uppercase(),
        2 => {
            let end = (at + random.usize(0..4)).min(bytes.len());
            drop(bytes.drain(at..end));
        }
        _ => {
            let part = random.choice(PARTS).unwrap_or_default();
            let repeated = part.repeat(if random.u8(..) == 0 { 4_000 } else { 1 });
            drop(bytes.splice(at..at, repeated));
        }
    }
}

fn bytes(random: &mut Rng, lengths: std::ops::Range<usize>) -> Vec<u8> {
    let length = random.usize(lengths);
    (0..length).map(|_| random.u8(..)).collect()
}

fn of_vector(case: &Value) -> Option<SampleDelivery> {
    let list = |name: &str| -> Option<Vec<Vec<u8>>> {
        case.get(name)?.as_array()?.iter().map(of_value).collect()
    };
    let number = |name: &str| case.get(name)?.as_str()?.parse().ok();
    Some(SampleDelivery {
        secrets: list("secrets")?,
        timestamp: list("timestamp")?,
        signature: list("signature")?,
        body: of_value(case.get("body")?)?,
        now: number("now")?,
        tolerance: number("tolerance")?,
    })
}

fn of_value(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let hex = value.get("hex")?.as_str()?.as_bytes();
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.chunks(2).map(byte).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
