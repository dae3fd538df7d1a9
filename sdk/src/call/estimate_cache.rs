//! The estimates that a client keeps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::OnceCell;

use super::clock::{self, ClockReading};
use crate::journal::Fingerprint;
use crate::lock::lock;
use crate::types::{EstimateRequest, Usd};

/// The number of estimates that a client keeps.
const MAX_ESTIMATES: usize = 10_000;
/// How long an estimate is used: the service may change its prices.
const ESTIMATE_LIFETIME: Duration = Duration::from_secs(60);

/// Prices by the shape of a request. Each is asked for once in its lifetime, however many submits wait
/// for it.
#[derive(Debug, Default)]
pub(crate) struct EstimateCache(Mutex<HashMap<[u8; 32], KnownEstimate>>);

#[derive(Debug)]
struct KnownEstimate {
    asked_at: ClockReading,
    price: Arc<OnceCell<Usd>>,
}

impl KnownEstimate {
    fn is_valid(&self) -> bool {
        let age = clock::now().saturating_duration_since(self.asked_at.monotonic());
        age < ESTIMATE_LIFETIME && !self.asked_at.has_slept()
    }
}

impl EstimateCache {
    /// Returns the cell with the price of requests of a shape. It is empty until a submit fills it.
    pub(crate) fn price_of(&self, shape: [u8; 32]) -> Arc<OnceCell<Usd>> {
        let mut known = lock(&self.0);
        if let Some(estimate) = known.get(&shape).filter(|it| it.is_valid()) {
            return Arc::clone(&estimate.price);
        }
        if known.len() >= MAX_ESTIMATES {
            known.retain(|_, estimate| estimate.is_valid());
        }
        if known.len() >= MAX_ESTIMATES {
            known.clear();
        }
        let price = Arc::default();
        let estimate = KnownEstimate { asked_at: ClockReading::now(), price: Arc::clone(&price) };
        known.insert(shape, estimate);
        price
    }
}

/// Returns a digest of everything that the price depends on: all but the text of the prompt.
pub(crate) fn estimate_shape(request: &EstimateRequest) -> [u8; 32] {
    let mut input = request.input.clone();
    if let Some(prompt) = input.get_mut("prompt")
        && prompt.as_str().is_some_and(|prompt| !prompt.is_empty())
    {
        *prompt = Value::Bool(true);
    }
    let body = Value::Object(input).to_string();
    let fingerprint = Fingerprint::new(&request.model, "", body.as_bytes());
    fingerprint.digest()
}
