//! Events as they are received and as they are stored.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use svc_webhook_verify::{DedupeKey, Event, EventType};

/// A verified event that is to be stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewEvent {
    /// The key that all deliveries of the event share. An event without one is never a duplicate.
    pub dedupe_key: Option<DedupeKey>,
    /// The name of the event, such as `job.completed`.
    pub event_type: String,
    /// The headers of the delivery.
    pub headers: HeaderMap,
    /// The raw body of the delivery.
    pub body: Bytes,
}

impl NewEvent {
    /// Creates an event from a verified delivery.
    ///
    /// The deduplication key is the event type and the id of the job or run. An event of an
    /// unknown type, and one without an id, is identified by its whole body, so that two
    /// different events are never taken for one. A `webhook.test` event has no key.
    #[must_use]
    pub fn new(event: &Event, headers: HeaderMap, body: Bytes) -> Self {
        Self {
            dedupe_key: dedupe_key(event, &body),
            event_type: event.event_type().as_str().to_owned(),
            headers,
            body,
        }
    }
}

fn dedupe_key(event: &Event, body: &[u8]) -> Option<DedupeKey> {
    if event.event_type() == &EventType::WebhookTest {
        return None;
    }
    let known_key = event.event_type().is_known().then(|| event.dedupe_key());
    Some(known_key.flatten().unwrap_or_else(|| {
        let hash: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        DedupeKey::new(event.event_type().as_str(), format!("body:{hash}"))
    }))
}

/// Identifies a stored event within its store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(String);

impl EventId {
    /// Creates an id from its text.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The state of a stored event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventState {
    /// Waits to be claimed, now or after a delay.
    Pending,
    /// Claimed by a worker whose lease has not expired.
    InProgress,
    /// Handled. It is kept so that further deliveries of it are recognized as duplicates.
    Handled,
    /// Given up. It is kept until it is replayed or purged.
    Dead,
}

impl EventState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Handled, Self::Dead];

    /// Returns the name of the state: `pending`, `in_progress`, `handled` or `dead`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Handled => "handled",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for EventState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An event in a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredEvent {
    /// The id of the event in its store.
    pub id: EventId,
    /// The key that all deliveries of the event share.
    pub dedupe_key: Option<DedupeKey>,
    /// The name of the event, such as `job.completed`.
    pub event_type: String,
    /// The headers of the delivery that was stored.
    pub headers: HeaderMap,
    /// The raw body.
    pub body: Bytes,
    /// The time at which the event was stored.
    pub received_at: SystemTime,
    /// The state of the event.
    pub state: EventState,
    /// The number of times that the event was claimed since it was received or replayed.
    pub attempts: u32,
    /// The time at which a pending event may be claimed, and at which the lease of one in
    /// progress expires.
    pub due_at: Option<SystemTime>,
    /// The time at which the event was handled or given up.
    pub finished_at: Option<SystemTime>,
    /// The reason of the last failed attempt.
    pub last_error: Option<String>,
}

impl StoredEvent {
    /// Parses the body as an event.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored body is damaged.
    pub fn parse(&self) -> Result<Event, svc_webhook_verify::EventError> {
        Event::parse(&self.body)
    }

    /// Parses the body as another type, such as the `WebhookEvent` of the `svc-sdk` crate.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored body is not a `T`.
    pub fn parse_as<T: DeserializeOwned>(&self) -> Result<T, svc_webhook_verify::EventError> {
        Event::parse_as(&self.body)
    }
}
