//! The amount that a batch may spend, and what of it is reserved and charged.

use svc_sdk::types::Usd;

/// The limit of `--max-spend`, and what counts towards it.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    limit: Option<Usd>,
    committed: i64,
}

impl Budget {
    /// Creates a budget of which `committed` is spent or reserved already.
    pub(super) fn new(limit: Option<Usd>, committed: Usd) -> Self {
        Self {
            limit,
            committed: committed.micros(),
        }
    }

    /// Returns whether there is a limit.
    pub(super) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns whether nothing that costs anything fits.
    pub(super) fn is_exhausted(&self) -> bool {
        self.limit
            .is_some_and(|limit| self.committed >= limit.micros())
    }

    /// Reserves an amount, if it fits.
    pub(super) fn reserve(&mut self, amount: Usd) -> bool {
        let after = self.committed.saturating_add(amount.micros());
        if self.limit.is_some_and(|limit| after > limit.micros()) {
            return false;
        }
        self.committed = after;
        true
    }

    /// Replaces a reserved or charged amount by another one.
    pub(super) fn replace(&mut self, old: Usd, new: Usd) {
        let difference = new.micros().saturating_sub(old.micros());
        self.committed = self.committed.saturating_add(difference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    #[test]
    fn what_fits_is_reserved_and_refunds_give_back() {
        let mut budget = Budget::new(Some(usd("2")), usd("0.50"));
        assert!(budget.reserve(usd("1.50")));
        assert!(budget.is_exhausted());
        assert!(!budget.reserve(usd("0.0001")));
        budget.replace(usd("1.50"), usd("0"));
        assert!(budget.reserve(usd("0.7")));
        budget.replace(usd("0.7"), usd("1.6"));
        assert!(!budget.reserve(usd("0")));
        let mut unlimited = Budget::new(None, usd("5"));
        assert!(unlimited.reserve(usd("1000000")) && !unlimited.is_exhausted());
    }
}
