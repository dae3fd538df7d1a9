//! What the tools of one server may cost: each call, and all of them together.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::tool_error::ToolError;

/// The limits, and what was spent within them.
#[derive(Debug, Default)]
pub(super) struct SpendLimits {
    /// What a call may cost at most.
    per_call: Option<Usd>,
    /// What all calls may cost together.
    total: Option<Usd>,
    /// Whether tools run whose price cannot be known before.
    allow_unpriced: bool,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: Usd,
    /// The cost of calls whose outcome is not known yet, by their keys.
    pending: HashMap<IdempotencyKey, Usd>,
}

impl SpendLimits {
    /// SpendLimits of which nothing is spent yet.
    pub(super) fn new(per_call: Option<Usd>, total: Option<Usd>, allow_unpriced: bool) -> Self {
        Self {
            per_call,
            total,
            allow_unpriced,
            ledger: Mutex::default(),
        }
    }

    /// What a call may cost: what it says, and no more than the server's own limit. One of the two
    /// has to be there.
    pub(super) fn spend_limit(&self, requested: Option<&Value>) -> Result<Usd, ToolError> {
        let requested = match requested {
            None => None,
            Some(amount) => Some(amount_of(amount).ok_or_else(|| {
                let text = "max_spend_usd must be a number of dollars, with at most six decimals";
                ToolError::new("invalid_request", text)
            })?),
        };
        match (requested, self.per_call) {
            (Some(requested), Some(per_call)) => Ok(requested.min(per_call)),
            (Some(limit), None) | (None, Some(limit)) => Ok(limit),
            (None, None) => Err(ToolError::new(
                "max_spend_required",
                "Say max_spend_usd: the most that this call may cost, in dollars.",
            )),
        }
    }

    /// Whether a price that nobody can tell may be paid.
    pub(super) fn check_unpriced(&self) -> Result<(), ToolError> {
        match self.allow_unpriced && self.total.is_none() {
            true => Ok(()),
            false => Err(ToolError::new(
                "price_unknown",
                "The price of this cannot be known before, so no limit could be kept. Whoever \
runs this server can allow it with --allow-unpriced, without --max-total-usd.",
            )),
        }
    }

    /// Sets the cost of a call aside, if it is within its ceiling and what is left of the total. A
    /// call that is sent again with the same key is set aside once.
    pub(super) fn reserve(
        &self,
        key: &IdempotencyKey,
        cost: Usd,
        spend_limit: Usd,
    ) -> Result<(), ToolError> {
        let mut ledger = self.ledger();
        if ledger.pending.contains_key(key) {
            return Ok(());
        }
        if cost > spend_limit {
            let message =
                format!("This may cost {cost} USD, which is over the limit {spend_limit}.");
            let details = json!({"estimate_usd": cost, "max_spend_usd": spend_limit});
            return Err(ToolError::new("max_spend_exceeded", message).with("details", details));
        }
        let spent = ledger.spent.checked_add(cost);
        match (spent, self.total) {
            (Some(spent), Some(total)) if spent > total => {
                let message = format!(
                    "This may cost {cost} USD; of {total} for this session, {} are spent.",
                    ledger.spent
                );
                Err(ToolError::new("max_total_exceeded", message))
            }
            (None, _) => Err(ToolError::new("max_total_exceeded", "Too much was spent.")),
            (Some(spent), _) => {
                ledger.spent = spent;
                ledger.pending.insert(key.clone(), cost);
                Ok(())
            }
        }
    }

    /// Counts what was set aside for a call as spent.
    pub(super) fn charge(&self, key: &IdempotencyKey) {
        self.ledger().pending.remove(key);
    }

    /// Gives back what was set aside for a call that was refused.
    pub(super) fn release(&self, key: &IdempotencyKey) {
        let mut ledger = self.ledger();
        let cost = ledger.pending.remove(key).unwrap_or_default();
        ledger.spent = ledger.spent.checked_sub(cost).unwrap_or_default();
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dollars of a JSON number.
pub(super) fn amount_of(amount: &Value) -> Option<Usd> {
    let amount: Usd = amount.as_number()?.to_string().parse().ok()?;
    (amount >= Usd::ZERO).then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    fn code<T: std::fmt::Debug>(outcome: Result<T, ToolError>) -> String {
        outcome.unwrap_err().code().to_owned()
    }

    #[test]
    fn a_model_lowers_the_limit_and_does_not_raise_it() {
        let limits = SpendLimits {
            per_call: Some(usd("0.5")),
            ..SpendLimits::default()
        };
        assert_eq!(limits.spend_limit(Some(&json!(0.2))), Ok(usd("0.2")));
        assert_eq!(limits.spend_limit(Some(&json!(100))), Ok(usd("0.5")));
        assert_eq!(limits.spend_limit(None), Ok(usd("0.5")));
        let none = SpendLimits::default();
        assert_eq!(code(none.spend_limit(None)), "max_spend_required");
        for wrong in [json!("1"), json!(-1), json!(null)] {
            assert_eq!(code(none.spend_limit(Some(&wrong))), "invalid_request");
        }
    }

    #[test]
    fn the_total_is_kept_and_refusals_give_back() {
        let limits = SpendLimits {
            total: Some(usd("1")),
            ..SpendLimits::default()
        };
        let [a, b, c]: [IdempotencyKey; 3] = ["a", "b", "c"].map(|key| key.parse().unwrap());
        let reserve = |key, cost, spend_limit| limits.reserve(key, usd(cost), usd(spend_limit));
        assert_eq!(code(reserve(&a, "2", "1.9")), "max_spend_exceeded");
        reserve(&a, "0.7", "1").unwrap();
        assert_eq!(code(reserve(&b, "0.4", "1")), "max_total_exceeded");
        limits.release(&a);
        reserve(&b, "0.9", "1").unwrap();
        // Its outcome is unknown: sent again with the same key it is counted once.
        reserve(&b, "0.9", "1").unwrap();
        assert_eq!(code(reserve(&c, "0.2", "1")), "max_total_exceeded");
        limits.release(&b);
        reserve(&c, "1", "1").unwrap();
        limits.charge(&c);
        limits.release(&c);
        assert_eq!(code(reserve(&a, "0.1", "1")), "max_total_exceeded");
        assert_eq!(code(limits.check_unpriced()), "price_unknown");
    }
}
