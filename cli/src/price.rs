//! Nothing is spent by surprise: the price before the submit, and the question.

use serde_json::{Map, Value};
use svc_sdk::types::{Estimate, EstimateRequest, Usd};
use svc_sdk::{Call, Client, Developer, Open, Surface};

use crate::args::MoneyArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::untrusted::Untrusted;
use crate::session::Session;

/// Fields that no price depends on.
const PRICELESS: [&str; 4] = ["mode", "webhook_url", "wait_timeout_seconds", "metadata"];

/// The question that goes with a body.
pub(crate) fn question(body: &Map<String, Value>) -> EstimateRequest {
    let mut input = body.clone();
    let model = match input.remove("model") {
        Some(Value::String(model)) => model,
        _ => String::new(),
    };
    for field in PRICELESS {
        input.remove(field);
    }
    EstimateRequest::new(model, input)
}

/// What something will cost, as far as that can be known before.
#[derive(Clone, Debug)]
pub(crate) enum Price {
    /// An estimate: it equals the charge.
    Charge(Estimate),
    /// The most that the generations of runs may cost, as the order says.
    Cap(Cap),
    /// The cap that the Format's owner set, for so many runs. The owner may change it.
    Owners(Usd, usize),
    /// Nobody knows.
    Unknown,
}

impl Price {
    /// The most that it can cost, where that is certain.
    pub(crate) fn most(&self) -> Option<Usd> {
        match self {
            Self::Charge(estimate) => Some(estimate.price_usd),
            Self::Cap(cap) => Some(cap.most),
            Self::Owners(..) | Self::Unknown => None,
        }
    }

    /// The estimate, where it is one.
    pub(crate) fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Charge(estimate) => Some(estimate),
            _ => None,
        }
    }

    /// In words: `0.7035 USD (…)`, `up to 2.0000 USD (its cap)`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Charge(estimate) => describe(estimate),
            Self::Cap(Cap { most, runs: 1 }) => format!("up to {most} USD (its cap)"),
            Self::Cap(Cap { most, runs }) => {
                format!("up to {most} USD (the caps of its {runs} runs)")
            }
            Self::Owners(cap, 1) => format!("up to {cap} USD (the Format's own cap)"),
            Self::Owners(cap, runs) => {
                format!("up to {cap} USD for each of {runs} runs (the Format's own cap)")
            }
            Self::Unknown => "an unknown price".to_owned(),
        }
    }
}

/// The most that the generations of runs may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cap {
    /// Of all of them.
    pub(crate) most: Usd,
    /// How many they are.
    pub(crate) runs: usize,
}

impl Cap {
    /// The cap of a run, where its body has one.
    pub(crate) fn of(body: &Map<String, Value>) -> Option<Self> {
        let cap = body.get("generation_spend_cap_usd")?;
        let most = serde_json::from_value(cap.clone()).ok()?;
        Some(Self { most, runs: 1 })
    }

    /// The caps of all items of a bulk queue; none where one of them has none.
    pub(crate) fn of_all(items: &[Value]) -> Option<Self> {
        let mut most = Usd::ZERO;
        for item in items {
            most = most.checked_add(Self::of(item.as_object()?)?.most)?;
        }
        let runs = items.len();
        (runs > 0).then_some(Self { most, runs })
    }
}

/// A surface, and what it tells of prices before they are paid.
pub(crate) trait Priced: Surface {
    /// The question for a price; none where there are no estimates.
    fn estimate(client: &Client<Self>, question: EstimateRequest) -> Option<Call<Estimate>>;
}

impl Priced for Open {
    fn estimate(client: &Client<Self>, question: EstimateRequest) -> Option<Call<Estimate>> {
        Some(client.open_estimate(question))
    }
}

impl Priced for Developer {
    fn estimate(_: &Client<Self>, _: EstimateRequest) -> Option<Call<Estimate>> {
        None
    }
}

/// What the service wants for it; `None` where it names no price.
pub(crate) async fn ask<S: Priced>(
    client: &Client<S>,
    body: &Map<String, Value>,
) -> Result<Option<Estimate>, Failure> {
    let Some(call) = S::estimate(client, question(body)) else {
        return Ok(None);
    };
    match call.send().await {
        Ok(estimate) => Ok(Some(estimate)),
        Err(error) if error.is_decode() || error.is_not_found() => Ok(None),
        Err(error) => Err(Failure::from(error).during("could not get the price; nothing was sent")),
    }
}

