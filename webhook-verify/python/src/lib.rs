//! The Python package `svc-webhook-verify`: the verifier of the Rust crate, for Python.

mod delivery;
mod secrets;
mod time;

use pyo3::prelude::*;
use svc_webhook_verify::{DeliveryHeaders, VerifiedSignature, Verifier, VerifyError};

use crate::delivery::{Body, Headers};
use crate::secrets::VerifierSource;
use crate::time::{Tolerance, UnixTime};

/// Why a delivery was rejected: the reason, a message for logs, and the HTTP status to answer with.
type Rejection = (&'static str, String, u16);

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::check;
    #[pymodule_export]
    use super::secrets::{SecretFile, Secrets};
    #[pymodule_export]
    use super::verify;
}

/// Returns whether a delivery is genuine.
///
/// Nothing that a sender controls raises an exception: other headers, other bodies and other
/// signatures are not genuine.
#[pyfunction]
#[pyo3(
    signature = (headers, body, secrets, tolerance=Tolerance::Default, now=UnixTime::Current),
    text_signature = "(headers, body, secrets, tolerance=300, now=None)"
)]
fn verify(
    headers: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
    secrets: &Bound<'_, PyAny>,
    tolerance: Tolerance,
    now: UnixTime,
) -> PyResult<bool> {
    Ok(check_delivery(headers, body, secrets, tolerance, now)?.is_ok())
}

/// Returns the time at which a delivery was signed and the index of the secret that matched, or why it
/// was rejected.
#[pyfunction]
#[pyo3(
    signature = (headers, body, secrets, tolerance=Tolerance::Default, now=UnixTime::Current),
    text_signature = "(headers, body, secrets, tolerance=300, now=None)"
)]
fn check(
    headers: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
    secrets: &Bound<'_, PyAny>,
    tolerance: Tolerance,
    now: UnixTime,
) -> PyResult<(Option<(u64, usize)>, Option<Rejection>)> {
    Ok(match check_delivery(headers, body, secrets, tolerance, now)? {
        Ok(verified) => (Some((verified.timestamp(), verified.key_index())), None),
        Err(error) => (None, Some((error.code(), error.to_string(), error.status()))),
    })
}

fn check_delivery(
    headers: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
    secrets: &Bound<'_, PyAny>,
    tolerance: Tolerance,
    now: UnixTime,
) -> PyResult<Result<VerifiedSignature, VerifyError>> {
    let (headers, body) = (Headers::read(headers)?, Body::read(body)?);
    let source = VerifierSource::read(secrets)?;
    let now = now.seconds();
    let verify = |verifier: &Verifier| {
        let (timestamp, signature) = (headers.timestamp(), headers.signature());
        let delivery = DeliveryHeaders { timestamp, signature };
        match tolerance {
            Tolerance::Default => verifier.verify(delivery, body.bytes(), now),
            Tolerance::Any => {
                verifier.clone().ignoring_timestamp().verify(delivery, body.bytes(), now)
            }
            Tolerance::Within(duration) => {
                verifier.clone().tolerance(duration).verify(delivery, body.bytes(), now)
            }
        }
    };
    let result = verify(source.verifier());
    // Another error means that the delivery is not recent, or none of the service: it cannot cause a
    // reload.
    if matches!(result, Ok(_) | Err(VerifyError::SignatureMismatch))
        && let Some(reloaded) = source.reloaded_for(headers.fingerprint())
    {
        return Ok(verify(&reloaded));
    }
    Ok(result)
}
