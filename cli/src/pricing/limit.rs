//! The limit of `--max-price`, and the confirmation prompt.

use svc_sdk::types::Usd;

use super::price::Price;
use crate::args::SpendingArgs;
use crate::error::{Exit, Failure};
use crate::session::Session;

/// What a submit that is not confirmed leaves behind.
pub(crate) const NOTHING_CHARGED: &str = "nothing was submitted and nothing was charged";

/// Checks a price against `--max-price`.
///
/// # Errors
///
/// Returns an error if the price is above the limit or unknown.
pub(crate) fn check_max_price(price: &Price, limit: Option<Usd>) -> Result<(), Failure> {
    let Some(limit) = limit else { return Ok(()) };
    let (why, next) = match (price, price.upper_bound()) {
        (_, Some(max_usd)) if max_usd <= limit => return Ok(()),
        (Price::SpendCap(_), Some(max_usd)) => (
            format!("it may cost up to {max_usd} USD, above --max-price {limit}"),
            "pass a lower --cap, or a higher --max-price",
        ),
        (_, Some(max_usd)) => (
            format!("the price is {max_usd} USD, above --max-price {limit}"),
            "pass a higher --max-price, or request less: a cheaper model (svc pricing list), fewer \
             seconds or fewer images",
        ),
        (Price::OwnerCap(..), None) => (
            format!(
                "the only cap is set by the Format's owner ({}) and may change, and --max-price \
                 requires a fixed one",
                price.describe()
            ),
            "pass --cap USD, the maximum cost of a run's generations",
        ),
        (_, None) => (
            "the price is unknown, and --max-price requires a known price".to_owned(),
            "omit --max-price to submit at any price",
        ),
    };
    let failure = Failure::new(Exit::Funds, format!("{why}; nothing was charged"));
    Err(failure.context("not submitted").hint(next))
}

/// Prints the price, and asks for confirmation if the user can be prompted.
///
/// # Errors
///
/// Returns an error if the user does not confirm.
pub(crate) async fn confirm(
    session: &Session,
    what: &str,
    price: &Price,
    spending: &SpendingArgs,
) -> Result<(), Failure> {
    let price = price.describe();
    if spending.yes || session.is_sandbox() || !session.printer.can_prompt() {
        session.printer.note(&format!("price: {price}"));
        return Ok(());
    }
    let question = format!("{what} for {price}?");
    session.confirm(&question, NOTHING_CHARGED).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pricing::SpendCap;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    #[test]
    fn prices_above_the_limit_and_unknown_prices_are_rejected() {
        let charge = |text: &str| {
            let estimate = serde_json::from_value(json!({ "price_usd": text }));
            Price::Estimate(estimate.unwrap())
        };
        let cap = |text: &str| {
            let max_usd = usd(text);
            Price::SpendCap(SpendCap { max_usd, runs: 1 })
        };
        assert!(check_max_price(&charge("0.7035"), Some(usd("0.7035"))).is_ok());
        assert!(check_max_price(&cap("2"), Some(usd("2"))).is_ok());
        assert!(check_max_price(&Price::Unknown, None).is_ok());
        for (price, limit) in [
            (charge("0.7036"), "0.7035"),
            (cap("2.000001"), "2"),
            (Price::OwnerCap(usd("1"), 1), "2"),
            (Price::Unknown, "1000"),
            (charge("0.0001"), "0"),
        ] {
            assert_eq!(
                check_max_price(&price, Some(usd(limit)))
                    .unwrap_err()
                    .exit(),
                Exit::Funds
            );
        }
    }
}
