//! Decisions of a batch: which item to price, submit and follow, and when.
//!
//! The scheduler does no I/O and has no clock. It takes in events with the time at which they happened,
//! and returns actions. An item is submitted again only after an event has said that it may be.

mod budget;
mod event;
mod window;
mod write_quota;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::time::Duration;

use svc_sdk::types::Usd;

use self::budget::Budget;
pub(super) use self::event::{Action, DropReason, Event, Index, Lane, Limits, PushBack};
use self::window::{AdaptiveWindow, Pause, backoff};
pub(super) use self::write_quota::WriteLimit;
use self::write_quota::WriteQuota;

/// The maximum number of requests under way that submit or estimate.
const MAX_REQUESTS: usize = 16;
/// The pause before a submit is tried again while the workspace is at its limit of jobs, unless one
/// of the batch ends before.
const CAPACITY_DELAY: Duration = Duration::from_secs(2);
const MAX_CAPACITY_DELAY: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
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
    Following,
}

/// Which items come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// Requests that may have been carried out, because their keys expire.
    Resend,
    #[default]
    New,
}

#[derive(Clone, Debug, Default)]
struct Item {
    phase: Phase,
    turn: Turn,
    is_developer: bool,
    attempts: u16,
    price: Option<Usd>,
    /// What is reserved or charged.
    held: Option<Usd>,
}

/// The scheduler of a batch.
#[derive(Debug)]
pub(super) struct Scheduler {
    items: Vec<Item>,
    /// The items that can be started, in the order of the manifest. Those that are sent again come
    /// first.
    ready: BTreeSet<(Turn, Index)>,
    unfunded: BTreeSet<(Turn, Index)>,
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

    /// Adds an item that is to be submitted.
    pub(super) fn add(&mut self, index: Index, lane: Lane) {
        self.set_lane(index, lane);
        self.set_ready(index);
    }

    /// Adds an item that an earlier run may have submitted, and that is to be sent again with the
    /// same key. `held` is what is reserved for it.
    pub(super) fn add_resend(&mut self, index: Index, lane: Lane, held: Option<Usd>) {
        self.set_lane(index, lane);
        if let Some(item) = self.item(index) {
            item.turn = Turn::Resend;
            item.held = held;
            item.price = held;
        }
        self.set_ready(index);
    }

    /// Adds an item that an earlier run has submitted. `held` is its charge.
    pub(super) fn add_submitted(&mut self, index: Index, lane: Lane, held: Option<Usd>) {
        self.set_lane(index, lane);
        if let Some(item) = self.item(index) {
            item.held = held;
        }
        self.follow(index);
    }

    /// Gives up all items that are not submitted. Those in flight are followed to their end.
    pub(super) fn stop(&mut self, reason: DropReason) {
        self.stop.get_or_insert(reason);
    }

    /// Returns whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.starting == 0
            && self.following == 0
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
        self.following
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

    /// Takes in an event.
    pub(super) fn handle(&mut self, index: Index, event: Event, now: Duration, jitter: f64) {
        let phase = self.item(index).map(|item| item.phase);
        match (phase, event) {
            (Some(Phase::Pricing), event) => self.handle_price(index, event, now, jitter),
            (Some(Phase::Submitting), event) => self.handle_submit(index, event, now, jitter),
            (Some(Phase::Following), Event::FollowLater { retry_after }) => {
                let delay = self.next_delay(index, jitter);
                let at = now + delay.max(retry_after.unwrap_or_default());
                self.set_phase(index, Phase::FollowDelayed);
                self.delayed.push(Reverse((at, index)));
            }
            (Some(Phase::Following | Phase::FollowDelayed), Event::Finished { cost }) => {
                self.following -= 1;
                self.capacity_until = Duration::ZERO;
                self.finish(index, cost);
            }
            _ => {}
        }
    }

