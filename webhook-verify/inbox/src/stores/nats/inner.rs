//! The stream of a store: reading events, and changing them unless another process was faster.

use std::sync::atomic::{AtomicI64, Ordering};

use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    LastRawMessageError, LastRawMessageErrorKind, PurgeError, Stream,
};
use tokio::sync::OnceCell;

use super::connect::{nats_error, publish};
use super::follower::Follower;
use super::record::{EventRecord, ProgressSequence, headers_and_body, record, record_headers};
use crate::clock::{Clock, duration_millis};
use crate::event::StoredEvent;
use crate::store::{ClaimRequest, ClaimedEvent, EventStoreError, Lease};
use crate::stores::event_table::{Entry, Progress, State, id, number};

/// The number of times that a change is tried again because another process was faster.
pub(super) const MAX_CONFLICTS: u32 = 8;
/// The time after which the message that says that an event was purged is removed.
const PURGED_FOR_MILLIS: i64 = 60 * 60 * 1000;

/// The stream of a store, and what this process knows of it.
pub(super) struct Inner {
    pub(super) client: Client,
    pub(super) context: Context,
    pub(super) stream: Stream,
    pub(super) name: String,
    pub(super) follower: OnceCell<Follower>,
    /// By how many milliseconds the clock of the server is ahead of the one of this machine.
    pub(super) clock_offset: AtomicI64,
    pub(super) clock: Option<Clock>,
}

impl Inner {
    pub(super) fn now(&self) -> i64 {
        match &self.clock {
            Some(clock) => clock.millis(),
            None => Clock::system().millis() + self.clock_offset.load(Ordering::Relaxed),
        }
    }

    pub(super) fn state_subject(&self, number: u64) -> String {
        format!("{}.state.{number}", self.name)
    }

    /// Returns the follower, once it has read all that was written before this call.
    pub(super) async fn follower(&self) -> Result<&Follower, EventStoreError> {
        let start = async || {
            let (client, stream) = (self.client.clone(), self.stream.clone());
            Follower::start(client, stream, self.name.clone())
        };
        let follower = self.follower.get_or_init(start).await;
        let info = self.stream.get_info().await;
        let info = info.map_err(|error| nats_error("cannot read the stream", error))?;
        follower.catch_up(info.state.last_sequence).await?;
        Ok(follower)
    }

    /// Stores a change of an event of the index. Returns `false` if there is nothing to change, or if
    /// another process was faster.
    pub(super) async fn change(
        &self,
        follower: &Follower,
        number: u64,
        change: impl FnOnce(&Entry<ProgressSequence>) -> Option<Progress>,
    ) -> Result<bool, EventStoreError> {
        let changed = {
            let index = follower.index();
            let entry = index.table.get(number);
            entry.and_then(|entry| Some((change(entry)?, entry.payload)))
        };
        let Some((progress, after)) = changed else { return Ok(false) };
        let message = PublishMessage::build()
            .headers(record_headers(&progress))
            .expected_last_subject_sequence(after);
        match publish(&self.context, self.state_subject(number), message).await {
            Ok(sequence) => {
                follower.index().apply(number, progress, sequence);
                Ok(true)
            }
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(false),
            Err(error) => Err(nats_error("cannot write", error)),
        }
    }

    /// Returns what has become of an event, according to the stream.
    pub(super) async fn progress(&self, number: u64) -> Result<Option<Progress>, EventStoreError> {
        let subject = self.state_subject(number);
        let message = self.stream.get_last_raw_message_by_subject(&subject).await;
        let message = found(message, "cannot read the state of an event")?;
        Ok(message.and_then(|message| record(&message.headers)))
    }

    /// Returns what is known of an event from the start, and its headers and body.
    pub(super) async fn event_message(
        &self,
        number: u64,
    ) -> Result<Option<(EventRecord, bytes::Bytes)>, EventStoreError> {
        let message = self.stream.get_raw_message(number).await;
        let Some(message) = found(message, "cannot read an event")? else { return Ok(None) };
        let prefix = format!("{}.event.", self.name);
        if !message.subject.starts_with(&prefix) {
            return Ok(None);
        }
        Ok(record(&message.headers).map(|record| (record, message.payload)))
    }

    /// Returns an event of the index with its headers and body.
    pub(super) async fn stored(
        &self,
        follower: &Follower,
        number: u64,
    ) -> Result<Option<StoredEvent>, EventStoreError> {
        let Some((_, payload)) = self.event_message(number).await? else { return Ok(None) };
        let (headers, body) = headers_and_body(&payload);
        let index = follower.index();
        let entry = index.table.get(number);
        Ok(entry.map(|entry| entry.to_stored(number, self.now(), headers, body)))
    }

