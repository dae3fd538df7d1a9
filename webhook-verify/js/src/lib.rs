//! The exports of the WebAssembly module of the npm package `svc-webhook-verify`.
//!
//! An instance has one set of secrets and one buffer. JavaScript writes what a function is about to the
//! start of the buffer, and passes lengths.

#![no_std]

use core::cell::UnsafeCell;
use core::time::Duration;

use svc_webhook_verify_core::{
    DeliveryHeaders, Key, KeyError, KeySet, StreamVerifier, VerifiedSignature, Verifier,
    VerifyError,
};

const INPUT_BYTES: usize = 64 * 1024;

/// A value of an instance, which has one thread.
struct Single<T>(UnsafeCell<T>);

// SAFETY: the module is built without threads.
unsafe impl<T> Sync for Single<T> {}

struct State {
    keys: Option<KeySet>,
    verifier: Option<Verifier>,
    stream: Option<StreamVerifier>,
    timestamp: u64,
}

static INPUT: Single<[u8; INPUT_BYTES]> = Single(UnsafeCell::new([0; INPUT_BYTES]));
static STATE: Single<State> =
    Single(UnsafeCell::new(State { keys: None, verifier: None, stream: None, timestamp: 0 }));

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Runs a function with the buffer and the state of the instance.
fn with<R>(function: impl FnOnce(&mut [u8; INPUT_BYTES], &mut State) -> R) -> R {
    // SAFETY: no function below calls another one within `function`, and there is one thread.
    let (input, state) = unsafe { (&mut *INPUT.0.get(), &mut *STATE.0.get()) };
    function(input, state)
}

/// Returns the address of the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn input() -> *const u8 {
    INPUT.0.get().cast()
}

/// Returns the size of the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn input_size() -> usize {
    INPUT_BYTES
}

/// Removes all secrets.
#[unsafe(no_mangle)]
pub extern "C" fn clear_secrets() {
    with(|_, state| (state.keys, state.verifier) = (None, None));
}

/// Adds the secret in the buffer, older than those before, and wipes it from the buffer. Returns 0, or the number of an error.
#[unsafe(no_mangle)]
pub extern "C" fn add_secret(length: usize) -> i32 {
    with(|input, state| {
        let secret = &mut input[..length];
        let added = Key::new(&*secret).and_then(|key| match &mut state.keys {
            Some(keys) => keys.push(key),
            None => {
                state.keys = Some(KeySet::from(key));
                Ok(())
            }
        });
        wipe(secret);
        number_of(added)
    })
}

/// Sets the secrets to the lines in the buffer, and wipes them from it. Returns 0, or the number of an error.
#[unsafe(no_mangle)]
pub extern "C" fn set_secret_lines(length: usize) -> i32 {
    with(|input, state| {
        let lines = &mut input[..length];
        let keys = KeySet::from_lines(core::str::from_utf8(lines).unwrap_or_default());
        wipe(lines);
        number_of(keys.map(|keys| (state.keys, state.verifier) = (Some(keys), None)))
    })
}

/// Writes the fingerprint of a secret to the buffer, and returns its length: 0 if there is no such secret.
#[unsafe(no_mangle)]
pub extern "C" fn fingerprint(index: usize) -> usize {
    with(|input, state| {
        let key = state.keys.as_ref().and_then(|keys| keys.iter().nth(index));
        let Some(fingerprint) = key.map(Key::fingerprint) else { return 0 };
        let text = fingerprint.as_str().as_bytes();
        input[..text.len()].copy_from_slice(text);
        text.len()
    })
}

/// Returns whether the fingerprint in the buffer is of none of the secrets.
#[unsafe(no_mangle)]
pub extern "C" fn is_unknown_fingerprint(length: usize) -> bool {
    with(|input, state| {
        let keys = state.keys.as_ref();
        keys.is_some_and(|keys| keys.unknown_fingerprint(&input[..length]).is_some())
    })
}