    fn handle_price(&mut self, index: Index, event: Event, now: Duration, jitter: f64) {
        match &event {
            // The estimate was known already.
            Event::Priced { writes: None, .. } => {
                self.starting -= 1;
                let is_developer = self.item(index).is_some_and(|item| item.is_developer);
                self.writes(is_developer).cancel();
            }
            Event::Priced { writes, .. } | Event::PushedBack { writes, .. } => {
                self.end_request(index, now, *writes);
            }
            _ => self.end_request(index, now, None),
        }
        match event {
            Event::Priced {
                price: Some(price), ..
            } => {
                if let Some(item) = self.item(index) {
                    item.price = Some(price);
                    item.attempts = 0;
                }
                self.pause.succeeded();
                self.requests.accepted(self.starting + 1);
                self.set_ready(index);
            }
            Event::Priced { price: None, .. } => self.drop_item(index, DropReason::Unpriced),
            event => self.handle_failure(index, event, now, jitter),
        }
    }

    fn handle_submit(&mut self, index: Index, event: Event, now: Duration, jitter: f64) {
        let writes = match &event {
            Event::Accepted { writes, .. } | Event::PushedBack { writes, .. } => *writes,
            _ => None,
        };
        self.end_request(index, now, writes);
        match event {
            Event::Accepted { charge, .. } => {
                self.pause.succeeded();
                self.capacity_delay = CAPACITY_DELAY;
                self.requests.accepted(self.starting + 1);
                self.jobs.accepted(self.following + self.starting + 1);
                self.charge(index, charge);
                self.follow(index);
                self.jobs.grow_to(self.following);
                if self.is_timed_out() {
                    self.drop_in_flight(index);
                }
            }
            event => self.handle_failure(index, event, now, jitter),
        }
    }

    fn handle_failure(&mut self, index: Index, event: Event, now: Duration, jitter: f64) {
        match event {
            Event::PushedBack {
                reason: PushBack::Capacity,
                ..
            } => {
                self.jobs.shrink_to(self.following);
                self.capacity_until = now + self.capacity_delay;
                self.capacity_delay = (self.capacity_delay * 2).min(MAX_CAPACITY_DELAY);
                self.set_ready(index);
            }
            Event::PushedBack {
                reason,
                retry_after,
                ..
            } => {
                self.requests.halve(now);
                self.pause.failed(now, retry_after, jitter);
                if let (PushBack::RateLimit, Some(after)) = (reason, retry_after) {
                    self.pause.extend(now + after);
                }
                let delay = self.next_delay(index, jitter);
                self.delay(index, now + delay.max(retry_after.unwrap_or_default()));
            }
            Event::NoAnswer | Event::NotSent => {
                let (max_attempts, reason) = match event {
                    Event::NotSent => (self.limits.max_unreachable, DropReason::Unreachable),
                    _ => (self.limits.max_attempts, DropReason::NoAnswer),
                };
                self.requests.halve(now);
                self.pause.failed(now, None, jitter);
                let delay = self.next_delay(index, jitter);
                let attempts = self.item(index).map_or(0, |item| item.attempts);
                if u32::from(attempts) < max_attempts {
                    return self.delay(index, now + delay);
                }
                if reason == DropReason::Unreachable {
                    self.stop(reason);
                }
                self.drop_item(index, reason);
            }
            Event::Finished { cost } => self.finish(index, cost),
            // The remaining events do not concern a request.
            _ => self.drop_item(index, DropReason::Stopped),
        }
    }

