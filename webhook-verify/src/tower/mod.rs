//! A layer for [tower](tower_service) services.
//!
//! [`VerifyLayer`] passes on genuine deliveries only, with their bodies unchanged.
//!
//! ```
//! use svc_webhook_verify::tower::VerifyLayer;
//! use svc_webhook_verify::{KeySet, Verifier, WebhookReceiver};
//!
//! let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
//! let layer = VerifyLayer::new(receiver).max_body_bytes(4 * 1024 * 1024);
//! # use tower_layer::Layer;
//! # let _ = layer.layer(());
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! Other requests are answered with an error status and an empty body. The reason, a
//! [`ReceiveError`](crate::ReceiveError), is in the extensions of the response. To store each event
//! once, use `svc-webhook-inbox`.

mod verify;

use core::pin::Pin;
use std::boxed::Box;

pub use verify::{Verify, VerifyLayer};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