/// Sets the tolerance in seconds, or none if a timestamp may be of any time.
#[unsafe(no_mangle)]
pub extern "C" fn set_tolerance(is_limited: bool, high: u32, low: u32) {
    with(|_, state| {
        let Some(keys) = state.keys.take() else { return };
        let verifier = Verifier::new(keys.clone());
        state.keys = Some(keys);
        state.verifier = Some(match is_limited {
            true => verifier.tolerance(Duration::from_secs(joined(high, low))),
            false => verifier.ignoring_timestamp(),
        });
    });
}

/// Verifies the delivery in the buffer: the timestamp, the signatures and the body, one after the other.
/// Returns the index of the secret that matched, or the negative number of a reason.
#[unsafe(no_mangle)]
pub extern "C" fn verify(
    timestamp: usize,
    signature: usize,
    body: usize,
    high: u32,
    low: u32,
) -> i32 {
    with(|input, state| {
        let (headers, rest) = parts(input, timestamp, signature);
        let Some(verifier) = &state.verifier else { return i32::MIN };
        let result = verifier.verify(headers, &rest[..body], joined(high, low));
        number_of_result(result, &mut state.timestamp)
    })
}

/// Begins to verify a delivery with the timestamp and the signatures in the buffer. Returns 0, or the
/// negative number of a reason.
#[unsafe(no_mangle)]
pub extern "C" fn begin(timestamp: usize, signature: usize) -> i32 {
    with(|input, state| {
        let (headers, _) = parts(input, timestamp, signature);
        let Some(verifier) = &state.verifier else { return i32::MIN };
        match verifier.begin(headers) {
            Ok(stream) => {
                state.stream = Some(stream);
                0
            }
            Err(error) => -number_of_reason(error),
        }
    })
}

/// Processes the part of the body in the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn update(length: usize) {
    with(|input, state| {
        if let Some(stream) = &mut state.stream {
            stream.update(&input[..length]);
        }
    });
}

/// Ends what [`begin`] began, with the result of [`verify`].
#[unsafe(no_mangle)]
pub extern "C" fn finish(high: u32, low: u32) -> i32 {
    with(|_, state| match state.stream.take() {
        Some(stream) => number_of_result(stream.finish(joined(high, low)), &mut state.timestamp),
        None => i32::MIN,
    })
}

/// Returns the upper half of the time at which the last genuine delivery was signed.
#[unsafe(no_mangle)]
pub extern "C" fn timestamp_high() -> u32 {
    with(|_, state| (state.timestamp >> 32) as u32)
}

/// Returns the lower half of that time.
#[unsafe(no_mangle)]
pub extern "C" fn timestamp_low() -> u32 {
    with(|_, state| state.timestamp as u32)
}

fn parts(
    input: &[u8; INPUT_BYTES],
    timestamp: usize,
    signature: usize,
) -> (DeliveryHeaders<&[u8], &[u8]>, &[u8]) {
    let (timestamp, rest) = input.split_at(timestamp);
    let (signature, rest) = rest.split_at(signature);
    (DeliveryHeaders { timestamp, signature }, rest)
}

fn joined(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // So that the compiler keeps it.
    core::hint::black_box(&*bytes);
}

fn number_of_result(result: Result<VerifiedSignature, VerifyError>, timestamp: &mut u64) -> i32 {
    match result {
        Ok(verified) => {
            *timestamp = verified.timestamp();
            // There are at most eight secrets.
            verified.key_index() as i32
        }
        Err(error) => -number_of_reason(error),
    }
}

/// The numbers of reasons and of errors, which `core.js` lists in the same order.
fn number_of_reason(error: VerifyError) -> i32 {
    match error {
        VerifyError::TimestampMissing => 1,
        VerifyError::TimestampMalformed => 2,
        VerifyError::TimestampTooOld { .. } => 3,
        VerifyError::TimestampInFuture { .. } => 4,
        VerifyError::SignatureMissing => 5,
        VerifyError::SignatureTooLong => 6,
        VerifyError::TooManySignatures => 7,
        VerifyError::SignatureMalformed => 8,
        VerifyError::SignatureUnsupported => 9,
        _ => 10,
    }
}

fn number_of(result: Result<(), KeyError>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(KeyError::EmptySecret) => 1,
        Err(KeyError::NoSecrets) => 2,
        Err(_) => 3,
    }
}
