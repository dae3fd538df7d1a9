//! Prices before a submit: estimates, spend caps, limits and the confirmation prompt.

mod limit;

use serde_json::{Map, Value};
use svc_sdk::types::{Estimate, EstimateRequest, Usd};
use svc_sdk::{Call, Client, ClientSurface, Developer, Error, ErrorKind, Open};

use crate::error::Failure;
use crate::output::values::money;
use crate::text::sanitize;

pub(crate) use crate::request::pricing::limit::{
    NOTHING_CHARGED, check_max_price, check_model_kind, confirm,
};

#[derive(Clone, Debug)]
pub(crate) enum Price {
    /// An estimate, which equals the charge.
    Estimate(Estimate),
    SpendCap(SpendCap),
    /// The cap that the Format's owner has set, which may change, and the number of runs.
    OwnerCap(Usd, usize),
    /// Neither the request nor the Format's owner has set a cap.
    Uncapped,
    Unknown,
}

impl Price {
    /// Returns the maximum cost, if it is guaranteed.
    pub(crate) fn upper_bound(&self) -> Option<Usd> {
        match self {
            Self::Estimate(estimate) => Some(estimate.price_usd),
            Self::SpendCap(cap) => Some(cap.max_usd),
            Self::OwnerCap(..) | Self::Uncapped | Self::Unknown => None,
        }
    }

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

    /// Describes the price: `$0.7035 (…)`, `up to $2.00 (spend cap)`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Estimate(estimate) => describe_estimate(estimate),
            Self::SpendCap(SpendCap { max_usd, runs: 1 }) => {
                format!("up to {} (spend cap)", money(*max_usd))
            }
            Self::SpendCap(SpendCap { max_usd, runs }) => {
                format!("up to {} (spend caps of {runs} runs)", money(*max_usd))
            }
            Self::OwnerCap(cap, 1) => format!("up to {} (the Format's default cap)", money(*cap)),
            Self::OwnerCap(cap, runs) => {
                let cap = money(*cap);
                format!("up to {cap} for each of {runs} runs (the Format's default cap)")
            }
            Self::Uncapped | Self::Unknown => "an unknown price".to_owned(),
        }
    }
}

/// The maximum cost of the generations of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpendCap {
    /// The sum of all runs.
    pub(crate) max_usd: Usd,
    pub(crate) runs: usize,
}

impl SpendCap {
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

/// Fields that do not affect the price.
const NON_PRICING_FIELDS: [&str; 4] = ["mode", "webhook_url", "wait_timeout_seconds", "metadata"];

pub(crate) fn estimate_request(body: &Map<String, Value>) -> EstimateRequest {
    let mut input = body.clone();
    let model = match input.remove("model") {
        Some(Value::String(model)) => model,
        _ => String::new(),
    };
    for field in NON_PRICING_FIELDS {
        input.remove(field);
    }
    EstimateRequest::new(model, input)
}

/// A surface that may offer estimates.
pub(crate) trait EstimateSource: ClientSurface {
    /// Returns the call that gets an estimate, or `None` if the surface has no estimates.
    fn estimate(client: &Client<Self>, request: EstimateRequest) -> Option<Call<Estimate>>;
}

impl EstimateSource for Open {
    fn estimate(client: &Client<Self>, request: EstimateRequest) -> Option<Call<Estimate>> {
        Some(client.estimates().create(request))
    }
}

impl EstimateSource for Developer {
    fn estimate(_: &Client<Self>, _: EstimateRequest) -> Option<Call<Estimate>> {
        None
    }
}

/// Fetches the estimate of a body. Returns `None` if the service has no price for it.
pub(crate) async fn fetch_estimate<S: EstimateSource>(
    client: &Client<S>,
    body: &Map<String, Value>,
) -> Result<Option<Estimate>, Failure> {
    let Some(call) = S::estimate(client, estimate_request(body)) else { return Ok(None) };
    match call.await {
        Ok(estimate) => Ok(Some(estimate)),
        Err(error) if has_no_price(&error) => Ok(None),
        Err(error) => {
            Err(Failure::from(error).context("cannot get the price; nothing was submitted"))
        }
    }
}

/// Returns whether the failure of an estimate means that the service has no price for the body.
pub(crate) fn has_no_price(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidResponse || error.is_not_found()
}

/// Describes an estimate: `$0.7035 (5 × $0.1407 per second, model video-f)`.
pub(crate) fn describe_estimate(estimate: &Estimate) -> String {
    let mut parts = Vec::new();
    if let (Some(units), Some(unit_price)) = (estimate.units, estimate.unit_price_usd) {
        let unit = estimate.unit.as_deref().unwrap_or("unit");
        parts.push(format!("{units} × {} per {}", money(unit_price), sanitize(unit)));
    }
    if let Some(model) = &estimate.model {
        parts.push(format!("model {}", sanitize(model)));
    }
    let details = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{}{details}", money(estimate.price_usd))
}
