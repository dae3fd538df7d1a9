//! A copy of what is needed to find events, which follows the stream.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::push::OrderedConfig;
use async_nats::jetstream::consumer::{DeliverPolicy, ReplayPolicy};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::connect::{TIMEOUT, nats_error};
use super::record::{EventRecord, ProgressSequence, record};
use crate::store::EventStoreError;
use crate::stores::event_table::{EventTable, Progress, State};

/// The pause before the stream is followed again after a failure.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// The time after which a follower that has nothing to read is taken to be up to date, although
/// the last message of the stream was removed before it was read.
const MAX_IDLE_LAG: Duration = Duration::from_millis(500);

/// Reads the records of a stream, from its start and as they are written.
#[derive(Debug)]
pub(super) struct Follower {
    index: Arc<Mutex<Index>>,
    position: watch::Receiver<Position>,
    pub(super) changed: Arc<Notify>,
    task: AbortHandle,
}

/// The events of the stream, without headers and bodies.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) table: EventTable<ProgressSequence>,
    /// The events that were purged, and when. Their state messages are removed later, so that
    /// other followers learn of the removal.
    pub(super) purged: Vec<(u64, i64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// The sequence number of the last message that was read.
    sequence: u64,
    /// Whether nothing is left to read.
    is_idle: bool,
}

impl Follower {
    /// Starts to follow a stream.
    pub(super) fn start(client: Client, stream: Stream, name: String) -> Self {
        let index = Arc::default();
        let changed = Arc::default();
        let (sender, position) = watch::channel(Position::default());
        let (to_index, to_changed) = (Arc::clone(&index), Arc::clone(&changed));
        let following = tokio::spawn(async move {
            loop {
                let from = sender.borrow().sequence + 1;
                let subject = client.new_inbox();
                let apply = |message: &Message| apply(&to_index, &name, message);
                let followed = follow(&stream, subject, from, &sender, &to_changed, apply).await;
                if let Err(error) = followed {
                    tracing::warn!("cannot follow the webhook events: {error}");
                }
                sleep(PAUSE_AFTER_FAILURE).await;
            }
        });
        Self { index, position, changed, task: following.abort_handle() }
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        // A change is applied as a whole or, if it panics, again when the stream is read again.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all messages up to this one were read.
    pub(super) async fn catch_up(&self, last: u64) -> Result<(), EventStoreError> {
        let mut position = self.position.clone();
        let mut idle = self.position.clone();
        let caught_up = async {
            tokio::select! {
                result = position.wait_for(|position| position.sequence >= last) => result.is_ok(),
                result = async {
                    sleep(MAX_IDLE_LAG).await;
                    idle.wait_for(|position| position.is_idle).await.is_ok()
                } => result,
            }
        };
        match timeout(TIMEOUT * 6, caught_up).await {
            Ok(true) => Ok(()),
            _ => Err(nats_error("cannot read the stream", "no response in time")),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(
    stream: &Stream,
    deliver_subject: String,
    from: u64,
    position: &watch::Sender<Position>,
    changed: &Notify,
    apply: impl Fn(&Message),
) -> Result<(), async_nats::Error> {
    let consumer = stream
        .create_consumer(OrderedConfig {
            deliver_subject,
            headers_only: true,
            replay_policy: ReplayPolicy::Instant,
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: from },
            ..OrderedConfig::default()
        })
        .await?;
    let is_idle = consumer.cached_info().num_pending == 0;
    position.send_modify(|position| position.is_idle = is_idle);
    let mut messages = consumer.messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        apply(&message);
        let info = message.info()?;
        position
            .send_replace(Position { sequence: info.stream_sequence, is_idle: info.pending == 0 });
        changed.notify_one();
    }
    Ok(())
}

fn apply(index: &Mutex<Index>, name: &str, message: &Message) {
    let (Some(headers), Ok(info)) = (&message.headers, message.info()) else { return };
    let subject = message.subject.strip_prefix(name).unwrap_or_default();
    let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
    if subject.starts_with(".event.") {
        if let Some(event) = record::<EventRecord>(headers) {
            index.insert(info.stream_sequence, event);
        }
    } else if let Some(id) = subject.strip_prefix(".state.").and_then(|id| id.parse().ok())
        && let Some(progress) = record(headers)
    {
        index.apply(id, progress, info.stream_sequence);
    }
}

impl Index {
    pub(super) fn insert(&mut self, number: u64, event: EventRecord) {
        if self.table.get(number).is_some() {
            return;
        }
        if let Some(replaced) = event.replaces {
            self.table.remove(replaced);
        }
        self.table.insert(number, event.into_entry());
    }

    /// Changes an event, unless a later change is known.
    pub(super) fn apply(&mut self, number: u64, progress: Progress, sequence: ProgressSequence) {
        if progress.state == State::Purged {
            self.table.remove(number);
            self.purged.push((number, progress.at));
            return;
        }
        let is_newer = self.table.get(number).is_some_and(|entry| entry.payload < sequence);
        if is_newer {
            if progress.is_forgotten {
                self.table.forget(number);
            }
            self.table.update(number, |entry| {
                (entry.progress, entry.payload) = (progress, sequence);
            });
        }
    }
}
