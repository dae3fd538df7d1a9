//! Prices of items: caps of runs, and estimates that items of the same shape share.

use std::collections::HashMap;

use serde_json::{Map, Value};
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use super::plan::account_of;
use super::scheduler::{Account, Index};
use crate::journal::RequestHash;
use crate::pricing::{SpendCap, estimate_request};

/// The maximum number of estimates that are kept.
const MAX_ESTIMATES: usize = 10_000;

/// The shape of a request: what its price depends on.
pub(super) type Shape = u128;

/// How the price of a request is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PriceSource {
    /// It is known.
    Known(Usd),
    /// The service estimates it.
    Estimate(Shape),
    /// There is none.
    Unknown,
}

/// The estimates so far, and the items that wait for one.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    known: HashMap<Shape, Option<Usd>>,
    waiting: HashMap<Shape, Vec<Index>>,
}

/// Returns how the price of a request is found.
pub(super) fn price_source(operation: Operation, body: &Map<String, Value>) -> PriceSource {
    match account_of(operation) {
        Account::Open => PriceSource::Estimate(shape(body)),
        Account::Developer if operation == Operation::AgentCompletionsCreate => {
            let cap = SpendCap::from_body(body);
            cap.map_or(PriceSource::Unknown, |cap| PriceSource::Known(cap.max_usd))
        }
        Account::Developer => PriceSource::Unknown,
    }
}

/// Returns the shape of a body. The text of a prompt does not change the price.
fn shape(body: &Map<String, Value>) -> Shape {
    let mut request = estimate_request(body);
    if let Some(prompt) = request.input.get_mut("prompt")
        && prompt.as_str().is_some_and(|prompt| !prompt.is_empty())
    {
        *prompt = Value::Bool(true);
    }
    let mut input = request.input;
    input.insert("model".to_owned(), Value::String(request.model));
    let input = Value::Object(input);
    let hash = RequestHash::new("", "", Operation::OpenEstimate, &[], &input, None).to_string();
    hash.get(..32)
        .and_then(|prefix| u128::from_str_radix(prefix, 16).ok())
        .unwrap_or_default()
}

impl Estimates {
    /// Returns the estimate of a shape: `None` if it has to be fetched, and `Some(None)` if the service
    /// has none.
    pub(super) fn get(&self, shape: Shape) -> Option<Option<Usd>> {
        self.known.get(&shape).copied()
    }

    /// Adds an item that waits for an estimate. Returns whether it is the first of its shape, so that
    /// the estimate is to be fetched.
    pub(super) fn wait(&mut self, shape: Shape, index: Index) -> bool {
        let waiting = self.waiting.entry(shape).or_default();
        waiting.push(index);
        waiting.len() == 1
    }

    /// Stores an estimate.
    pub(super) fn insert(&mut self, shape: Shape, price: Option<Usd>) {
        if self.known.len() >= MAX_ESTIMATES {
            self.known.clear();
        }
        self.known.insert(shape, price);
    }

    /// Returns all items that wait for an estimate.
    pub(super) fn take_all_waiting(&mut self) -> Vec<Index> {
        self.waiting.drain().flat_map(|(_, items)| items).collect()
    }

    /// Returns the items that waited for an estimate.
    pub(super) fn take_waiting(&mut self, shape: Shape) -> Vec<Index> {
        self.waiting.remove(&shape).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(operation: Operation, body: Value) -> PriceSource {
        price_source(operation, body.as_object().unwrap())
    }

    #[test]
    fn the_text_of_a_prompt_does_not_change_the_price() {
        let video = |body| source(Operation::VideoGenerate, body);
        let first = video(json!({"model": "video-f", "prompt": "a", "duration": 5}));
        let same = [
            json!({"duration": 5, "prompt": "b", "model": "video-f"}),
            json!({"model": "video-f", "prompt": "a", "duration": 5, "metadata": {"a": "b"}}),
        ];
        let others = [
            json!({"model": "video-f", "prompt": "a", "duration": 6}),
            json!({"model": "video-l", "prompt": "a", "duration": 5}),
            json!({"model": "video-f", "duration": 5}),
            json!({"model": "video-f", "prompt": "a", "duration": 5, "image_url": "https://a/1"}),
        ];
        for body in same {
            assert_eq!(video(body), first);
        }
        for body in others {
            assert_ne!(video(body), first);
        }
    }

    #[test]
    fn the_price_of_a_run_is_its_cap() {
        let run = json!({"instruction": "x", "generation_spend_cap_usd": 1.5});
        assert_eq!(
            source(Operation::AgentCompletionsCreate, run),
            PriceSource::Known("1.5".parse().unwrap())
        );
        let music = source(Operation::Music1Generate, json!({"prompt": "x"}));
        assert_eq!(music, PriceSource::Unknown);
    }

    #[test]
    fn an_estimate_is_fetched_once_for_all_that_wait() {
        let mut estimates = Estimates::default();
        assert!(estimates.wait(1, 10));
        assert!(!estimates.wait(1, 11));
        assert!(estimates.wait(2, 12));
        estimates.insert(1, None);
        assert_eq!(estimates.take_waiting(1), [10, 11]);
        assert_eq!((estimates.get(1), estimates.get(2)), (Some(None), None));
    }
}
