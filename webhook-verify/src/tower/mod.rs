//! Layers for [tower](tower_service) services.
//!
//! [`VerifyLayer`] passes on genuine deliveries only, with their bodies unchanged.
//! [`DedupeLayer`], inside it, passes on each event only once.
//!
//! ```
//! use svc_webhook_verify::tower::{DedupeLayer, VerifyLayer};
//! use svc_webhook_verify::{KeySet, MemoryStore, Verifier, WebhookReceiver};
//!
//! let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
//! let layers = (
//!     VerifyLayer::new(receiver).max_body_bytes(4 * 1024 * 1024),
//!     DedupeLayer::new(MemoryStore::new(10_000)),
//! );
//! # use tower_layer::Layer;
//! # let _ = layers.layer(());
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! Other requests are answered with an error status and an empty body. The reason, a
//! [`ReceiveError`](crate::ReceiveError), is in the extensions of the response.

mod dedupe;
mod verify;

use core::pin::Pin;
use std::boxed::Box;

pub use dedupe::{Dedupe, DedupeLayer};
pub use verify::{Verify, VerifyLayer};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
