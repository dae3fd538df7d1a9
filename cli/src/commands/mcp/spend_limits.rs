//! Spend limits of an MCP server: per call, and in total.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::error::ToolError;
use crate::output::values::money;

#[derive(Debug, Default)]
pub(super) struct SpendLimits {
    per_call: Option<Usd>,
    total: Option<Usd>,
    /// Whether tools whose price is unknown in advance are allowed.
    allow_unpriced: bool,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: Usd,
    /// The reserved costs of calls whose outcome is not known yet.
    pending: HashMap<IdempotencyKey, Usd>,
}

impl SpendLimits {
    pub(super) fn new(per_call: Option<Usd>, total: Option<Usd>, allow_unpriced: bool) -> Self {
        Self { per_call, total, allow_unpriced, ledger: Mutex::default() }
    }

    pub(super) fn spend_limit(&self, requested: Option<&Value>) -> Result<Usd, ToolError> {
        let requested = match requested {
            None => None,
            Some(amount) => Some(amount_of(amount).ok_or_else(|| {
                let text =
                    "invalid max_price: expected dollars as a number with at most six decimals";
                ToolError::new("invalid_request", text)
            })?),
        };
        match (requested, self.per_call) {
            (Some(requested), Some(per_call)) => Ok(requested.min(per_call)),
            (Some(limit), None) | (None, Some(limit)) => Ok(limit),
            (None, None) => Err(ToolError::new(
                "max_spend_required",
                "max_price is required: the maximum price of this call in dollars",
            )),
        }
    }

    pub(super) fn check_unpriced(&self) -> Result<(), ToolError> {
        match self.allow_unpriced && self.total.is_none() {
            true => Ok(()),
            false => Err(ToolError::new(
                "price_unknown",
                "the price is not known in advance, so no limit can be enforced; the user can \
allow such calls by starting the server with --allow-unpriced and without --max-spend",
            )),
        }
    }

    /// A call that is sent again with the same key is reserved once.
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
            let (shown, limit) = (money(cost), money(spend_limit));
            let message = format!("the call may cost {shown}, more than its limit of {limit}");
            let details = json!({"estimate_usd": cost, "max_price_usd": spend_limit});
            return Err(ToolError::new("max_spend_exceeded", message).with("details", details));
        }
        let spent = ledger.spent.checked_add(cost);
        match (spent, self.total) {
            (Some(spent), Some(total)) if spent > total => {
                let [cost, spent, total] = [cost, ledger.spent, total].map(money);
                let message = format!(
                    "the call may cost {cost}, and {spent} of {total} for this session are spent"
                );
                Err(ToolError::new("max_total_exceeded", message))
            }
            (None, _) => Err(ToolError::new("max_total_exceeded", "the total is out of range")),
            (Some(spent), _) => {
                ledger.spent = spent;
                ledger.pending.insert(key.clone(), cost);
                Ok(())
            }
        }
    }

    pub(super) fn capture(&self, key: &IdempotencyKey) {
        self.ledger().pending.remove(key);
    }

    pub(super) fn release(&self, key: &IdempotencyKey) {
        let mut ledger = self.ledger();
        let cost = ledger.pending.remove(key).unwrap_or_default();
        ledger.spent = ledger.spent.checked_sub(cost).unwrap_or_default();
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a JSON number, or a text as prices are, unless it is not valid or negative.
pub(super) fn amount_of(amount: &Value) -> Option<Usd> {
    let amount: Usd = match amount {
        Value::String(text) => text.parse().ok()?,
        amount => amount.as_number()?.to_string().parse().ok()?,
    };
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
    fn total_counts_reservations_and_release_frees_them() {
        let limits = SpendLimits { total: Some(usd("1")), ..SpendLimits::default() };
        let [a, b, c]: [IdempotencyKey; 3] = ["a", "b", "c"].map(|key| key.parse().unwrap());
        let reserve = |key, cost, spend_limit| limits.reserve(key, usd(cost), usd(spend_limit));
        assert_eq!(code(reserve(&a, "2", "1.9")), "max_spend_exceeded");
        reserve(&a, "0.7", "1").unwrap();
        assert_eq!(code(reserve(&b, "0.4", "1")), "max_total_exceeded");
        limits.release(&a);
        reserve(&b, "0.9", "1").unwrap();
        // The outcome is unknown; a retry with the same key is counted once.
        reserve(&b, "0.9", "1").unwrap();
        assert_eq!(code(reserve(&c, "0.2", "1")), "max_total_exceeded");
        limits.release(&b);
        reserve(&c, "1", "1").unwrap();
        limits.capture(&c);
        limits.release(&c);
        assert_eq!(code(reserve(&a, "0.1", "1")), "max_total_exceeded");
        assert_eq!(code(limits.check_unpriced()), "price_unknown");
    }
}
