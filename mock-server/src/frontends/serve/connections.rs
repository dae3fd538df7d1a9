//! The open connections of a listener, of which the oldest idle one is closed if there are too many.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::runtime_now;

/// The connections of a listener.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<ConnectionTable>,
    /// Notifies of a connection that ended or became idle.
    changed: Notify,
}

#[derive(Default)]
struct ConnectionTable {
    last_id: u64,
    open: BTreeMap<u64, Arc<Activity>>,
}

/// What an open connection does.
pub(super) struct Activity {
    /// The number of requests whose responses are not sent yet.
    requests: AtomicUsize,
    opened_at: Instant,
    /// When the connection became idle, in microseconds after it was opened.
    idle_since: AtomicU64,
    close: Notify,
}

/// A connection, which is open until this is dropped.
pub(super) struct Connection {
    id: u64,
    activity: Arc<Activity>,
    connections: Connections,
}

/// A request that is handled, and whose response is sent, until this is dropped.
pub(super) struct ActiveRequest {
    activity: Arc<Activity>,
    connections: Connections,
}

impl Connections {
    /// Adds a connection. If there are more than `limit`, the longest idle one is closed; if none is
    /// idle, this waits until one is, or ends. Returns whether one was closed.
    pub(super) async fn open(&self, limit: usize) -> (Connection, bool) {
        let mut has_closed = false;
        loop {
            let changed = self.0.changed.notified();
            {
                let mut state = self.lock();
                let is_full = state.open.len() >= limit;
                let closed = if is_full { state.close_longest_idle() } else { false };
                has_closed |= closed;
                if !is_full || closed {
                    return (self.add(&mut state), has_closed);
                }
            }
            changed.await;
        }
    }

    fn add(&self, state: &mut ConnectionTable) -> Connection {
        state.last_id += 1;
        let (id, activity) = (state.last_id, Arc::new(Activity::new()));
        state.open.insert(id, Arc::clone(&activity));
        Connection { id, activity, connections: self.clone() }
    }

    pub(super) async fn ended(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.lock().open.is_empty() {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTable {
    /// Asks the longest idle connection to close. It no longer counts.
    fn close_longest_idle(&mut self) -> bool {
        let idle = self.open.iter().filter(|(_, activity)| !activity.is_in_request());
        let longest = idle.min_by_key(|(_, activity)| activity.idle_since());
        let Some(id) = longest.map(|(id, _)| *id) else { return false };
        if let Some(activity) = self.open.remove(&id) {
            activity.close.notify_one();
        }
        true
    }
}

impl Activity {
    fn new() -> Self {
        let (requests, idle_since) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { requests, opened_at: runtime_now(), idle_since, close: Notify::new() }
    }

    /// Returns when the connection became idle, or was opened.
    pub(super) fn idle_since(&self) -> Instant {
        self.opened_at + Duration::from_micros(self.idle_since.load(Ordering::Relaxed))
    }

    fn set_idle(&self) {
        let since = runtime_now().saturating_duration_since(self.opened_at).as_micros();
        self.idle_since.store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn is_in_request(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 0
    }
}

impl Connection {
    /// Waits until the connection is to be closed, because there are too many.
    pub(super) async fn closed(&self) {
        self.activity.close.notified().await;
    }

    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    pub(super) fn start_request(&self) -> ActiveRequest {
        self.activity.requests.fetch_add(1, Ordering::Release);
        ActiveRequest { activity: self.activity(), connections: self.connections.clone() }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.id);
        self.connections.0.changed.notify_one();
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.activity.set_idle();
        if self.activity.requests.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.connections.0.changed.notify_one();
        }
    }
}
