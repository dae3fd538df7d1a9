//! What the scheduler takes in and returns.

use std::time::Duration;

use svc_sdk::types::Usd;

use super::WriteLimit;

/// The index of an item.
pub(in crate::batch) type Index = u32;

/// The key that pays for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::batch) enum Account {
    Open,
    Developer,
}

/// The limits of a batch.
#[derive(Clone, Debug)]
pub(in crate::batch) struct Limits {
    /// The maximum number of jobs in flight.
    pub(in crate::batch) concurrency: usize,
    /// The maximum amount, of which `committed` is spent or reserved by earlier runs.
    pub(in crate::batch) max_spend: Option<Usd>,
    pub(in crate::batch) committed: Usd,
    /// The time at which the batch gives up.
    pub(in crate::batch) deadline: Option<Duration>,
    /// The number of attempts of a request that the service does not answer.
    pub(in crate::batch) max_attempts: u32,
    /// The number of attempts of a request that cannot be sent.
    pub(in crate::batch) max_unreachable: u32,
}

/// How the service pushes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::batch) enum Backpressure {
    /// The workspace is at its limit of jobs in flight.
    Capacity,
    /// There were too many requests.
    RateLimit,
    /// The service is overloaded.
    Overload,
}

/// What happened to an item.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::batch) enum Event {
    /// Its price is known, or that there is none.
    Priced {
        price: Option<Usd>,
        writes: Option<WriteLimit>,
    },
    /// It was accepted.
    Accepted {
        charge: Option<Usd>,
        writes: Option<WriteLimit>,
    },
    /// It was turned away, and is to be sent again.
    Backpressure {
        reason: Backpressure,
        retry_after: Option<Duration>,
        writes: Option<WriteLimit>,
    },
    /// There was no answer, and it can be sent again with the same key.
    NoAnswer,
    /// It could not be sent.
    NotSent,
    /// It is finished, and cost that much, or what is reserved if that is unknown.
    Finished { cost: Option<Usd> },
    /// Its status cannot be read now.
    FollowLater { retry_after: Option<Duration> },
}

/// What to do with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::batch) enum Action {
    /// Find out its price.
    Price(Index),
    /// Submit it.
    Submit(Index),
    /// Wait for its result.
    Follow(Index),
    /// Give it up.
    Drop(Index, DropReason),
}

/// Why an item is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::batch) enum DropReason {
    /// It does not fit into the budget.
    OverBudget,
    /// A charge was above its estimate, so that the other estimates may be too low as well.
    Overcharged,
    /// Its price is unknown, so that it may not fit.
    Unpriced,
    /// The batch was stopped.
    Stopped,
    /// The service does not answer.
    NoAnswer,
    /// The service cannot be reached.
    Unreachable,
    /// The time of the batch is over.
    TimedOut,
}
