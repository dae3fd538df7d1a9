//! Waking of idle workers when events arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connect::Connector;
use crate::clock::Clock;

/// The statement that wakes the workers of all processes.
pub(super) const NOTIFY: &str = "NOTIFY svc_webhook_inbox";
const CHANNEL: &str = "svc_webhook_inbox";

/// The time within which one process sends one notification. A busy worker needs none, and
/// transactions that notify are committed one after the other.
const MIN_INTERVAL_MILLIS: i64 = 100;

/// Sends and receives notifications.
pub(super) struct WakeUp {
    connector: Connector,
    notified: Arc<Notify>,
    last_sent: AtomicI64,
    clock: Clock,
    /// The task that listens, once a worker has waited.
    listener: Mutex<JoinSet<()>>,
}

impl WakeUp {
    pub(super) fn new(connector: Connector) -> Self {
        Self {
            connector,
            notified: Arc::default(),
            last_sent: AtomicI64::new(0),
            clock: Clock::system(),
            listener: Mutex::default(),
        }
    }

    /// Returns whether a notification is to be sent now.
    pub(super) fn is_due(&self) -> bool {
        let now = self.clock.millis();
        let last = self.last_sent.load(Ordering::Relaxed);
        (now - last).abs() >= MIN_INTERVAL_MILLIS
            && self
                .last_sent
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Waits for a notification, or until the timeout has passed.
    pub(super) async fn wait(&self, at_most: Duration) {
        let mut listener = self.listener.lock().await;
        let has_ended = listener.try_join_next().is_some();
        if listener.is_empty() && !has_ended {
            let (connector, notified) = (self.connector.clone(), Arc::clone(&self.notified));
            listener.spawn(async move {
                if let Err(error) = connector.listen(CHANNEL, || notified.notify_waiters()).await {
                    tracing::debug!("cannot listen for notifications: {error}");
                }
            });
        }
        drop(listener);
        let _ = timeout(at_most, self.notified.notified()).await;
    }
}
