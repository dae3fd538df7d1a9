//! What the tools of one server may cost: each call, and all of them together.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::ask::Refusal;

/// The limits, and what was spent within them.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// What a call may cost at most.
    each: Option<Usd>,
    /// What all calls may cost together.
    total: Option<Usd>,
    /// Whether tools run whose price cannot be known before.
    allow_unpriced: bool,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    spent: Usd,
    /// Calls whose outcome is not known, by what they asked for.
    open: HashMap<String, (IdempotencyKey, Usd)>,
}

impl Limits {
    /// Limits of which nothing is spent yet.
    pub(super) fn new(each: Option<Usd>, total: Option<Usd>, allow_unpriced: bool) -> Self {
        Self {
            each,
            total,
            allow_unpriced,
            book: Mutex::default(),
        }
    }

    /// What a call may cost: what it says, and no more than the server's own limit. One of the two
    /// has to be there.
    pub(super) fn ceiling(&self, said: Option<&Value>) -> Result<Usd, Refusal> {
        let said = match said {
            None => None,
            Some(amount) => Some(amount_of(amount).ok_or_else(|| {
                let text = "max_spend_usd must be a number of dollars, with at most six decimals";
                Refusal::new("invalid_request", text)
            })?),
        };
        match (said, self.each) {
            (Some(said), Some(each)) => Ok(said.min(each)),
            (Some(limit), None) | (None, Some(limit)) => Ok(limit),
            (None, None) => Err(Refusal::new(
                "max_spend_required",
                "Say max_spend_usd: the most that this call may cost, in dollars.",
            )),
        }
    }

    /// Whether a price that nobody can tell may be paid.
    pub(super) fn unpriced(&self) -> Result<(), Refusal> {
        match self.allow_unpriced && self.total.is_none() {
            true => Ok(()),
            false => Err(Refusal::new(
                "price_unknown",
                "The price of this cannot be known before, so no limit could be kept. Whoever \
runs this server can allow it with --allow-unpriced, without --max-total-usd.",
            )),
        }
    }

    /// The key of the same call made before, if its outcome is not known: it is paid for already,
    /// if it is.
    pub(super) fn unsettled(&self, what: &str) -> Option<IdempotencyKey> {
        self.book().open.get(what).map(|(key, _)| key.clone())
    }

    /// Sets the cost of a call aside, if it is within its ceiling and what is left of the total.
    pub(super) fn reserve(&self, cost: Usd, ceiling: Usd) -> Result<(), Refusal> {
        if cost > ceiling {
            let message = format!("This may cost {cost} USD, which is over the limit {ceiling}.");
            let details = json!({"estimate_usd": cost, "max_spend_usd": ceiling});
            return Err(Refusal::new("max_spend_exceeded", message).with("details", details));
        }
        let mut book = self.book();
        let spent = book.spent.checked_add(cost);
        match (spent, self.total) {
            (Some(spent), Some(total)) if spent > total => {
                let message = format!(
                    "This may cost {cost} USD; of {total} for this session, {} are spent.",
                    book.spent
                );
                Err(Refusal::new("max_total_exceeded", message))
            }
            (None, _) => Err(Refusal::new("max_total_exceeded", "Too much was spent.")),
            (Some(spent), _) => {
                book.spent = spent;
                Ok(())
            }
        }
    }

    /// How a call ended: a refused one gives back what was set aside, and one of which nothing is
    /// known keeps its key for the next try. So does a next try that never arrived or was turned away
    /// at the door: it says nothing of the first.
    pub(super) fn settle<T>(
        &self,
        what: &str,
        key: &IdempotencyKey,
        cost: Usd,
        outcome: &Result<T, Refusal>,
    ) {
        let mut book = self.book();
        match outcome {
            Err(refusal)
                if refusal.is_ambiguous || !refusal.is_settled && book.open.contains_key(what) =>
            {
                book.open
                    .entry(what.to_owned())
                    .or_insert_with(|| (key.clone(), cost));
            }
            Err(_) => {
                let held = book.open.remove(what).map_or(cost, |(_, held)| held);
                book.spent = book.spent.checked_sub(held).unwrap_or_default();
            }
            Ok(_) => {
                book.open.remove(what);
            }
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn code<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> String {
        outcome.unwrap_err().code().to_owned()
    }

    #[test]
    fn a_model_lowers_the_limit_and_does_not_raise_it() {
        let limits = Limits {
            each: Some(usd("0.5")),
            ..Limits::default()
        };
        assert_eq!(limits.ceiling(Some(&json!(0.2))), Ok(usd("0.2")));
        assert_eq!(limits.ceiling(Some(&json!(100))), Ok(usd("0.5")));
        assert_eq!(limits.ceiling(None), Ok(usd("0.5")));
        let none = Limits::default();
        assert_eq!(code(none.ceiling(None)), "max_spend_required");
        for wrong in [json!("1"), json!(-1), json!(null)] {
            assert_eq!(code(none.ceiling(Some(&wrong))), "invalid_request");
        }
    }

    #[test]
    fn the_total_is_kept_and_refusals_give_back() {
        let limits = Limits {
            total: Some(usd("1")),
            ..Limits::default()
        };
        let key: IdempotencyKey = "k".parse().unwrap();
        assert_eq!(
            code(limits.reserve(usd("2"), usd("1.9"))),
            "max_spend_exceeded"
        );
        limits.reserve(usd("0.7"), usd("1")).unwrap();
        assert_eq!(
            code(limits.reserve(usd("0.4"), usd("1"))),
            "max_total_exceeded"
        );
        let refused: Result<(), _> = Err(Refusal::new("invalid_request", "no"));
        limits.settle("a", &key, usd("0.7"), &refused);
        limits.reserve(usd("0.9"), usd("1")).unwrap();
        let unknown: Result<(), _> = Err(Refusal {
            is_ambiguous: true,
            ..Refusal::new("no_answer", "?")
        });
        limits.settle("b", &key, usd("0.9"), &unknown);
        assert_eq!(limits.unsettled("b"), Some(key.clone()));
        assert_eq!(
            code(limits.reserve(usd("0.2"), usd("1"))),
            "max_total_exceeded"
        );
        limits.settle("b", &key, usd("0.9"), &refused);
        assert_eq!(limits.unsettled("b"), Some(key.clone()), "it never arrived");
        let answered: Result<(), _> = Err(Refusal {
            is_settled: true,
            ..Refusal::new("invalid_request", "no")
        });
        limits.settle("b", &key, usd("0.9"), &answered);
        assert_eq!(limits.unsettled("b"), None);
        limits.reserve(usd("1"), usd("1")).unwrap();
        assert_eq!(code(limits.unpriced()), "price_unknown");
    }
}
