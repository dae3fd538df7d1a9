//! The inbox: a store of events and how they are handled.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use svc_webhook_verify::Webhook;

use crate::accept_error::AcceptError;
use crate::event::{EventId, NewEvent};
use crate::retry_policy::EventRetryPolicy;
use crate::store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreError, HandlingOutcome, InsertOutcome,
};

/// The default time for which a worker holds an event without extending its lease.
const DEFAULT_LEASE_DURATION: Duration = Duration::from_secs(60);

/// A durable queue of webhook events.
///
/// An `Inbox` is cheap to clone. Receivers [`accept`](Inbox::accept) deliveries, and a
/// [`Worker`](crate::Worker) handles them; both may run in any number of processes that open the
/// same store.
#[derive(Clone, Debug)]
pub struct Inbox {
    store: Arc<dyn EventStore>,
    retry_policy: EventRetryPolicy,
    lease_duration: Duration,
    in_order: bool,
    forget_dead: bool,
}

/// The result of accepting a delivery. Answer `2xx` in both cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptOutcome {
    /// The event was stored under this id.
    Stored(EventId),
    /// The event was stored before.
    Duplicate,
}

impl Inbox {
    /// Creates an inbox on a store.
    pub fn new(store: impl EventStore + 'static) -> Self {
        Self::from_arc(Arc::new(store))
    }

    /// Creates an inbox on a shared store.
    #[must_use]
    pub fn from_arc(store: Arc<dyn EventStore>) -> Self {
        Self {
            store,
            retry_policy: EventRetryPolicy::default(),
            lease_duration: DEFAULT_LEASE_DURATION,
            in_order: false,
            forget_dead: false,
        }
    }

    /// Sets how often, and after which delays, a failed event is handled again.
    #[must_use]
    pub fn retry_policy(mut self, policy: EventRetryPolicy) -> Self {
        self.retry_policy = policy;
        self
    }

    /// Sets the time for which an event is leased to a worker. The default is 60 seconds.
    ///
    /// A [`Worker`](crate::Worker) extends the lease while its handler runs, so the time only
    /// decides how soon another worker takes over the events of one that died.
    #[must_use]
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// Sets whether the events of one job or run are handled one after the other, oldest first.
    /// An event that was given up does not hold back the next one.
    #[must_use]
    pub fn in_order(mut self, in_order: bool) -> Self {
        self.in_order = in_order;
        self
    }

    /// Sets whether the next delivery of an event that was given up counts as new. By default it
    /// is a duplicate, and the event is handled again only if it is replayed.
    #[must_use]
    pub fn forget_dead(mut self, forget_dead: bool) -> Self {
        self.forget_dead = forget_dead;
        self
    }

    /// Returns the store, to list, replay or purge its events.
    #[must_use]
    pub fn store(&self) -> &dyn EventStore {
        &*self.store
    }

    /// Stores the event of a verified delivery, unless it is a duplicate.
    ///
    /// When this returns `Ok`, the event is stored: answer `2xx`. Otherwise answer with
    /// [`AcceptError::status`]: `503` if the store failed, so that the service delivers again, and
    /// `400` if the body is not an event.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not an event, or if the event cannot be stored.
    pub async fn accept(
        &self,
        headers: &HeaderMap,
        webhook: &Webhook,
    ) -> Result<AcceptOutcome, AcceptError> {
        let event = webhook.event().map_err(AcceptError::NotAnEvent)?;
        let event = NewEvent::new(&event, headers.clone(), webhook.body().clone());
        match self.store.insert(event).await {
            Ok(InsertOutcome::Inserted(id)) => Ok(AcceptOutcome::Stored(id)),
            Ok(InsertOutcome::Duplicate) => Ok(AcceptOutcome::Duplicate),
            Err(error) => Err(AcceptError::Store(error)),
        }
    }

    /// Claims up to `limit` events for a worker.
    ///
    /// Each of them must be [finished](Inbox::finish), or have its lease
    /// [extended](Inbox::extend), before the lease expires. An event whose attempts are used up,
    /// because its workers died again and again, is given up instead of being returned.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read or written.
    pub async fn claim(
        &self,
        worker: &str,
        limit: usize,
    ) -> Result<Vec<ClaimedEvent>, EventStoreError> {
        let request =
            ClaimRequest::new(worker, self.lease_duration).limit(limit).in_order(self.in_order);
        let mut claimed = Vec::new();
        for next in self.store.claim(&request).await? {
            if next.event.attempts <= self.retry_policy.max_attempts {
                claimed.push(next);
                continue;
            }
            let attempts = self.retry_policy.max_attempts;
            let reason = match &next.event.last_error {
                Some(error) => format!("not handled in {attempts} attempts: {error}"),
                None => format!("not handled in {attempts} attempts: the lease expired each time"),
            };
            self.finish(&next, HandlingOutcome::Dead { reason }).await?;
        }
        Ok(claimed)
    }

    /// Extends the lease of a claimed event to the inbox's lease duration from now.
    ///
    /// # Errors
    ///
    /// Returns an error if the lease is no longer held: another worker may handle the event.
    pub async fn extend(&self, claimed: &ClaimedEvent) -> Result<(), EventStoreError> {
        self.store.extend(&claimed.lease, self.lease_duration).await
    }

    /// Records what became of a claimed event.
    ///
    /// # Errors
    ///
    /// Returns an error if the lease is no longer held, or if the store cannot be written. The
    /// event may then be handled again.
    pub async fn finish(
        &self,
        claimed: &ClaimedEvent,
        outcome: HandlingOutcome,
    ) -> Result<(), EventStoreError> {
        let is_dead = matches!(outcome, HandlingOutcome::Dead { .. });
        self.store.finish(&claimed.lease, outcome).await?;
        if let Some(key) = &claimed.event.dedupe_key
            && is_dead
            && self.forget_dead
        {
            self.store.forget(key).await?;
        }
        Ok(())
    }

    /// Returns what becomes of an event whose attempt has failed: a retry, or, after the last
    /// attempt, giving it up.
    #[must_use]
    pub fn failure_outcome(&self, claimed: &ClaimedEvent, error: String) -> HandlingOutcome {
        match self.retry_policy.delay_after(claimed.event.attempts) {
            Some(after) => HandlingOutcome::Retry { after, error },
            None => HandlingOutcome::Dead { reason: error },
        }
    }

    /// Returns the time after which the lease of a running handler is extended.
    pub(crate) fn extension_interval(&self) -> Duration {
        self.lease_duration / 3
    }
}
