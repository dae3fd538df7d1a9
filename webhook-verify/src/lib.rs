//! Verification and creation of svc webhook signatures.
//!
//! ```
//! use svc_webhook_verify::{DeliveryHeaders, KeySet, Verifier};
//!
//! let verifier = Verifier::new(KeySet::new(["whsec_newest"])?);
//!
//! // Two headers of the request, and its body exactly as it was received.
//! let headers = DeliveryHeaders {
//!     timestamp: "1700000000",
//!     signature: "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142",
//! };
//! let body = br#"{"event":"job.completed","job_id":"job_123"}"#;
//! # let now = 1_700_000_007;
//!
//! match verifier.verify(headers, body, now) {
//!     Ok(signature) => assert_eq!(signature.timestamp(), 1_700_000_000), // store it, answer 2xx
//!     Err(error) => println!("{error}"), // log it, answer `error.status()`
//! }
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! # The signature scheme
//!
//! The service computes HMAC-SHA256 over `<timestamp>.<raw body>` with the workspace's
//! signing secret and sends three headers with each delivery. The [`header`] module
//! defines their names:
//!
//! | header | content |
//! |---|---|
//! | `x-svc-webhook-timestamp` | Unix seconds, in decimal digits |
//! | `x-svc-webhook-signature` | `svc-v1=<64 hex digits>`; during a secret rotation several, separated by commas, newest first |
//! | `x-svc-webhook-secret-fingerprint` | identifies the newest secret; safe to log and to share |
//!
//! Job webhooks and run webhooks use the same scheme and the same secret. The signing
//! secret is not the API key.
//!
//! # Receiving webhooks
//!
//! - [`Verifier`] is created once and reused for every delivery: it holds the prepared
//!   keys. [`Verifier::verify`] returns the reason when it rejects a delivery. It never panics.
//! - [`Verifier::begin`] accepts the body in chunks, for receivers that stream it.
//!
//! Pass the body **exactly as received**. If it is parsed and serialized again, its
//! bytes change and the signature no longer matches. The body need not be UTF-8.
//!
//! # Sending webhooks
//!
//! [`Signer`] creates the three headers for a timestamp and a body. Tests, mock
//! services and relays use it.
//!
//! # Time
//!
//! The core of the crate does not read a clock: callers pass `now` in Unix seconds. With
//! the standard library that is `SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs()`.
//!
//! A timestamp that differs from `now` by more than the
//! [tolerance](Verifier::tolerance), in either direction, is rejected. The default
//! tolerance is 300 seconds. It limits how long a captured delivery can be replayed, but
//! prevents neither a replay within that time nor a retry by the service. Receivers
//! still have to deduplicate by the event and the job or run ID, which the crate
//! `svc-webhook-inbox` does.
//!
//! # Secret rotation
//!
//! For 24 hours after a rotation the service signs with the new secret and with the
//! previous one. A delivery is accepted if any of its signatures matches any key, so a
//! receiver can switch secrets at any time during those 24 hours, or use both:
//! `KeySet::new([newest, previous])`. [`KeySet::from_lines`] reads them from a text with one
//! secret per line. A [`WebhookReceiver`] with a [secret file](WebhookReceiver::from_secret_file)
//! reads the file again when a delivery names a newer secret.
//!
//! # Errors
//!
//! [`KeyError`] is a configuration error: an empty secret, no secrets, or too many.
//! [`VerifyError`] is the reason why a delivery was rejected, and provides the HTTP
//! [status](VerifyError::status) to answer with. No input causes a panic, and arithmetic
//! on timestamps saturates.
//!
//! # Limits
//!
//! | what | maximum |
//! |---|---|
//! | keys in a [`KeySet`] | 8 |
//! | signature header | 4096 bytes |
//! | entries in the signature header | 32 |
//! | timestamp | 20 digits, 64 bits |
//! | body | unlimited |
//!
//! Each key computes one MAC per delivery, regardless of the number of entries in the
//! header, so a sender cannot multiply the cost of hashing the body.
//!
//! # Feature flags
//!
//! No feature is enabled by default. Each feature enables the others that it needs.
//!
//! | feature | provides |
//! |---|---|
//! | `http` | [`Verifier::verify_with_headers`] for an `http::HeaderMap` |
//! | `events` | [`Event`] and its [`DedupeKey`] |
//! | `tower` | [`WebhookReceiver`], [`KeySet::from_file`], and the layer in the [`tower`] module |
//! | `axum` | [`Webhook`] as an extractor, and the [`axum`] module |
//!
//! # Allocation
//!
//! Without features the crate is `no_std` and does not link `alloc`. Verifying and signing
//! do not allocate with any set of features. The largest value, a [`StreamVerifier`],
//! occupies a little over two kilobytes.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without all features, links to optional items cannot be resolved.
#![cfg_attr(not(feature = "axum"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(any(test, feature = "events"))]
extern crate std;

mod array_string;
#[cfg(feature = "axum")]
pub mod axum;
#[cfg(feature = "tower")]
mod clock;
#[cfg(feature = "events")]
mod dedupe_key;
mod delivery_headers;
#[cfg(feature = "events")]
mod event;
pub mod header;
#[cfg(feature = "http")]
mod header_map;
mod key;
mod mac;
mod parsed_headers;
#[cfg(feature = "tower")]
mod receive_error;
#[cfg(feature = "tower")]
mod receiver;
#[cfg(feature = "tower")]
mod secret_file;
mod sign;
#[cfg(feature = "tower")]
pub mod tower;
mod verify;
mod verify_error;

#[cfg(feature = "events")]
pub use dedupe_key::DedupeKey;
pub use delivery_headers::DeliveryHeaders;
#[cfg(feature = "events")]
pub use event::{Event, EventError, EventType};
pub use key::{Fingerprint, Key, KeyError, KeySet, secret_lines};
#[cfg(feature = "tower")]
pub use receive_error::ReceiveError;
#[cfg(feature = "tower")]
pub use receiver::{Webhook, WebhookReceiver};
pub use sign::{SignatureHeaders, Signer, StreamSigner};
pub use verify::{StreamVerifier, VerifiedSignature, Verifier};
pub use verify_error::VerifyError;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
