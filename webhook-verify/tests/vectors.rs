//! The shared test vectors, run with every way of verifying a delivery.

use std::error::Error;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use svc_webhook_verify::{
    DeliveryHeaders, KeyError, KeySet, VerifiedSignature, Verifier, VerifyError, header,
};

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    secrets: Vec<Value>,
    timestamp: Vec<Value>,
    signature: Vec<Value>,
    body: Value,
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
enum Value {
    Text(String),
    Hex { hex: String },
}

impl Value {
    fn to_bytes(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Hex { hex } => {
                let pairs = hex.as_bytes().chunks(2);
                let byte = |pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
                pairs.map(byte).collect()
            }
        }
    }
}

fn to_byte_strings(values: &[Value]) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    values.iter().map(Value::to_bytes).collect()
}

impl From<Result<VerifiedSignature, VerifyError>> for Expect {
    fn from(result: Result<VerifiedSignature, VerifyError>) -> Self {
        Self {
            accept: result.is_ok(),
            secret: result.as_ref().map(VerifiedSignature::key_index).ok(),
            reason: result.err().map(|error| error.code().to_owned()),
        }
    }
}

impl From<KeyError> for Expect {
    fn from(error: KeyError) -> Self {
        let reason = match error {
            KeyError::EmptySecret => "secret_empty",
            KeyError::NoSecrets => "secret_missing",
            _ => "secret_too_many",
        };
        Self { accept: false, secret: None, reason: Some(reason.to_owned()) }
    }
}

/// Returns `None` if a value cannot be sent in an HTTP header.
fn header_map(timestamp: &[Vec<u8>], signature: &[Vec<u8>]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, lines) in [(header::TIMESTAMP, timestamp), (header::SIGNATURE, signature)] {
        for line in lines {
            let value = HeaderValue::from_bytes(line).ok()?;
            headers.append(HeaderName::from_static(name), value);
        }
    }
    Some(headers)
}

#[test]
fn every_vector_has_the_expected_result() -> Result<(), Box<dyn Error>> {
    let vectors: Vectors = serde_json::from_str(include_str!("../vectors/vectors.json"))?;
    let mut header_map_count = 0;
    for case in &vectors.cases {
        let (name, secrets) = (&case.name, to_byte_strings(&case.secrets)?);
        let timestamp_lines = to_byte_strings(&case.timestamp)?;
        let signature_lines = to_byte_strings(&case.signature)?;
        let (timestamp, signature) = (timestamp_lines.join(&b','), signature_lines.join(&b','));
        let (body, now) = (case.body.to_bytes()?, case.now.parse()?);
        let tolerance = Duration::from_secs(case.tolerance.parse()?);

        let joined_headers =
            DeliveryHeaders { timestamp: timestamp.as_slice(), signature: signature.as_slice() };
        let verifier = match KeySet::new(secrets) {
            Ok(keys) if tolerance.is_zero() => Verifier::new(keys).ignoring_timestamp(),
            Ok(keys) => Verifier::new(keys).tolerance(tolerance),
            Err(error) => {
                assert_eq!(Expect::from(error), case.expect, "{name}");
                continue;
            }
        };
        let result = verifier.verify(joined_headers, &body, now);
        assert_eq!(Expect::from(result), case.expect, "{name}");

        let stream = verifier.begin(joined_headers);
        let result = stream.and_then(|mut stream| {
            body.chunks(3).for_each(|chunk| stream.update(chunk));
            stream.finish(now)
        });
        assert_eq!(Expect::from(result), case.expect, "stream: {name}");

        if let Some(headers) = header_map(&timestamp_lines, &signature_lines) {
            let result = verifier.verify_with_headers(&headers, &body, now);
            assert_eq!(Expect::from(result), case.expect, "header map: {name}");
            header_map_count += 1;
        }
    }
    assert!(vectors.cases.len() >= 120 && header_map_count >= 120);
    Ok(())
}
