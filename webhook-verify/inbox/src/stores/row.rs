//! What the stores on databases have in common: the words for states, and numbers as ids.

use std::fmt::Display;
use std::time::Duration;

use crate::event::{EventId, EventState, StoredEvent};
use crate::store::{ClaimedEvent, EventStoreError, HandlingOutcome, Lease, ListQuery, StoreStats};

/// Returns the state of an event, given the word that is stored and whether a lease of it still holds.
pub(super) fn state(word: &str, is_leased: bool) -> EventState {
    match word {
        "leased" if is_leased => EventState::InProgress,
        "handled" => EventState::Handled,
        "dead" => EventState::Dead,
        _ => EventState::Pending,
    }
}

/// Returns what is stored of an outcome: the word for the state, the time until the event may be claimed
/// again, and the error.
pub(super) fn finished(
    outcome: HandlingOutcome,
) -> (&'static str, Option<Duration>, Option<String>) {
    match outcome {
        HandlingOutcome::Handled => ("handled", None, None),
        HandlingOutcome::Retry { after, error } => ("pending", Some(after), Some(error)),
        HandlingOutcome::Dead { reason } => ("dead", None, Some(reason)),
    }
}

/// Returns a claimed event, whose lease is identified by the number of its claims.
pub(super) fn claimed(event: StoredEvent, claims: impl Display) -> ClaimedEvent {
    let lease = Lease::new(event.id.clone(), claims.to_string());
    ClaimedEvent { event, lease }
}

/// Returns the numbers of pending, leased, handled and dead events, and the age of the oldest unfinished one.
pub(super) fn stats(counts: [i64; 4], oldest_age_millis: Option<i64>) -> StoreStats {
    let [pending, in_progress, handled, dead] = counts.map(i64::unsigned_abs);
    let age = oldest_age_millis.map(|millis| u64::try_from(millis).unwrap_or_default());
    let oldest_unfinished_age = age.map(Duration::from_millis);
    StoreStats { pending, in_progress, handled, dead, oldest_unfinished_age }
}

/// Returns an error unless a lease was still held.
pub(super) fn check_held(is_held: bool, lease: &Lease) -> Result<(), EventStoreError> {
    if is_held { Ok(()) } else { Err(EventStoreError::lease_lost(lease)) }
}

pub(super) fn event_id(number: i64) -> EventId {
    EventId::new(number.to_string())
}

pub(super) fn number(id: &EventId) -> Option<i64> {
    id.as_str().parse().ok()
}

/// Returns the numbers of the event and of the claim that a lease is of.
pub(super) fn lease_numbers(lease: &Lease) -> Result<(i64, i64), EventStoreError> {
    match (number(lease.id()), lease.token().parse()) {
        (Some(id), Ok(claim)) => Ok((id, claim)),
        _ => Err(EventStoreError::lease_lost(lease)),
    }
}

/// Returns the number that the events of a list are below, and their maximum count.
pub(super) fn list_bounds(query: &ListQuery) -> (i64, i64) {
    let before = query.before.as_ref().map_or(i64::MAX, |id| number(id).unwrap_or_default());
    (before, count(query.limit))
}

pub(super) fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Sorts events, oldest first: the clause `RETURNING` does not keep an order.
pub(super) fn sort(claimed: &mut [ClaimedEvent]) {
    claimed.sort_by_key(|claimed| number(&claimed.event.id));
}
