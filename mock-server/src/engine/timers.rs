//! What falls due, in order.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Time;

/// Something that happens by itself. Of two that are due at once the one further up here is first,
/// then that of the older job, run or webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TimerEvent {
    /// A job leaves the queue.
    JobStarts(usize),
    /// A job ends.
    JobEnds(usize),
    /// A run leaves the queue.
    RunStarts(usize),
    /// A run goes on with its work: so many tenths of its time are over.
    RunWorks(usize, u8),
    /// A run ends.
    RunEnds(usize),
    /// A webhook is sent, by its number in the webhook queue.
    WebhookAttempt(u64),
}

/// What is to come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Timers(BTreeSet<(Time, TimerEvent)>);

impl Timers {
    pub(crate) fn set(&mut self, at: Time, due: TimerEvent) {
        self.0.insert((at, due));
    }

    pub(crate) fn cancel(&mut self, at: Time, due: TimerEvent) {
        self.0.remove(&(at, due));
    }

    /// When something falls due next.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The first thing that is due by `now`, taken off the list.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, TimerEvent)> {
        if self.next()? <= now {
            self.0.pop_first()
        } else {
            None
        }
    }

    pub(crate) fn contains(&self, at: Time, due: TimerEvent) -> bool {
        self.0.contains(&(at, due))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &(Time, TimerEvent)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_and_not_before_its_time() {
        let at = Time::from_micros;
        let mut timers = Timers::default();
        for (time, due) in [
            (9, TimerEvent::JobEnds(1)),
            (5, TimerEvent::JobEnds(2)),
            (5, TimerEvent::JobStarts(3)),
            (7, TimerEvent::JobEnds(4)),
        ] {
            timers.set(at(time), due);
        }
        timers.cancel(at(7), TimerEvent::JobEnds(4));
        assert_eq!(timers.next(), Some(at(5)));
        assert_eq!(timers.pop(at(4)), None);
        assert_eq!(timers.pop(at(8)), Some((at(5), TimerEvent::JobStarts(3))));
        assert_eq!(timers.pop(at(8)), Some((at(5), TimerEvent::JobEnds(2))));
        assert_eq!(timers.pop(at(8)), None);
        assert_eq!(timers.next(), Some(at(9)));
    }
}