    /// Returns the sequence number of the last event with a key, if a delivery may replace it: it was
    /// forgotten, or is about to be removed.
    pub(super) async fn replaceable(&self, subject: &str) -> Result<Option<u64>, EventStoreError> {
        let message = self.stream.get_last_raw_message_by_subject(subject).await;
        let Some(message) = found(message, "cannot read an event")? else { return Ok(Some(0)) };
        let sequence = message.sequence;
        let progress = self.progress(sequence).await?;
        let is_replaceable =
            progress.is_some_and(|it| it.is_forgotten || it.state == State::Purged);
        Ok(is_replaceable.then_some(sequence))
    }

    /// Changes a leased event.
    pub(super) async fn change_leased(
        &self,
        lease: &Lease,
        change: impl Fn(&mut Progress),
    ) -> Result<(), EventStoreError> {
        let mut follower = match self.follower.get() {
            Some(follower) => follower,
            None => self.follower().await?,
        };
        let number = number(lease.id()).ok_or_else(|| EventStoreError::lease_lost(lease))?;
        for _ in 0..MAX_CONFLICTS {
            let changed = |entry: &Entry<ProgressSequence>| {
                let mut progress = entry.progress.clone();
                change(&mut progress);
                entry.is_leased_by(lease).then_some(progress)
            };
            if self.change(follower, number, changed).await? {
                follower.changed.notify_one();
                return Ok(());
            }
            // The claim may be that of another process.
            follower = self.follower().await?;
            follower.index().table.leased(lease)?;
        }
        Err(EventStoreError::lease_lost(lease))
    }

    /// Claims an event. Returns `None` if another process was faster.
    pub(super) async fn claim_one(
        &self,
        follower: &Follower,
        number: u64,
        request: &ClaimRequest,
    ) -> Result<Option<ClaimedEvent>, EventStoreError> {
        let until = self.now().saturating_add(duration_millis(request.lease_duration));
        let mut claims = 0;
        let claim = |entry: &Entry<ProgressSequence>| {
            let mut progress = entry.progress.clone();
            progress.claim(&request.worker, until);
            claims = progress.claims;
            Some(progress)
        };
        if !self.change(follower, number, claim).await? {
            return Ok(None);
        }
        let lease = Lease::new(id(number), claims.to_string());
        let event = self.stored(follower, number).await?;
        Ok(event.map(|event| ClaimedEvent { event, lease }))
    }

    /// Makes a finished event pending. Returns whether it was finished.
    pub(super) async fn replay_one(
        &self,
        follower: &Follower,
        number: u64,
    ) -> Result<bool, EventStoreError> {
        let now = self.now();
        let replay = |entry: &Entry<ProgressSequence>| {
            let mut progress = entry.progress.clone();
            progress.replay(now);
            entry.finished_at().map(|_| progress)
        };
        self.change(follower, number, replay).await
    }

    /// Removes a finished event. Returns whether it was removed.
    pub(super) async fn purge_one(
        &self,
        follower: &Follower,
        number: u64,
    ) -> Result<bool, EventStoreError> {
        let purge = |entry: &Entry<ProgressSequence>| {
            let (state, at) = (State::Purged, self.now());
            Some(Progress { state, at, error: None, ..entry.progress.clone() })
        };
        let is_purged = self.change(follower, number, purge).await?;
        if is_purged {
            let deleted = self.stream.delete_message(number).await;
            deleted.map_err(|error| nats_error("cannot remove an event", error))?;
        }
        Ok(is_purged)
    }

    /// Removes the message about the state of an event.
    pub(super) async fn purge_state(&self, number: u64) -> Result<(), PurgeError> {
        let purge = self.stream.purge().filter(self.state_subject(number));
        purge.await.map(drop)
    }

    /// Removes the messages that say that an event was purged, once all followers have read them.
    pub(super) async fn remove_purge_messages(
        &self,
        follower: &Follower,
    ) -> Result<(), EventStoreError> {
        let oldest = self.now().saturating_sub(PURGED_FOR_MILLIS);
        let old: Vec<u64> = {
            let mut index = follower.index();
            let (old, recent) = index.purged.iter().partition(|(_, at)| *at < oldest);
            let old: Vec<(u64, i64)> = old;
            index.purged = recent;
            old.into_iter().map(|(number, _)| number).collect()
        };
        for number in old {
            // A process that was killed in between has left the event.
            let _ = self.stream.delete_message(number).await;
            let purged = self.purge_state(number).await;
            purged.map_err(|error| nats_error("cannot remove an event", error))?;
        }
        Ok(())
    }
}

/// Returns what was read, or `None` if it does not exist.
fn found<T>(
    read: Result<T, LastRawMessageError>,
    what: &str,
) -> Result<Option<T>, EventStoreError> {
    match read {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(nats_error(what, error)),
    }
}
