//! The retry budget: how many retries the clones of a client may spend together.

use std::sync::Mutex;

use crate::lock::lock;

/// The retries available at the start, and the most that can be available.
const CAPACITY: f64 = 50.0;
/// The retries that a success adds: a client sustains one failure in three forever.
const REFUND: f64 = 0.5;

/// A bucket of retries, so that an outage is not answered with a multiple of the load.
#[derive(Debug)]
pub(crate) struct RetryBudget(Mutex<f64>);

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(CAPACITY))
    }

    /// Takes one retry, if one is left.
    pub(crate) fn take(&self) -> bool {
        let mut available = lock(&self.0);
        let granted = *available >= 1.0;
        if granted {
            *available -= 1.0;
        }
        granted
    }

    /// Adds to the budget after a success.
    pub(crate) fn refund(&self) {
        let mut available = lock(&self.0);
        *available = (*available + REFUND).min(CAPACITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_uses_up_the_retries_and_successes_restore_them() {
        let budget = RetryBudget::new();
        assert_eq!((0..1000).filter(|_| budget.take()).count(), 50);
        budget.refund();
        assert!(!budget.take());
        budget.refund();
        assert!(budget.take());
    }
}
