//! Layers for any [tower](tower_service) server.
//!
//! [`VerifyLayer`] lets genuine deliveries through and no others, and passes their bodies
//! on, byte for byte. [`DedupeLayer`], inside it, lets each event through once.
//!
//! ```
//! use svc_webhook_verify::tower::{DedupeLayer, VerifyLayer};
//! use svc_webhook_verify::{KeySet, MemoryStore, Receiver, Verifier};
//!
//! let receiver = Receiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
//! let layers = (
//!     VerifyLayer::new(receiver).max_body(4 * 1024 * 1024),
//!     DedupeLayer::new(MemoryStore::new(10_000)),
//! );
//! # use tower_layer::Layer;
//! # let _ = layers.layer(());
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! A refusal is a response with a status and an empty body; the reason, a
//! [`Refused`](crate::Refused), is in its extensions.

mod dedupe;
mod verify;

use core::pin::Pin;
use std::boxed::Box;

pub use dedupe::{Dedupe, DedupeLayer};
pub use verify::{Verify, VerifyLayer};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
