//! The worker: claims events, runs a handler, and acknowledges them.

use std::fmt;
use std::future::{Future, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tracing::Instrument;

use crate::event::StoredEvent;
use crate::inbox::Inbox;
use crate::store::{ClaimedEvent, EventStoreError, EventStoreErrorKind, HandlingOutcome};

/// The default number of events that a worker handles at the same time.
const DEFAULT_CONCURRENCY: usize = 8;
/// The time between polls of a store that does not notify its workers.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The time between two purges.
const PURGE_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The pause after a failure of the store.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type ErrorHandler = dyn Fn(&EventStoreError) + Send + Sync;
type Handler = dyn Fn(StoredEvent) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync;

/// Claims events of an inbox and handles them.
///
/// ```no_run
/// use svc_webhook_inbox::{HandlerError, Inbox, MemoryEventStore, Worker};
///
/// # async fn example() {
/// let inbox = Inbox::new(MemoryEventStore::new());
/// Worker::new(inbox, |event| async move {
///     let parsed = event.parse().map_err(HandlerError::permanent)?;
///     println!("{} of job {:?}", parsed.event_type(), parsed.job_id());
///     Ok(())
/// })
/// .concurrency(16)
/// .run_until(std::future::pending()) // or until a signal, such as tokio::signal::ctrl_c
/// .await;
/// # }
/// ```
///
/// An event is handled **at least once**: if the process dies after the handler has returned and
/// before the store has recorded it, the event is handled again. Make the handler
/// idempotent: for example, store [`StoredEvent::dedupe_key`] in the same database transaction as
/// its effect.
pub struct Worker {
    inbox: Inbox,
    handler: Arc<Handler>,
    name: String,
    concurrency: usize,
    shutdown_grace: Duration,
    retention: Option<Duration>,
    on_store_error: Arc<ErrorHandler>,
}

impl Worker {
    /// Creates a worker with a handler.
    ///
    /// A handler that returns an error, or panics, has its event tried again, as the inbox's
    /// [retry policy](Inbox::retry_policy) says.
    pub fn new<H, F>(inbox: Inbox, handler: H) -> Self
    where
        H: Fn(StoredEvent) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        Self {
            inbox,
            handler: Arc::new(move |event| Box::pin(handler(event))),
            name: format!("worker-{}", std::process::id()),
            concurrency: DEFAULT_CONCURRENCY,
            shutdown_grace: Duration::from_secs(30),
            retention: None,
            on_store_error: Arc::new(|_| ()),
        }
    }

    /// Sets the name under which the worker claims events. The default has the process id.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the number of events that are handled at the same time. The default is 8.
    #[must_use]
    pub fn concurrency(mut self, events: usize) -> Self {
        self.concurrency = events.max(1);
        self
    }

    /// Sets the time that running handlers get after a shutdown. The default is 30 seconds.
    ///
    /// A handler that takes longer is dropped, and its event is handled by another worker.
    #[must_use]
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.shutdown_grace = grace;
        self
    }

    /// Sets the age at which finished events are purged, once an hour. By default they are kept.
    ///
    /// A delivery of an event that was purged counts as new. The service redelivers for several
    /// hours, and on request later, so keep events for a week at least.
    #[must_use]
    pub fn purge_after(mut self, age: Duration) -> Self {
        self.retention = Some(age);
        self
    }

    /// Sets a function that is called, besides the log, when the store fails. The worker tries
    /// again in any case.
    #[must_use]
    pub fn on_store_error(
        mut self,
        on_error: impl Fn(&EventStoreError) + Send + Sync + 'static,
    ) -> Self {
        self.on_store_error = Arc::new(on_error);
        self
    }

    /// Handles events until `shutdown` is ready, then waits for the running handlers.
    ///
    /// A failure of the store is logged, and the worker tries again.
    ///
    /// # Cancel safety
    ///
    /// If the returned future is dropped, running handlers are dropped as well. Their events are
    /// handled again when their leases have expired.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut running = JoinSet::new();
        let mut purge = interval(PURGE_INTERVAL);
        purge.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            while running.try_join_next().is_some() {}
            let free = self.concurrency.saturating_sub(running.len());
            select! {
                biased;
                () = &mut shutdown => break,
                _ = purge.tick(), if self.retention.is_some() => self.purge().await,
                _ = running.join_next(), if free == 0 => continue,
                () = ready(()), if free > 0 => {}
            }
            // Not part of a `select!`: events that were claimed must not be dropped.
            let pause = match self.inbox.claim(&self.name, free).await {
                Ok(claimed) if claimed.is_empty() => {
                    self.inbox.store().wait_for_events(POLL_INTERVAL)
                }
                Ok(claimed) => {
                    for next in claimed {
                        running.spawn(self.handle(next));
                    }
                    continue;
                }
                Err(error) => {
                    tracing::warn!("cannot claim webhook events: {error}");
                    (self.on_store_error)(&error);
                    Box::pin(sleep(PAUSE_AFTER_FAILURE))
                }
            };
            select! {
                biased;
                () = &mut shutdown => break,
                () = pause => {}
            }
        }
        let finished = async { while running.join_next().await.is_some() {} };
        if timeout(self.shutdown_grace, finished).await.is_err() {
            tracing::warn!(
                "webhook handlers did not finish in time; their events will be handled again"
            );
        }
    }

    async fn purge(&self) {
        let Some(age) = self.retention else { return };
        match self.inbox.store().purge(age).await {
            Ok(count) => tracing::debug!(count, "purged finished webhook events"),
            Err(error) => tracing::warn!("cannot purge webhook events: {error}"),
        }
    }

    /// Returns a task that handles an event and records the outcome.
    fn handle(&self, claimed: ClaimedEvent) -> impl Future<Output = ()> + Send + use<> {
        let (inbox, handler) = (self.inbox.clone(), Arc::clone(&self.handler));
        let on_store_error = Arc::clone(&self.on_store_error);
        let span = tracing::info_span!(
            "handle_webhook_event",
            id = %claimed.event.id,
            event_type = claimed.event.event_type,
            attempt = claimed.event.attempts,
        );
        async move {
            // A task of its own turns a panic into an error, and is aborted when this is dropped.
            let mut handling = JoinSet::new();
            handling.spawn(handler(claimed.event.clone()).in_current_span());
            let result = loop {
                select! {
                    biased;
                    Some(result) = handling.join_next() => break result,
                    () = sleep(inbox.extension_interval()) => {
                        if let Err(error) = inbox.extend(&claimed).await {
                            tracing::warn!("cannot extend the lease: {error}");
                            if error.kind() == EventStoreErrorKind::LeaseLost {
                                // Another worker may be handling the event already.
                                return;
                            }
                        }
                    }
                }
            };
            let outcome = match result {
                Ok(Ok(())) => HandlingOutcome::Handled,
                Ok(Err(error)) => error.into_outcome(&inbox, &claimed),
                Err(error) => inbox.failure_outcome(&claimed, format!("handler: {error}")),
            };
            match &outcome {
                HandlingOutcome::Handled => tracing::debug!("handled a webhook event"),
                HandlingOutcome::Retry { error, after } => {
                    tracing::warn!(?after, "webhook handler failed, trying again: {error}");
                }
                HandlingOutcome::Dead { reason } => {
                    tracing::error!("gave up a webhook event: {reason}");
                }
            }
            if let Err(error) = inbox.finish(&claimed, outcome).await {
                tracing::warn!(
                    "cannot record the outcome, the event may be handled again: {error}"
                );
                on_store_error(&error);
            }
        }
        .instrument(span)
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("inbox", &self.inbox)
            .field("name", &self.name)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// The reason why a handler failed, and whether to try again.
///
/// Any error converts into one that is tried again, so `?` works in handlers.
#[derive(Debug)]
pub struct HandlerError {
    message: String,
    disposition: Disposition,
}

#[derive(Debug)]
enum Disposition {
    RetryWithBackoff,
    RetryAfter(Duration),
    GiveUp,
}

impl HandlerError {
    /// Creates an error after which the event is tried again.
    pub fn retry(error: impl fmt::Display) -> Self {
        Self::new(error, Disposition::RetryWithBackoff)
    }

    /// Creates an error after which the event is tried again after the given delay, unless its
    /// attempts are used up.
    pub fn retry_after(delay: Duration, error: impl fmt::Display) -> Self {
        Self::new(error, Disposition::RetryAfter(delay))
    }

    /// Creates an error after which the event is given up at once.
    pub fn permanent(error: impl fmt::Display) -> Self {
        Self::new(error, Disposition::GiveUp)
    }

    fn new(error: impl fmt::Display, disposition: Disposition) -> Self {
        Self { message: error.to_string(), disposition }
    }

    fn into_outcome(self, inbox: &Inbox, claimed: &ClaimedEvent) -> HandlingOutcome {
        match (inbox.failure_outcome(claimed, self.message), self.disposition) {
            (HandlingOutcome::Retry { error, .. }, Disposition::RetryAfter(after)) => {
                HandlingOutcome::Retry { after, error }
            }
            (HandlingOutcome::Retry { error, .. }, Disposition::GiveUp) => {
                HandlingOutcome::Dead { reason: error }
            }
            (outcome, _) => outcome,
        }
    }
}

impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}
