//! The price of a submit, as known before it is sent.

use serde_json::{Map, Value};
use svc_sdk::types::{Estimate, Usd};

use super::estimate::describe_estimate;

/// The price of a submit.
#[derive(Clone, Debug)]
pub(crate) enum Price {
    /// An estimate, which equals the charge.
    Estimate(Estimate),
    /// The spend cap in the request.
    SpendCap(SpendCap),
    /// The cap that the Format's owner has set, which may change, and the number of runs.
    OwnerCap(Usd, usize),
    /// The price is unknown.
    Unknown,
}

impl Price {
    /// Returns the maximum cost, if it is guaranteed.
    pub(crate) fn upper_bound(&self) -> Option<Usd> {
        match self {
            Self::Estimate(estimate) => Some(estimate.price_usd),
            Self::SpendCap(cap) => Some(cap.max_usd),
            Self::OwnerCap(..) | Self::Unknown => None,
        }
    }

    /// Returns the estimate, if there is one.
    pub(crate) fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Estimate(estimate) => Some(estimate),
            _ => None,
        }
    }

    /// Returns the sum of the caps of a bulk queue's items, including the owner's default cap.
    pub(crate) fn cap_total(&self, items: &[Value]) -> Option<Usd> {
        let default_cap = match self {
            Self::OwnerCap(cap, _) => Some(*cap),
            _ => None,
        };
        SpendCap::from_items(items, default_cap).map(|cap| cap.max_usd)
    }

    /// Describes the price: `0.7035 USD (…)`, `up to 2.0000 USD (spend cap)`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Estimate(estimate) => describe_estimate(estimate),
            Self::SpendCap(SpendCap { max_usd, runs: 1 }) => {
                format!("up to {max_usd} USD (spend cap)")
            }
            Self::SpendCap(SpendCap { max_usd, runs }) => {
                format!("up to {max_usd} USD (spend caps of {runs} runs)")
            }
            Self::OwnerCap(cap, 1) => format!("up to {cap} USD (the Format's default cap)"),
            Self::OwnerCap(cap, runs) => {
                format!("up to {cap} USD for each of {runs} runs (the Format's default cap)")
            }
            Self::Unknown => "an unknown price".to_owned(),
        }
    }
}

/// The maximum cost of the generations of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpendCap {
    /// The sum of all runs.
    pub(crate) max_usd: Usd,
    /// The number of runs.
    pub(crate) runs: usize,
}

impl SpendCap {
    /// Returns the cap in the body of a run.
    pub(crate) fn from_body(body: &Map<String, Value>) -> Option<Self> {
        let cap = body.get("generation_spend_cap_usd")?;
        let max_usd = serde_json::from_value(cap.clone()).ok()?;
        Some(Self { max_usd, runs: 1 })
    }

    /// Returns the sum of the caps of a bulk queue's items, if all of them have one. An item without
    /// a cap has the default cap.
    pub(crate) fn from_items(items: &[Value], default_cap: Option<Usd>) -> Option<Self> {
        let mut max_usd = Usd::ZERO;
        for item in items {
            let cap = Self::from_body(item.as_object()?).map(|cap| cap.max_usd);
            max_usd = max_usd.checked_add(cap.or(default_cap)?)?;
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
    fn the_caps_of_a_queue_add_up_unless_one_is_missing() {
        let items = |json: Value| json.as_array().cloned().unwrap();
        let all =
            items(json!([{"generation_spend_cap_usd": 1.5}, {"generation_spend_cap_usd": "0.25"}]));
        assert_eq!(
            SpendCap::from_items(&all, None),
            Some(SpendCap {
                max_usd: usd("1.75"),
                runs: 2
            })
        );
        let one = items(json!([{"generation_spend_cap_usd": 1}, {"instruction": "x"}]));
        assert_eq!(SpendCap::from_items(&one, None), None);
        let max_usd = usd("1.5");
        assert_eq!(
            SpendCap::from_items(&one, Some(usd("0.5"))),
            Some(SpendCap { max_usd, runs: 2 })
        );
        assert_eq!(SpendCap::from_items(&[], None), None);
    }
}
