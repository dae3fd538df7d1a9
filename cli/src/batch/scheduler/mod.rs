//! Decisions of a batch: which item to price, submit and follow, and when.
//!
//! The scheduler does no I/O and has no clock. It takes in events with the time at which they happened,
//! and returns actions. An item is submitted again only after an event has said that it may be.

mod budget;
mod event;
mod items;
mod responses;
mod window;
mod write_quota;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::time::Duration;

use svc_sdk::types::Usd;

use self::budget::Budget;
pub(super) use self::event::{Account, Action, Backpressure, DropReason, Event, Index, Limits};
use self::items::{Item, Phase, Priority};
use self::window::{AdaptiveWindow, Pause};
pub(super) use self::write_quota::WriteLimit;
use self::write_quota::WriteQuota;

/// The maximum number of requests under way that submit or estimate.
const MAX_REQUESTS: usize = 16;
/// The number of jobs of an earlier run that are followed at once, whatever the concurrency is: a
/// lower one may begin with jobs that take long, and those behind them would not be reported.
const MIN_FOLLOWED: usize = 500;
/// The pause before a submit is tried again while the workspace is at its limit of jobs, unless one
/// of the batch ends before.
const CAPACITY_DELAY: Duration = Duration::from_secs(2);
const MAX_CAPACITY_DELAY: Duration = Duration::from_secs(30);

/// The scheduler of a batch.
#[derive(Debug)]
pub(super) struct Scheduler {
    items: Vec<Item>,
    /// The items that can be started, in the order of the manifest. Those that are sent again come
    /// first.
    ready: BTreeSet<(Priority, Index)>,
    unfunded: BTreeSet<(Priority, Index)>,
    /// The items that an earlier run submitted, and that are not followed yet.
    submitted: VecDeque<Index>,
    delayed: BinaryHeap<Reverse<(Duration, Index)>>,
    actions: VecDeque<Action>,
    jobs: AdaptiveWindow,
    requests: AdaptiveWindow,
    pause: Pause,
    capacity_until: Duration,
    capacity_delay: Duration,
    open_writes: WriteQuota,
    developer_writes: WriteQuota,
    writes_until: Option<Duration>,
    budget: Budget,
    limits: Limits,
    /// The number of items that are priced or submitted.
    starting: usize,
    /// The number of jobs in flight.
    following: usize,
    stop: Option<DropReason>,
}

impl Scheduler {
    /// Creates a scheduler for `len` items, none of which is part of this run yet.
    pub(super) fn new(len: usize, limits: Limits) -> Self {
        Self {
            items: vec![Item::default(); len],
            ready: BTreeSet::new(),
            unfunded: BTreeSet::new(),
            submitted: VecDeque::new(),
            delayed: BinaryHeap::new(),
            actions: VecDeque::new(),
            jobs: AdaptiveWindow::new(limits.concurrency),
            requests: AdaptiveWindow::new(MAX_REQUESTS),
            pause: Pause::default(),
            capacity_until: Duration::ZERO,
            capacity_delay: CAPACITY_DELAY,
            open_writes: WriteQuota::default(),
            developer_writes: WriteQuota::default(),
            writes_until: None,
            budget: Budget::new(limits.max_spend, limits.committed),
            limits,
            starting: 0,
            following: 0,
            stop: None,
        }
    }

    /// Starts with the write quota of a key that an earlier run knew.
    pub(super) fn resume_quota(&mut self, account: Account, known: WriteLimit) {
        self.writes(account == Account::Developer).resume(known);
    }

    /// Adds an item that is to be submitted.
    pub(super) fn add(&mut self, index: Index, account: Account) {
        self.set_account(index, account);
        self.set_ready(index);
    }

    /// Adds an item that an earlier run may have submitted, and that is to be sent again with the
    /// same key. `reserved_or_charged` is what is reserved for it.
    pub(super) fn add_resend(
        &mut self,
        index: Index,
        account: Account,
        reserved_or_charged: Option<Usd>,
    ) {
        self.set_account(index, account);
        if let Some(item) = self.item(index) {
            item.priority = Priority::Resend;
            item.reserved_or_charged = reserved_or_charged;
            item.price = reserved_or_charged;
        }
        self.set_ready(index);
    }

    /// Adds an item that an earlier run has submitted. `reserved_or_charged` is what it costs.
    pub(super) fn add_submitted(
        &mut self,
        index: Index,
        account: Account,
        reserved_or_charged: Option<Usd>,
    ) {
        self.set_account(index, account);
        if let Some(item) = self.item(index) {
            item.reserved_or_charged = reserved_or_charged;
        }
        self.set_phase(index, Phase::Submitted);
        self.submitted.push_back(index);
    }

    /// Gives up all items that are not submitted. Those in flight are followed to their end.
    pub(super) fn stop(&mut self, reason: DropReason) {
        self.stop.get_or_insert(reason);
    }

