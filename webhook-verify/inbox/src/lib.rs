//! Durable receiving of svc webhooks.
//!
//! A delivery is verified, stored, and only then answered with `2xx`. Workers claim stored events,
//! handle them, and acknowledge them. An event is stored once however often it is delivered, and is
//! handled at least once: a worker that dies loses its lease, and another one takes over.
//!
//! ```
//! use std::time::Duration;
//! use svc_webhook_inbox::{Inbox, MemoryEventStore, AcceptOutcome, Worker};
//! use svc_webhook_verify::{KeySet, Signer, Verifier, WebhookReceiver};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
//! let inbox = Inbox::new(MemoryEventStore::new());
//!
//! // In the receiver. `axum::receive` and `tower::ReceiveService` do this for a whole request.
//! let keys = KeySet::new(["whsec_newest"])?;
//! # let now = 1_700_000_000;
//! let body = r#"{"event":"job.completed","job_id":"job_1"}"#;
//! let headers: http::HeaderMap = Signer::new(keys.clone()).sign(now, body).into();
//! let receiver = WebhookReceiver::new(Verifier::new(keys));
//! # let receiver = receiver.clock(move || now);
//! let body = http_body_util::Full::from(body);
//! let webhook = receiver.receive(&headers, body).await?;
//! assert!(matches!(inbox.accept(&headers, &webhook).await?, AcceptOutcome::Stored(_)));
//! assert!(matches!(inbox.accept(&headers, &webhook).await?, AcceptOutcome::Duplicate));
//!
//! // In a worker, in the same process or in another one that opens the same store.
//! let worker = Worker::new(inbox.clone(), |event| async move {
//!     println!("{} {:?}", event.event_type, event.body);
//!     Ok(())
//! });
//! worker.run_until(tokio::time::sleep(Duration::from_secs(1))).await;
//! assert_eq!(inbox.store().stats().await?.handled, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).map_err(|error| error.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod accept_error;
#[cfg(feature = "axum")]
pub mod axum;
mod clock;
mod event;
mod headers;
mod inbox;
mod receive;
mod retry_policy;
mod store;
mod stores;
pub mod tower;
mod worker;

pub use accept_error::AcceptError;
pub use clock::Clock;
pub use event::{EventId, EventState, NewEvent, StoredEvent};
pub use inbox::{AcceptOutcome, Inbox};
pub use retry_policy::EventRetryPolicy;
pub use store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreError, EventStoreErrorKind, HandlingOutcome,
    InsertOutcome, Lease, ListQuery, ReplayFilter, StoreStats,
};
#[cfg(feature = "postgres")]
pub use stores::PostgresEventStore;
#[cfg(feature = "redis")]
pub use stores::RedisEventStore;
#[cfg(feature = "sqlite")]
pub use stores::SqliteEventStore;
pub use stores::{FileEventStore, MemoryEventStore};
#[cfg(feature = "nats")]
pub use stores::{NatsEventStore, NatsOptions};
pub use worker::{HandlerError, Worker};
