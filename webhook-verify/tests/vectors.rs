//! The vectors that other languages share, put to every way of verifying.

use std::error::Error;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use svc_webhook_verify::{KeyError, KeySet, VerifiedSignature, Verifier, VerifyError, header};

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    secrets: Vec<Octets>,
    timestamp: Vec<Octets>,
    signature: Vec<Octets>,
    body: Octets,
    now: String,
    tolerance: String,
    expect: Expect,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Expect {
    accept: bool,
    secret: Option<usize>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Octets {
    ArrayString(String),
    Hex { hex: String },
}

impl Octets {
    fn bytes(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        match self {
            Self::ArrayString(text) => Ok(text.clone().into_bytes()),
            Self::Hex { hex } => {
                let pairs = hex.as_bytes().chunks(2);
                let byte = |pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
                pairs.map(byte).collect()
            }
        }
    }
}

fn all(octets: &[Octets]) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    octets.iter().map(Octets::bytes).collect()
}

fn outcome(outcome: Result<VerifiedSignature, VerifyError>) -> Expect {
    Expect {
        accept: outcome.is_ok(),
        secret: outcome.as_ref().map(VerifiedSignature::key_index).ok(),
        reason: outcome.err().map(|reject| reject.code().to_owned()),
    }
}

fn refused_set_up(error: KeyError) -> Expect {
    let reason = match error {
        KeyError::EmptySecret => "secret_empty",
        KeyError::NoSecrets => "secret_missing",
        _ => "secret_too_many",
    };
    Expect {
        accept: false,
        secret: None,
        reason: Some(reason.to_owned()),
    }
}

/// `None` where HTTP could not have carried such a value.
fn header_map(timestamp: &[Vec<u8>], signature: &[Vec<u8>]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, lines) in [
        (header::TIMESTAMP, timestamp),
        (header::SIGNATURE, signature),
    ] {
        for line in lines {
            let value = HeaderValue::from_bytes(line).ok()?;
            headers.append(HeaderName::from_static(name), value);
        }
    }
    Some(headers)
}

#[test]
fn every_vector_is_answered_as_it_says() -> Result<(), Box<dyn Error>> {
    let vectors: Vectors = serde_json::from_str(include_str!("../vectors/vectors.json"))?;
    let mut in_maps = 0;
    for case in &vectors.cases {
        let name = &case.name;
        let (timestamp, signature) = (all(&case.timestamp)?, all(&case.signature)?);
        let (body, now) = (case.body.bytes()?, case.now.parse()?);
        let verifier = match KeySet::new(all(&case.secrets)?) {
            Ok(keys) => Verifier::new(keys),
            Err(error) => {
                assert_eq!(refused_set_up(error), case.expect, "{name}");
                continue;
            }
        };
        let verifier = verifier.tolerance(Duration::from_secs(case.tolerance.parse()?));
        if let Some(headers) = header_map(&timestamp, &signature) {
            let checked = verifier.verify_with_headers(&headers, &body, now);
            assert_eq!(outcome(checked), case.expect, "header map: {name}");
            in_maps += 1;
        }
        let (timestamp, signature) = (timestamp.join(&b','), signature.join(&b','));
        let checked = verifier.verify(&timestamp, &signature, &body, now);
        assert_eq!(outcome(checked), case.expect, "{name}");
        let streamed = verifier.begin(&timestamp, &signature);
        let streamed = streamed.and_then(|mut verification| {
            body.chunks(3).for_each(|piece| verification.update(piece));
            verification.finish(now)
        });
        assert_eq!(outcome(streamed), case.expect, "streamed: {name}");
    }
    assert!(vectors.cases.len() >= 120 && in_maps >= 120);
    Ok(())
}
