//! The price of a submit, as far as it is known before it is sent.

use serde_json::{Map, Value};
use svc_sdk::types::{Estimate, Usd};

use super::estimate::describe_estimate;

/// What something will cost, as far as that can be known before.
#[derive(Clone, Debug)]
pub(crate) enum Price {
    /// An estimate: it equals the charge.
    Estimate(Estimate),
    /// The most that the generations of runs may cost, as the order says.
    SpendCap(SpendCap),
    /// The cap that the Format's owner set, for so many runs. The owner may change it.
    OwnerCap(Usd, usize),
    /// Nobody knows.
    Unknown,
}

impl Price {
    /// The most that it can cost, where that is certain.
    pub(crate) fn upper_bound(&self) -> Option<Usd> {
        match self {
            Self::Estimate(estimate) => Some(estimate.price_usd),
            Self::SpendCap(cap) => Some(cap.max_usd),
            Self::OwnerCap(..) | Self::Unknown => None,
        }
    }

    /// The estimate, where it is one.
    pub(crate) fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Estimate(estimate) => Some(estimate),
            _ => None,
        }
    }

    /// In words: `0.7035 USD (…)`, `up to 2.0000 USD (its cap)`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Estimate(estimate) => describe_estimate(estimate),
            Self::SpendCap(SpendCap { max_usd, runs: 1 }) => {
                format!("up to {max_usd} USD (its cap)")
            }
            Self::SpendCap(SpendCap { max_usd, runs }) => {
                format!("up to {max_usd} USD (the caps of its {runs} runs)")
            }
            Self::OwnerCap(cap, 1) => format!("up to {cap} USD (the Format's own cap)"),
            Self::OwnerCap(cap, runs) => {
                format!("up to {cap} USD for each of {runs} runs (the Format's own cap)")
            }
            Self::Unknown => "an unknown price".to_owned(),
        }
    }
}

/// The most that the generations of runs may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpendCap {
    /// Of all of them.
    pub(crate) max_usd: Usd,
    /// How many they are.
    pub(crate) runs: usize,
}

impl SpendCap {
    /// The cap of a run, where its body has one.
    pub(crate) fn from_body(body: &Map<String, Value>) -> Option<Self> {
        let cap = body.get("generation_spend_cap_usd")?;
        let max_usd = serde_json::from_value(cap.clone()).ok()?;
        Some(Self { max_usd, runs: 1 })
    }

    /// The caps of all items of a bulk queue; none where one of them has none.
    pub(crate) fn from_items(items: &[Value]) -> Option<Self> {
        let mut max_usd = Usd::ZERO;
        for item in items {
            max_usd = max_usd.checked_add(Self::from_body(item.as_object()?)?.max_usd)?;
        }
        let runs = items.len();
        (runs > 0).then_some(Self { max_usd, runs })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    #[test]
    fn the_caps_of_a_queue_add_up_and_one_that_is_missing_is_missing_in_all() {
        let items = |json: Value| json.as_array().cloned().unwrap();
        let all =
            items(json!([{"generation_spend_cap_usd": 1.5}, {"generation_spend_cap_usd": "0.25"}]));
        assert_eq!(
            SpendCap::from_items(&all),
            Some(SpendCap {
                max_usd: usd("1.75"),
                runs: 2
            })
        );
        let one = items(json!([{"generation_spend_cap_usd": 1}, {"instruction": "x"}]));
        assert_eq!(SpendCap::from_items(&one), None);
        assert_eq!(SpendCap::from_items(&[]), None);
    }
}
