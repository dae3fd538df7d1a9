//! Verifies and makes the signatures of svc webhooks.
//!
//! ```
//! use svc_webhook_verify::{KeySet, Verifier};
//!
//! let verifier = Verifier::new(KeySet::new(["whsec_newest"])?);
//!
//! // From the request: two headers, and the body as it came over the wire.
//! let timestamp = "1700000000";
//! let signature = "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142";
//! let body = br#"{"event":"job.completed","job_id":"job_123"}"#;
//! # let now = 1_700_000_007;
//!
//! match verifier.check(timestamp, signature, body, now) {
//!     Ok(verified) => assert_eq!(verified.timestamp(), 1_700_000_000), // store it, answer 2xx
//!     Err(reject) => println!("{reject}"), // log it, answer `reject.status()`
//! }
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! # What is signed
//!
//! The service computes HMAC-SHA256 over `<timestamp>.<raw body>` with the
//! workspace's signing secret and sends three headers with each delivery. Their
//! names are in [`header`]:
//!
//! | header | content |
//! |---|---|
//! | `x-svc-webhook-timestamp` | Unix seconds, decimal digits |
//! | `x-svc-webhook-signature` | `svc-v1=<64 hex digits>`; during a rotation several, comma separated, newest first |
//! | `x-svc-webhook-secret-fingerprint` | which secret is the newest; safe to log and share |
//!
//! Job webhooks and run webhooks share the scheme and the secret. The secret is not
//! the API key.
//!
//! # Receive
//!
//! - [`Verifier`] is the thing to keep for the life of the program: its keys are
//!   ready for use, and [`check`](Verifier::check) says why a delivery was refused.
//! - [`Verifier::begin`] takes the body in pieces, for a receiver that streams it.
//! - [`verify`] is the specification's reference helper in one call: a `bool`, and
//!   `false` for whatever is malformed.
//!
//! Give them the body **as received**. One that was parsed and written again has
//! other bytes, and no signature fits it. Bodies are bytes; they need not be UTF-8.
//!
//! # Send
//!
//! [`Signer`] makes the three headers for a time and a body. It is what a test, a
//! stand-in for the service or a relay needs.
//!
//! # Time
//!
//! The crate reads no clock: `now` is a parameter, in whole seconds since the Unix
//! epoch. With the standard library that is
//! `SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs()`.
//!
//! A timestamp further than the [tolerance](Verifier::tolerance) from `now` is
//! refused, in the past as in the future: 300 seconds unless set otherwise.
//! Freshness bounds how long a captured delivery can be replayed. It does not stop a
//! replay within those seconds, nor the service's own second attempt: a receiver
//! still dedupes, on the event and the job's or run's id.
//!
//! # Rotation
//!
//! For 24 hours after a rotation the service signs with the new secret and with the
//! previous one, and a delivery is genuine when any entry matches any key. So a
//! receiver may change its secret at any moment of that day, or hold both for a
//! while: `KeySet::new([newest, previous])`.
//!
//! # Errors
//!
//! [`KeyError`] comes from setting up: an empty secret, no secret, too many.
//! [`Reject`] comes from a delivery, and knows the [status](Reject::status) to answer
//! with. Nothing panics, whatever a header or a body
//! holds, and arithmetic on timestamps saturates.
//!
//! # Limits
//!
//! | what | at most |
//! |---|---|
//! | keys in a [`KeySet`] | 8 |
//! | signature header | 4096 bytes |
//! | entries in the signature header | 32 |
//! | timestamp | 20 digits, 64 bits |
//! | body | no limit |
//!
//! A sender cannot have the body hashed more often by filling the header: each key
//! computes one MAC, however many entries there are to compare it with.
//!
//! # Features
//!
//! None is on by default. Each brings the ones above it that it needs.
//!
//! | feature | brings |
//! |---|---|
//! | `http` | `Verifier::check_headers` on an `http::HeaderMap` |
//! | `events` | `Event`, `DedupeStore`, `MemoryStore` |
//! | `sqlite` | `SqliteStore` |
//! | `tower` | `Receiver`, and the layers in `tower` |
//! | `axum` | the extractor `Webhook` |
//!
//! # No allocation
//!
//! Without features the crate is `no_std` and does not link `alloc`, so there is no
//! allocator that it could call; with them, verifying and signing still call none. Its values live where their owner puts them; the largest, a
//! [`Verification`], takes a little over two kilobytes.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "events"))]
extern crate std;

#[cfg(feature = "axum")]
pub mod axum;
#[cfg(feature = "tower")]
mod clock;
#[cfg(feature = "events")]
mod dedupe;
#[cfg(feature = "events")]
mod event;
pub mod header;
#[cfg(feature = "http")]
mod header_map;
mod key;
mod mac;
#[cfg(feature = "tower")]
mod receiver;
mod reject;
mod sign;
mod text;
#[cfg(feature = "tower")]
pub mod tower;
mod verify;

#[cfg(feature = "events")]
pub use dedupe::{Claim, DedupeStore, Lease, MemoryStore, MemoryStoreFull};
#[cfg(feature = "sqlite")]
pub use dedupe::{SqliteError, SqliteStore};
#[cfg(feature = "events")]
pub use event::{DedupeKey, Event, EventError, EventKind};
pub use key::{Fingerprint, Key, KeyError, KeySet};
#[cfg(feature = "tower")]
pub use receiver::{Receiver, Refused, Webhook};
pub use reject::Reject;
pub use sign::{SignedHeaders, Signer, Signing};
pub use verify::{Verification, Verified, Verifier, verify};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
