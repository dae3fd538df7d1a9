//! The interface of stores.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::event::{EventId, EventState, NewEvent, StoredEvent};
use svc_webhook_verify::DedupeKey;

/// Where an [`Inbox`](crate::Inbox) keeps events, their states and leases.
///
/// A change of one event is atomic; `claim`, `replay` and `purge` may change several, one after the other.
/// The trait is dyn-compatible: the inbox holds an `Arc<dyn EventStore>`. A store that is shared by several processes must keep two promises: of two
/// simultaneous insertions of one key only one is [`InsertOutcome::Inserted`], and an event is leased
/// to one worker at a time.
#[async_trait]
pub trait EventStore: fmt::Debug + Send + Sync {
    /// Stores an event, unless one with the same key is there already. When this returns, the
    /// event survives a crash, as far as the store survives crashes at all.
    ///
    /// # Errors
    ///
    /// Returns an error if the event may not have been stored.
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, EventStoreError>;

    /// Stores an event that was handled when it was received: no worker claims it. Otherwise the same as
    /// [`insert`](EventStore::insert).
    ///
    /// # Errors
    ///
    /// Returns an error if the event may not have been stored, and by default an error of kind
    /// [`Invalid`](EventStoreErrorKind::Invalid), because the store does not support this.
    async fn insert_handled(&self, _: NewEvent) -> Result<InsertOutcome, EventStoreError> {
        let message = "the store cannot store an event as handled";
        Err(EventStoreError::new(EventStoreErrorKind::Invalid, message))
    }

    /// Leases events that are due, oldest first. Returns at once if there are none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read or written.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, EventStoreError>;

    /// Extends a lease, so that it expires after the given time from now.
    ///
    /// # Errors
    ///
    /// Returns an error of kind [`LeaseLost`](EventStoreErrorKind::LeaseLost) if the lease has expired
    /// and the event has been claimed again, or if the event is not in progress.
    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), EventStoreError>;

    /// Records what became of a claimed event, and gives up its lease.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`extend`](EventStore::extend), and an error if the store cannot be
    /// written.
    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), EventStoreError>;

    /// Makes the next delivery of a finished event count as new. Returns `false` if there is no
    /// finished event with this key: an event that is still to be handled needs no redelivery.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    async fn forget(&self, key: &DedupeKey) -> Result<bool, EventStoreError>;

    /// Returns the event with this id, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, EventStoreError>;

    /// Returns events, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, EventStoreError>;

    /// Makes finished events pending again, with no attempts. Returns their number.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, EventStoreError>;

    /// Removes events that were handled or became dead more than `age` ago. Returns their number.
    /// Later deliveries of a removed event count as new.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    async fn purge(&self, age: Duration) -> Result<u64, EventStoreError>;

    /// Returns how many events are in which state.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    async fn stats(&self) -> Result<StoreStats, EventStoreError>;

    /// Waits until an event may be due, or until the timeout has passed. It may return early.
    async fn wait_for_events(&self, timeout: Duration) {
        tokio::time::sleep(timeout).await;
    }
}

/// The result of inserting an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsertOutcome {
    /// The event was stored under this id.
    Inserted(EventId),
    /// An event with the same key is stored already.
    Duplicate,
}

/// A request to lease events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClaimRequest {
    /// The name of the worker, for logs and for an operator who looks at the store.
    pub worker: String,
    /// The time after which the lease expires unless it is extended.
    pub lease_duration: Duration,
    /// The maximum number of events.
    pub limit: usize,
    /// Whether to leave out events while an earlier event of the same resource is unfinished.
    pub in_order: bool,
}

impl ClaimRequest {
    /// Creates a request for one event.
    pub fn new(worker: impl Into<String>, lease_duration: Duration) -> Self {
        Self { worker: worker.into(), lease_duration, limit: 1, in_order: false }
    }

    /// Sets the maximum number of events.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets whether events of one resource are claimed one after the other, oldest first.
    #[must_use]
    pub fn in_order(mut self, in_order: bool) -> Self {
        self.in_order = in_order;
        self
    }
}

/// An event that was leased to a worker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClaimedEvent {
    /// The event. Its [`attempts`](StoredEvent::attempts) include this one.
    pub event: StoredEvent,
    /// The right to handle the event until the lease expires. It is needed to finish the event.
    pub lease: Lease,
}

/// The exclusive right to handle an event for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    id: EventId,
    token: String,
}

impl Lease {
    /// Creates a lease. The token distinguishes it from other leases of the same event.
    pub fn new(id: EventId, token: impl Into<String>) -> Self {
        let token = token.into();
        Self { id, token }
    }

    /// Returns the id of the leased event.
    #[must_use]
    pub fn id(&self) -> &EventId {
        &self.id
    }

    /// Returns the token of the lease.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }
}

/// What became of a claimed event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlingOutcome {
    /// The event was handled.
    Handled,
    /// The event is to be claimed again.
    Retry {
        /// The time before it may be claimed.
        after: Duration,
        /// The reason, for the operator.
        error: String,
    },
    /// The event failed too often, or for good, and is not retried.
    Dead {
        /// The reason, for the operator.
        reason: String,
    },
}

/// A selection of events to list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListQuery {
    /// Only events in this state.
    pub state: Option<EventState>,
    /// Only events that are older than this one.
    pub before: Option<EventId>,
    /// The maximum number of events.
    pub limit: usize,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self { state: None, before: None, limit: 50 }
    }
}

/// A selection of finished events to replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReplayFilter {
    /// The event with this id.
    Id(EventId),
    /// All events that were given up.
    Dead,
    /// All events that were received in this time, whether handled or given up.
    ReceivedIn(Range<SystemTime>),
}

/// The numbers of events by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Events that wait to be claimed.
    pub pending: u64,
    /// Events that are leased to a worker.
    pub in_progress: u64,
    /// Events that were handled and not purged.
    pub handled: u64,
    /// Events that were given up and not purged.
    pub dead: u64,
    /// The age of the oldest event that is not finished.
    pub oldest_unfinished_age: Option<Duration>,
}

/// The reason why a store failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventStoreErrorKind {
    /// The store cannot be reached, read or written. It may work later.
    Unavailable,
    /// The event was claimed again after the lease expired, or is not in progress.
    LeaseLost,
    /// The address of the store or its content is invalid, or the store does not support what was
    /// asked of it.
    Invalid,
    /// The store has no room for the event until others are finished.
    Full,
    /// Another process uses the store, which is for one process only.
    Locked,
    /// A failure has left the store in a state in which it cannot be written until it is opened
    /// again.
    Broken,
}

/// An error of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStoreError {
    kind: EventStoreErrorKind,
    message: String,
}

impl EventStoreError {
    /// Creates an error with a message that says what failed and why.
    pub fn new(kind: EventStoreErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    /// Creates the error of a store that cannot be reached, read or written.
    pub fn unavailable(what: &str, cause: impl fmt::Display) -> Self {
        Self::new(EventStoreErrorKind::Unavailable, format!("{what}: {cause}"))
    }

    /// Creates the error of a lease that is no longer held.
    #[must_use]
    pub fn lease_lost(lease: &Lease) -> Self {
        let message = format!("the lease of event {} is no longer held", lease.id());
        Self::new(EventStoreErrorKind::LeaseLost, message)
    }

    /// Returns the reason.
    #[must_use]
    pub fn kind(&self) -> EventStoreErrorKind {
        self.kind
    }
}

impl fmt::Display for EventStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for EventStoreError {}