    /// Returns whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.starting == 0
            && self.following == 0
            && self.submitted.is_empty()
            && self.ready.is_empty()
            && self.delayed.is_empty()
            && self.unfunded.is_empty()
            && self.actions.is_empty()
    }

    /// Returns the price of an item, if it is known.
    pub(super) fn price(&self, index: Index) -> Option<Usd> {
        self.items.get(usize::try_from(index).ok()?)?.price
    }

    /// Returns the number of jobs in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.following + self.submitted.len()
    }

    /// Returns whether submits are paused because the service pushes back.
    pub(super) fn is_slowed(&self, now: Duration) -> bool {
        now < self.pause.until().max(self.capacity_until)
    }

    /// Returns what to do now.
    pub(super) fn next(&mut self, now: Duration) -> Vec<Action> {
        if self.limits.deadline.is_some_and(|deadline| now >= deadline) {
            self.time_out();
        }
        self.wake(now);
        self.follow_submitted();
        match self.stop {
            Some(reason) => self.drop_waiting(reason),
            None => self.start(now),
        }
        self.actions.drain(..).collect()
    }

    /// Returns when [`next`](Self::next) has something to do, if no event happens before.
    pub(super) fn wake_at(&self, now: Duration) -> Option<Duration> {
        let delayed = self.delayed.peek().map(|Reverse((at, _))| *at);
        let is_waiting = !self.ready.is_empty() && self.stop.is_none();
        let resumed = [
            self.pause.until(),
            self.capacity_until,
            self.writes_until.unwrap_or_default(),
        ];
        let resumed = resumed.into_iter().filter(|at| *at > now && is_waiting);
        let deadline = self.limits.deadline.filter(|_| !self.is_timed_out());
        delayed.into_iter().chain(resumed).chain(deadline).min()
    }

    fn time_out(&mut self) {
        if self.is_timed_out() {
            return;
        }
        self.stop = Some(DropReason::TimedOut);
        for index in std::mem::take(&mut self.submitted) {
            self.drop_item(index, DropReason::TimedOut);
        }
        let items = self.items.iter().zip(0..);
        let in_flight: Vec<Index> = items
            .filter(|(item, _)| matches!(item.phase, Phase::Following | Phase::FollowDelayed))
            .map(|(_, index)| index)
            .collect();
        for index in in_flight {
            self.drop_in_flight(index);
        }
    }

    fn is_timed_out(&self) -> bool {
        self.stop == Some(DropReason::TimedOut)
    }

    fn drop_in_flight(&mut self, index: Index) {
        self.following -= 1;
        self.drop_item(index, DropReason::TimedOut);
    }

    /// Follows the items of an earlier run, not all at once: each takes memory until its end.
    fn follow_submitted(&mut self) {
        let max = self.limits.concurrency.max(MIN_FOLLOWED);
        while self.following < max
            && let Some(index) = self.submitted.pop_front()
        {
            self.follow(index);
        }
    }

    /// Makes the items ready whose time has come.
    fn wake(&mut self, now: Duration) {
        while let Some(Reverse((at, index))) = self.delayed.peek().copied() {
            if at > now {
                return;
            }
            self.delayed.pop();
            match self.item(index).map(|item| item.phase) {
                Some(Phase::Delayed) => {
                    self.set_ready(index);
                }
                Some(Phase::FollowDelayed) => {
                    self.set_phase(index, Phase::Following);
                    self.actions.push_back(Action::Follow(index));
                }
                // It was given up in the meantime.
                _ => {}
            }
        }
    }

    /// Starts as many items as the limits allow.
    fn start(&mut self, now: Duration) {
        self.writes_until = None;
        while !self.is_slowed(now)
            && self.starting < self.requests.size()
            && self.starting + self.following < self.jobs.size()
        {
            let Some((priority, index)) = self.ready.first().copied() else {
                break;
            };
            let Some(item) = self.item(index).cloned() else {
                self.ready.pop_first();
                continue;
            };
            let needs_price = self.budget.is_limited() && item.price.is_none();
            if needs_price && self.budget.is_exhausted() {
                self.set_unfunded(priority, index);
                continue;
            }
            if let Err(until) = self.writes(item.is_developer).acquire(now) {
                self.writes_until = until;
                break;
            }
            let reserved = item.price.unwrap_or(Usd::ZERO);
            if needs_price {
                self.set_phase(index, Phase::Pricing);
                self.actions.push_back(Action::Price(index));
            } else if item.reserved_or_charged.is_some() || self.budget.reserve(reserved) {
                self.set_phase(index, Phase::Submitting);
                self.reserve_for(index, item.reserved_or_charged.unwrap_or(reserved));
                self.actions.push_back(Action::Submit(index));
            } else {
                self.writes(item.is_developer).cancel();
                self.set_unfunded(priority, index);
                continue;
            }
            self.ready.pop_first();
            self.starting += 1;
        }
        let may_be_refunded = self.starting + self.following > 0;
        if !may_be_refunded && self.ready.is_empty() && self.delayed.is_empty() {
            while let Some((_, index)) = self.unfunded.pop_first() {
                self.drop_item(index, DropReason::OverBudget);
            }
        }
    }

    /// Gives up the items that wait to be submitted.
    fn drop_waiting(&mut self, reason: DropReason) {
        let delayed: Vec<Index> = self
            .delayed
            .iter()
            .map(|Reverse((_, index))| *index)
            .collect();
        for (_, index) in std::mem::take(&mut self.unfunded) {
            self.drop_item(index, DropReason::OverBudget);
        }
        let queued = std::mem::take(&mut self.ready);
        let queued = queued.into_iter().map(|(_, index)| index);
        for index in delayed.into_iter().chain(queued) {
            let phase = self.item(index).map(|item| item.phase);
            if matches!(phase, Some(Phase::Ready | Phase::Delayed)) {
                self.drop_item(index, reason);
            }
        }
        self.delayed.retain(|Reverse((_, index))| {
            let item = usize::try_from(*index)
                .ok()
                .and_then(|at| self.items.get(at));
            item.is_some_and(|item| item.phase == Phase::FollowDelayed)
        });
    }

    fn writes(&mut self, is_developer: bool) -> &mut WriteQuota {
        match is_developer {
            true => &mut self.developer_writes,
            false => &mut self.open_writes,
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