/// Refuses what is over the limit. Without a price there is no telling, so that is refused too.
pub(crate) fn within(price: &Price, limit: Option<Usd>) -> Result<(), Failure> {
    let Some(limit) = limit else { return Ok(()) };
    let (why, next) = match (price, price.most()) {
        (_, Some(most)) if most <= limit => return Ok(()),
        (Price::Cap(_), Some(most)) => (
            format!("it may cost up to {most} USD, which is over --max-price {limit}"),
            Some("pass a lower --cap"),
        ),
        (_, Some(most)) => (
            format!("it costs {most} USD, which is over --max-price {limit}"),
            None,
        ),
        (Price::Owners(..), None) => (
            format!(
                "only its owner caps it, at {}, and --max-price {limit} allows nothing that others may change",
                price.describe()
            ),
            Some("pass --cap USD: it is the most that a run's generations can cost"),
        ),
        (_, None) => (
            format!("no price can be had, and --max-price {limit} allows no unknown one"),
            None,
        ),
    };
    let failure = Failure::new(Exit::Funds, why).during("not submitted");
    let failure = match next {
        Some(next) => failure.next(next),
        None => failure,
    };
    Err(failure.next("nothing was sent, nothing was charged"))
}

/// Says the price, and asks where somebody can be asked and something is at stake.
pub(crate) fn confirm(
    session: &Session,
    what: &str,
    price: &Price,
    money: &MoneyArgs,
) -> Result<(), Failure> {
    let price = price.describe();
    if money.yes || session.is_sandbox() || !session.printer.can_ask() {
        session.printer.note(&format!("price: {price}"));
        return Ok(());
    }
    if session.printer.ask(&format!("{what} for {price}?"))? {
        return Ok(());
    }
    Err(Failure::other(
        "not confirmed; nothing was sent, nothing was charged",
    ))
}

/// A price in words: `0.7035 USD (5 × 0.1407 a second, model video-f)`.
pub(crate) fn describe(estimate: &Estimate) -> String {
    let mut parts = Vec::new();
    if let (Some(units), Some(unit_price)) = (estimate.units, estimate.unit_price_usd) {
        let unit = estimate.unit.as_deref().unwrap_or("unit");
        parts.push(format!("{units} × {unit_price} per {}", Untrusted(unit)));
    }
    if let Some(model) = &estimate.model {
        parts.push(format!("model {}", Untrusted(model)));
    }
    let particulars = if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    };
    format!("{} USD{particulars}", estimate.price_usd)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    #[test]
    fn a_limit_holds_to_the_last_digit_and_fails_closed() {
        let charge = |text: &str| {
            let estimate = serde_json::from_value(json!({ "price_usd": text }));
            Price::Charge(estimate.unwrap())
        };
        let cap = |text: &str| {
            let most = usd(text);
            Price::Cap(Cap { most, runs: 1 })
        };
        assert!(within(&charge("0.7035"), Some(usd("0.7035"))).is_ok());
        assert!(within(&cap("2"), Some(usd("2"))).is_ok());
        assert!(within(&Price::Unknown, None).is_ok());
        for (price, limit) in [
            (charge("0.7036"), "0.7035"),
            (cap("2.000001"), "2"),
            (Price::Owners(usd("1"), 1), "2"),
            (Price::Unknown, "1000"),
            (charge("0.0001"), "0"),
        ] {
            assert_eq!(
                within(&price, Some(usd(limit))).unwrap_err().exit(),
                Exit::Funds
            );
        }
    }

    #[test]
    fn the_caps_of_a_queue_add_up_and_one_that_is_missing_is_missing_in_all() {
        let items = |json: Value| json.as_array().cloned().unwrap();
        let all =
            items(json!([{"generation_spend_cap_usd": 1.5}, {"generation_spend_cap_usd": "0.25"}]));
        assert_eq!(
            Cap::of_all(&all),
            Some(Cap {
                most: usd("1.75"),
                runs: 2
            })
        );
        let one = items(json!([{"generation_spend_cap_usd": 1}, {"instruction": "x"}]));
        assert_eq!(Cap::of_all(&one), None);
        assert_eq!(Cap::of_all(&[]), None);
    }

    #[test]
    fn only_what_the_price_depends_on_is_asked() {
        let body = json!({"model": "video-f", "duration": 5, "metadata": {"a": "b"}, "mode": "webhook", "webhook_url": "https://h"});
        let question = question(body.as_object().unwrap());
        assert_eq!(question.model, "video-f");
        assert_eq!(Value::Object(question.input), json!({"duration": 5}));
    }

    #[test]
    fn a_price_says_what_it_is_made_of() {
        let estimate = serde_json::from_value(json!({
            "model": "video\u{1b}-f", "price_usd": "0.7035", "unit": "second", "unit_price_usd": "0.1407", "units": 5
        }));
        assert_eq!(
            describe(&estimate.unwrap()),
            "0.7035 USD (5 × 0.1407 per second, model video-f)"
        );
        let bare = serde_json::from_value(json!({"price_usd": "0.005"})).unwrap();
        assert_eq!(describe(&bare), "0.0050 USD");
    }
}
