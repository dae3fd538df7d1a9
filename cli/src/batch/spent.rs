//! What a batch spent, as far as that is known.

use std::fmt;
use std::iter::Sum;

use svc_sdk::types::Usd;

use crate::output::values::money;
use crate::text::counted;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) usd: Usd,
    /// The number of submissions whose cost is not known.
    unknown: u32,
}

impl Spent {
    /// Returns the amount, unless nothing of it is known.
    pub(super) fn known(self) -> Option<Usd> {
        (self.usd != Usd::ZERO || self.unknown == 0).then_some(self.usd)
    }

    /// Puts what is known now of a submission in the place of what was known before.
    pub(super) fn replace(&mut self, before: Self, now: Self) {
        let usd = self.usd.checked_add(now.usd).and_then(|usd| usd.checked_sub(before.usd));
        self.usd = usd.unwrap_or(self.usd);
        self.unknown = self.unknown.saturating_add(now.unknown).saturating_sub(before.unknown);
    }
}

impl From<Option<Usd>> for Spent {
    fn from(cost: Option<Usd>) -> Self {
        Self { usd: cost.unwrap_or_default(), unknown: u32::from(cost.is_none()) }
    }
}

impl Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let mut sum = Self::default();
        all.for_each(|spent| sum.replace(Self::default(), spent));
        sum
    }
}

/// `$0.15`, or `$0.15 and an unknown amount for 2 items`.
impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(usd) = self.known() {
            f.write_str(&money(usd))?;
        }
        if self.unknown > 0 {
            let and = if self.known().is_some() { " and " } else { "" };
            let items = counted(usize::try_from(self.unknown).unwrap_or_default(), "item");
            write!(f, "{and}an unknown amount for {items}")?;
        }
        Ok(())
    }
}
