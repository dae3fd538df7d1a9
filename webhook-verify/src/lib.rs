//! Verification and creation of svc webhook signatures.
//!
//! A receiver starts with [`Verifier`] and [`KeySet`], or over HTTP with [`WebhookReceiver`]; a sender
//! with [`Signer`]. [`header`] has the names and the format of the headers. A rejected delivery has a
//! [`VerifyError`] or a [`ReceiveError`], and wrong secrets are a [`KeyError`].
#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without all features, links to optional items cannot be resolved.
#![cfg_attr(not(feature = "axum"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(any(test, feature = "events"))]
extern crate std;

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