    fn time_out(&mut self) {
        if self.is_timed_out() {
            return;
        }
        self.stop = Some(DropReason::TimedOut);
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
            let Some((turn, index)) = self.ready.first().copied() else {
                break;
            };
            let Some(item) = self.item(index).cloned() else {
                self.ready.pop_first();
                continue;
            };
            let needs_price = self.budget.is_limited() && item.price.is_none();
            if needs_price && self.budget.is_exhausted() {
                self.set_unfunded(turn, index);
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
            } else if item.held.is_some() || self.budget.reserve(reserved) {
                self.set_phase(index, Phase::Submitting);
                self.hold(index, item.held.unwrap_or(reserved));
                self.actions.push_back(Action::Submit(index));
            } else {
                self.writes(item.is_developer).cancel();
                self.set_unfunded(turn, index);
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

    /// Sets the first ready item aside until a refund makes room for it.
    fn set_unfunded(&mut self, turn: Turn, index: Index) {
        self.ready.pop_first();
        self.set_phase(index, Phase::Unfunded);
        self.unfunded.insert((turn, index));
    }

    /// Gives up the items that wait to be submitted.
    fn drop_waiting(&mut self, reason: DropReason) {
        let delayed: Vec<Index> = self
            .delayed
            .iter()
            .map(|Reverse((_, index))| *index)
            .collect();
        let mut queued = std::mem::take(&mut self.ready);
        queued.append(&mut self.unfunded);
        let queued = queued.into_iter().map(|(_, index)| index);
        for index in delayed.into_iter().chain(queued) {
            let phase = self.item(index).map(|item| item.phase);
            if matches!(phase, Some(Phase::Ready | Phase::Delayed | Phase::Unfunded)) {
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

    fn drop_item(&mut self, index: Index, reason: DropReason) {
        self.set_phase(index, Phase::Idle);
        self.actions.push_back(Action::Drop(index, reason));
    }

    fn finish(&mut self, index: Index, cost: Option<Usd>) {
        self.set_phase(index, Phase::Idle);
        let held = self.item(index).and_then(|item| item.held.take());
        if let (Some(held), Some(cost)) = (held, cost) {
            self.budget.replace(held, cost);
            if cost < held {
                // What did not fit may fit now.
                for (_, index) in std::mem::take(&mut self.unfunded) {
                    self.set_ready(index);
                }
            }
        }
    }

    fn follow(&mut self, index: Index) {
        self.following += 1;
        if let Some(item) = self.item(index) {
            item.attempts = 0;
        }
        self.set_phase(index, Phase::Following);
        self.actions.push_back(Action::Follow(index));
    }

    /// Replaces the reserved amount by the charge. A charge above the estimate stops the batch,
    /// because the other estimates may be wrong as well.
    fn charge(&mut self, index: Index, charge: Option<Usd>) {
        let Some(charge) = charge else { return };
        let held = self.item(index).and_then(|item| item.held.replace(charge));
        let held = held.unwrap_or(Usd::ZERO);
        self.budget.replace(held, charge);
        if self.budget.is_limited() && charge > held {
            self.stop(DropReason::OverBudget);
        }
    }

    fn hold(&mut self, index: Index, amount: Usd) {
        if let Some(item) = self.item(index) {
            item.held = Some(amount);
        }
    }

    fn delay(&mut self, index: Index, until: Duration) {
        self.set_phase(index, Phase::Delayed);
        self.delayed.push(Reverse((until, index)));
    }

    /// Counts a failed attempt, and returns the delay before the next.
    fn next_delay(&mut self, index: Index, jitter: f64) -> Duration {
        let Some(item) = self.item(index) else {
            return Duration::ZERO;
        };
        item.attempts = item.attempts.saturating_add(1);
        backoff(item.attempts.into(), jitter)
    }

    fn end_request(&mut self, index: Index, now: Duration, writes: Option<WriteLimit>) {
        self.starting -= 1;
        let is_developer = self.item(index).is_some_and(|item| item.is_developer);
        self.writes(is_developer).release(now, writes);
    }

    fn writes(&mut self, is_developer: bool) -> &mut WriteQuota {
        match is_developer {
            true => &mut self.developer_writes,
            false => &mut self.open_writes,
        }
    }

    fn set_lane(&mut self, index: Index, lane: Lane) {
        if let Some(item) = self.item(index) {
            item.is_developer = lane == Lane::Developer;
        }
    }

    fn set_ready(&mut self, index: Index) {
        if let Some(item) = self.item(index) {
            item.phase = Phase::Ready;
            let turn = item.turn;
            self.ready.insert((turn, index));
        }
    }

    fn set_phase(&mut self, index: Index, phase: Phase) {
        if let Some(item) = self.item(index) {
            item.phase = phase;
        }
    }

    fn item(&mut self, index: Index) -> Option<&mut Item> {
        self.items.get_mut(usize::try_from(index).ok()?)
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
