//! The retry budget: how many repetitions a client and its clones may spend together.

use std::sync::{Mutex, PoisonError};

/// Repetitions in store at the start, and at most.
const CAPACITY: f64 = 50.0;
/// What a success puts back: a client can stand one failure in three for ever.
const REFUND: f64 = 0.5;

/// A bucket of repetitions, so that an outage is not answered with a multiple of the load.
#[derive(Debug)]
pub(crate) struct RetryBudget(Mutex<f64>);

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(CAPACITY))
    }

    /// Takes one repetition, if one is left.
    pub(crate) fn take(&self) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let granted = *left >= 1.0;
        if granted {
            *left -= 1.0;
        }
        granted
    }

    /// A request succeeded.
    pub(crate) fn refund(&self) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *left = (*left + REFUND).min(CAPACITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_the_repetitions_and_successes_bring_them_back() {
        let budget = RetryBudget::new();
        assert_eq!((0..1000).filter(|_| budget.take()).count(), 50);
        budget.refund();
        assert!(!budget.take());
        budget.refund();
        assert!(budget.take());
    }
}
