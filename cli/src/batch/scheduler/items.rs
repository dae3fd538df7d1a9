//! The items, and the queues in which they wait.

use std::cmp::Reverse;
use std::time::Duration;

use svc_sdk::types::Usd;

use super::Scheduler;
use super::event::{Account, Action, DropReason, Index};
use super::window::backoff;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is finished, or not part of this run.
    #[default]
    Idle,
    Ready,
    /// It will be ready, or followed, at its time.
    Delayed,
    FollowDelayed,
    /// It does not fit into the budget for now.
    Unfunded,
    Pricing,
    Submitting,
    /// An earlier run has submitted it, and it is not followed yet.
    Submitted,
    Following,
}

/// Which items come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// Requests that may have been carried out, because their keys expire.
    Resend,
    #[default]
    New,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    pub(super) phase: Phase,
    pub(super) priority: Priority,
    pub(super) is_developer: bool,
    pub(super) attempts: u16,
    pub(super) price: Option<Usd>,
    /// What is reserved or charged.
    pub(super) reserved_or_charged: Option<Usd>,
}

impl Scheduler {
    pub(super) fn item(&mut self, index: Index) -> Option<&mut Item> {
        self.items.get_mut(usize::try_from(index).ok()?)
    }

    pub(super) fn set_account(&mut self, index: Index, account: Account) {
        if let Some(item) = self.item(index) {
            item.is_developer = account == Account::Developer;
        }
    }

    pub(super) fn set_ready(&mut self, index: Index) {
        if let Some(item) = self.item(index) {
            item.phase = Phase::Ready;
            let priority = item.priority;
            self.ready.insert((priority, index));
        }
    }

    pub(super) fn set_phase(&mut self, index: Index, phase: Phase) {
        if let Some(item) = self.item(index) {
            item.phase = phase;
        }
    }

    /// Sets the first ready item aside until a refund makes room for it.
    pub(super) fn set_unfunded(&mut self, priority: Priority, index: Index) {
        self.ready.pop_first();
        self.set_phase(index, Phase::Unfunded);
        self.unfunded.insert((priority, index));
    }

    pub(super) fn reserve_for(&mut self, index: Index, amount: Usd) {
        if let Some(item) = self.item(index) {
            item.reserved_or_charged = Some(amount);
        }
    }

    pub(super) fn delay(&mut self, index: Index, until: Duration) {
        self.set_phase(index, Phase::Delayed);
        self.delayed.push(Reverse((until, index)));
    }

    /// Counts a failed attempt, and returns the delay before the next.
    pub(super) fn next_delay(&mut self, index: Index, jitter: f64) -> Duration {
        let Some(item) = self.item(index) else {
            return Duration::ZERO;
        };
        item.attempts = item.attempts.saturating_add(1);
        backoff(item.attempts.into(), jitter)
    }

    pub(super) fn drop_item(&mut self, index: Index, reason: DropReason) {
        self.set_phase(index, Phase::Idle);
        self.actions.push_back(Action::Drop(index, reason));
    }
}
