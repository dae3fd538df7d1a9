//! What intents hold of budgets.

use serde::{Deserialize, Serialize};

use crate::types::Usd;

/// An amount to be reserved of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The name of the budget, which is one of the intent's namespace.
    pub budget: String,
    /// The amount.
    pub amount: Usd,
    /// What the sums of the budget must not exceed.
    pub limit: Usd,
}

/// What an intent holds of its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// What it may yet cost.
    pub reserved: Usd,
    /// What it did cost.
    pub captured: Usd,
    /// What it may have cost: it is unknown whether it was carried out.
    pub undecided: Usd,
}

/// The sums of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetTotals {
    /// The sums of what its intents hold.
    pub hold: Hold,
    /// Whether it is stopped, because the service charged more than was reserved.
    pub is_stopped: bool,
}

impl Hold {
    /// Creates what an intent holds when it is begun.
    pub(in crate::journal) fn of(reservation: Option<&Reservation>) -> Self {
        Self { reserved: reservation.map_or(Usd::ZERO, |it| it.amount), ..Self::default() }
    }

    /// Changes the sums of a budget by what one of its intents held before and holds now.
    pub(in crate::journal) fn replace(&mut self, before: Self, now: Self) {
        let change = |sum: &mut Usd, before: Usd, now: Usd| {
            let sum_of_others = sum.as_micros().saturating_sub(before.as_micros());
            *sum = Usd::from_micros(sum_of_others.saturating_add(now.as_micros()));
        };
        change(&mut self.reserved, before.reserved, now.reserved);
        change(&mut self.captured, before.captured, now.captured);
        change(&mut self.undecided, before.undecided, now.undecided);
    }
}

impl BudgetTotals {
    /// Returns whether the amount can be reserved within the limit.
    #[must_use]
    pub fn fits(&self, reservation: &Reservation) -> bool {
        let Hold { reserved, captured, undecided } = self.hold;
        let sum = reserved
            .checked_add(captured)
            .and_then(|sum| sum.checked_add(undecided))
            .and_then(|sum| sum.checked_add(reservation.amount));
        !self.is_stopped && sum.is_some_and(|sum| sum <= reservation.limit)
    }
}
