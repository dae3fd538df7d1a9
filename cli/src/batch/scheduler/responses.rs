//! What the events of items change: queues, limits and the budget.

use std::cmp::Reverse;
use std::time::Duration;

use svc_sdk::types::Usd;

use super::event::{Action, Backpressure, DropReason, Event, Index};
use super::items::Phase;
use super::write_quota::WriteLimit;
use super::{CAPACITY_DELAY, MAX_CAPACITY_DELAY, Scheduler};

impl Scheduler {
    /// Takes in an event.
    pub(in crate::batch) fn handle(
        &mut self,
        index: Index,
        event: Event,
        now: Duration,
        jitter: f64,
    ) {
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
            Event::Priced { writes, .. } | Event::Backpressure { writes, .. } => {
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
            Event::Accepted { writes, .. } | Event::Backpressure { writes, .. } => *writes,
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
            Event::Backpressure {
                reason: Backpressure::Capacity,
                ..
            } => {
                self.jobs.shrink_to(self.following);
                self.capacity_until = now + self.capacity_delay;
                self.capacity_delay = (self.capacity_delay * 2).min(MAX_CAPACITY_DELAY);
                self.set_ready(index);
            }
            Event::Backpressure {
                reason,
                retry_after,
                ..
            } => {
                self.requests.halve(now);
                self.pause.failed(now, retry_after, jitter);
                if let (Backpressure::RateLimit, Some(after)) = (reason, retry_after) {
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

    fn finish(&mut self, index: Index, cost: Option<Usd>) {
        self.set_phase(index, Phase::Idle);
        let reserved_or_charged = self
            .item(index)
            .and_then(|item| item.reserved_or_charged.take());
        if let (Some(reserved_or_charged), Some(cost)) = (reserved_or_charged, cost) {
            self.budget.replace(reserved_or_charged, cost);
            if cost < reserved_or_charged {
                // What did not fit may fit now.
                for (_, index) in std::mem::take(&mut self.unfunded) {
                    self.set_ready(index);
                }
            }
        }
    }

    pub(super) fn follow(&mut self, index: Index) {
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
        let reserved_or_charged = self
            .item(index)
            .and_then(|item| item.reserved_or_charged.replace(charge));
        let reserved_or_charged = reserved_or_charged.unwrap_or(Usd::ZERO);
        self.budget.replace(reserved_or_charged, charge);
        if self.budget.is_limited() && charge > reserved_or_charged {
            self.stop(DropReason::Overcharged);
        }
    }

    fn end_request(&mut self, index: Index, now: Duration, writes: Option<WriteLimit>) {
        self.starting -= 1;
        let is_developer = self.item(index).is_some_and(|item| item.is_developer);
        self.writes(is_developer).release(now, writes);
    }
}
