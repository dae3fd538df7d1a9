//! The stream of a store: reading events, and changing them unless another process was faster.

use std::sync::atomic::{AtomicI64, Ordering};

use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, PurgeError, Stream};
use tokio::sync::OnceCell;

use super::connect::{nats_error, publish};
use super::follower::Follower;
use super::record::{
    EventRecord, StateName, StateRecord, headers_and_body, record, record_headers,
};
use crate::clock::{Clock, duration_millis};
use crate::event::StoredEvent;
use crate::store::{ClaimRequest, ClaimedEvent, Lease, StoreError};
use crate::stores::event_table::{State, id, number};

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

/// The outcome of a change that another process may have preceded.
pub(super) enum Change {
    /// It was stored under this sequence number.
    Stored(u64),
    /// Another change came first.
    Conflict,
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
    pub(super) async fn follower(&self) -> Result<&Follower, StoreError> {
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

    /// Stores a change of an event, if no other change has come first.
    pub(super) async fn store_state(
        &self,
        number: u64,
        record: &StateRecord,
        after: u64,
    ) -> Result<Change, StoreError> {
        let message = PublishMessage::build()
            .headers(record_headers(record))
            .expected_last_subject_sequence(after);
        let subject = self.state_subject(number);
        match publish(&self.context, subject, message).await {
            Ok(sequence) => Ok(Change::Stored(sequence)),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                Ok(Change::Conflict)
            }
            Err(error) => Err(nats_error("cannot write", error)),
        }
    }

    /// Returns the last state of an event in the stream.
    pub(super) async fn last_state(
        &self,
        number: u64,
    ) -> Result<Option<(StateRecord, u64)>, StoreError> {
        let subject = self.state_subject(number);
        let message = self.stream.get_last_raw_message_by_subject(&subject).await;
        match message {
            Ok(message) => {
                let state = record(&message.headers);
                Ok(state.map(|state| (state, message.sequence)))
            }
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(nats_error("cannot read the state of an event", error)),
        }
    }

    pub(super) async fn event_message(
        &self,
        number: u64,
    ) -> Result<Option<(EventRecord, bytes::Bytes)>, StoreError> {
        let message = match self.stream.get_raw_message(number).await {
            Ok(message) => message,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Ok(None);
            }
            Err(error) => return Err(nats_error("cannot read an event", error)),
        };
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
    ) -> Result<Option<StoredEvent>, StoreError> {
        let Some((_, payload)) = self.event_message(number).await? else { return Ok(None) };
        let (headers, body) = headers_and_body(&payload);
        let index = follower.index();
        let entry = index.table.get(number);
        Ok(entry.map(|entry| entry.to_stored(number, self.now(), headers, body)))
    }

    /// Returns the sequence number of the last event with a key, if a delivery may replace it: it was
    /// forgotten, or is about to be removed.
    pub(super) async fn replaceable(&self, subject: &str) -> Result<Option<u64>, StoreError> {
        let message = self.stream.get_last_raw_message_by_subject(subject).await;
        let sequence = match message {
            Ok(message) => message.sequence,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Ok(Some(0));
            }
            Err(error) => return Err(nats_error("cannot read an event", error)),
        };
        let state = self.last_state(sequence).await?;
        let is_replaceable =
            state.is_some_and(|(state, _)| state.is_forgotten || state.state == StateName::Purged);
        Ok(is_replaceable.then_some(sequence))
    }

    /// Changes a leased event.
    pub(super) async fn change_leased(
        &self,
        lease: &Lease,
        change: impl Fn(&mut StateRecord),
    ) -> Result<(), StoreError> {
        let mut follower = match self.follower.get() {
            Some(follower) => follower,
            None => self.follower().await?,
        };
        let number = number(lease.id()).ok_or_else(|| StoreError::lease_lost(lease))?;
        for _ in 0..MAX_CONFLICTS {
            let record = {
                let index = follower.index();
                let held = index.table.leased(lease).ok();
                let entry = held.and_then(|number| index.table.get(number));
                entry.map(|entry| (StateRecord::new(entry, entry.state), entry.payload.0))
            };
            let Some((mut record, after)) = record else {
                // The claim may be that of another process.
                follower = self.follower().await?;
                follower.index().table.leased(lease)?;
                continue;
            };
            change(&mut record);
            if let Change::Stored(sequence) = self.store_state(number, &record, after).await? {
                follower.index().apply(number, record, sequence);
                follower.changed.notify_one();
                return Ok(());
            }
            follower = self.follower().await?;
        }
        Err(StoreError::lease_lost(lease))
    }

    /// Claims an event. Returns `None` if another process was faster.
    pub(super) async fn claim_one(
        &self,
        follower: &Follower,
        number: u64,
        request: &ClaimRequest,
    ) -> Result<Option<ClaimedEvent>, StoreError> {
        let until = self.now().saturating_add(duration_millis(request.lease_duration));
        let (mut record, after) = {
            let index = follower.index();
            let Some(entry) = index.table.get(number) else { return Ok(None) };
            let record = StateRecord::new(entry, State::Leased { until });
            (record, entry.payload.0)
        };
        record.attempts = record.attempts.saturating_add(1);
        record.claims = record.claims.saturating_add(1);
        record.worker = Some(request.worker.clone());
        let lease = Lease::new(id(number), record.claims.to_string());
        let Change::Stored(sequence) = self.store_state(number, &record, after).await? else {
            return Ok(None);
        };
        follower.index().apply(number, record, sequence);
        let event = self.stored(follower, number).await?;
        Ok(event.map(|event| ClaimedEvent { event, lease }))
    }

    /// Makes a finished event pending. Returns whether it was finished.
    pub(super) async fn replay_one(
        &self,
        follower: &Follower,
        number: u64,
    ) -> Result<bool, StoreError> {
        let (mut record, after) = {
            let index = follower.index();
            let entry = index.table.get(number);
            let Some(entry) = entry.filter(|entry| entry.finished_at().is_some()) else {
                return Ok(false);
            };
            let due = State::Pending { due_at: self.now() };
            (StateRecord::new(entry, due), entry.payload.0)
        };
        record.attempts = 0;
        match self.store_state(number, &record, after).await? {
            Change::Stored(sequence) => {
                follower.index().apply(number, record, sequence);
                Ok(true)
            }
            // Another process has replayed or purged it.
            Change::Conflict => Ok(false),
        }
    }

    /// Removes a finished event. Returns whether it was removed.
    pub(super) async fn purge_one(
        &self,
        follower: &Follower,
        number: u64,
    ) -> Result<bool, StoreError> {
        let (mut record, after) = {
            let index = follower.index();
            let Some(entry) = index.table.get(number) else { return Ok(false) };
            (StateRecord::new(entry, entry.state), entry.payload.0)
        };
        (record.state, record.at, record.error) = (StateName::Purged, self.now(), None);
        let Change::Stored(sequence) = self.store_state(number, &record, after).await? else {
            return Ok(false);
        };
        follower.index().apply(number, record, sequence);
        let deleted = self.stream.delete_message(number).await;
        deleted.map_err(|error| nats_error("cannot remove an event", error))?;
        Ok(true)
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
    ) -> Result<(), StoreError> {
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
