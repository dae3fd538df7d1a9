//! The open connections of a listener, of which the oldest idle one is closed if there are too many.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

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
    open: BTreeMap<u64, Activity>,
    /// The idle connections, the longest idle first.
    idle: BTreeMap<u64, u64>,
    last_idle: u64,
}

struct Activity {
    /// The number of requests whose responses are not sent yet.
    requests: usize,
    /// The key in `idle`, if the connection is idle.
    idle: Option<u64>,
    close: Arc<Notify>,
}

/// A connection, which is open until this is dropped.
pub(super) struct Connection {
    id: u64,
    close: Arc<Notify>,
    in_request: Arc<AtomicBool>,
    connections: Connections,
}

/// A request that is handled, and whose response is sent, until this is dropped.
pub(super) struct ActiveRequest {
    id: u64,
    in_request: Arc<AtomicBool>,
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
        let (id, close) = (state.last_id, Arc::new(Notify::new()));
        state.open.insert(id, Activity { requests: 0, idle: None, close: Arc::clone(&close) });
        state.set_idle(id);
        Connection { id, close, in_request: Arc::default(), connections: self.clone() }
    }

    /// Waits until all connections have ended.
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
    fn set_idle(&mut self, id: u64) {
        self.last_idle += 1;
        let key = self.last_idle;
        if let Some(activity) = self.open.get_mut(&id) {
            activity.idle = Some(key);
            self.idle.insert(key, id);
        }
    }

    fn set_busy(&mut self, id: u64) {
        if let Some(key) = self.open.get_mut(&id).and_then(|activity| activity.idle.take()) {
            self.idle.remove(&key);
        }
    }

    /// Asks the longest idle connection to close. It no longer counts.
    fn close_longest_idle(&mut self) -> bool {
        let Some((_, id)) = self.idle.pop_first() else { return false };
        if let Some(activity) = self.open.remove(&id) {
            activity.close.notify_one();
        }
        true
    }
}

impl Connection {
    /// Waits until the connection is to be closed, because there are too many.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    /// Returns whether a request is handled, now and later.
    pub(super) fn in_request(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.in_request)
    }

    /// Records that a request is handled.
    pub(super) fn start_request(&self) -> ActiveRequest {
        let mut state = self.connections.lock();
        state.set_busy(self.id);
        if let Some(activity) = state.open.get_mut(&self.id) {
            activity.requests += 1;
        }
        self.in_request.store(true, Ordering::Release);
        let in_request = self.in_request();
        ActiveRequest { id: self.id, in_request, connections: self.connections.clone() }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.connections.lock();
        state.set_busy(self.id);
        state.open.remove(&self.id);
        drop(state);
        self.connections.0.changed.notify_one();
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.connections.lock();
        let left = state.open.get_mut(&self.id).map(|activity| {
            activity.requests = activity.requests.saturating_sub(1);
            activity.requests
        });
        if left.is_none_or(|left| left == 0) {
            self.in_request.store(false, Ordering::Release);
        }
        if left == Some(0) {
            state.set_idle(self.id);
            drop(state);
            self.connections.0.changed.notify_one();
        }
    }
}
