//! What a submit may cost.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::core::Core;
use super::deadline::Deadline;
use super::estimate_cache::estimate_shape;
use super::options::CallOptions;
use super::request::Request;
use crate::contract::Operation;
use crate::error::Result;
use crate::journal::store::Reservation;
use crate::journal::{ExpectedCost, JournalError, ResourceKind};
use crate::types::{Estimate, EstimateRequest, Usd};

/// The field of a run's body that the service enforces.
const SPEND_CAP: &str = "generation_spend_cap_usd";

/// Sets the spend cap of a run that has none to what the caller allows.
pub(super) fn apply_cap(
    request: &mut Arc<Request>,
    kind: ResourceKind,
    at_most: Option<Usd>,
) -> Result<()> {
    let Some(at_most) = at_most.filter(|_| is_run(kind)) else { return Ok(()) };
    let mut body = request.json_body();
    if body.get(SPEND_CAP).is_none_or(Value::is_null) {
        // An amount of dollars is a number in JSON as it is.
        let cap = serde_json::from_str(&at_most.to_string()).unwrap_or_default();
        body.insert(SPEND_CAP.to_owned(), cap);
        Arc::make_mut(request).set_body(&body)?;
    }
    Ok(())
}

/// Returns what a submit may cost, and what is reserved of the client's spend limit.
pub(super) async fn expected_cost(
    core: &Core,
    request: &Request,
    kind: ResourceKind,
    at_most: Option<Usd>,
    deadline: &Deadline,
) -> Result<ExpectedCost> {
    let limit = core.spend_limit.as_ref();
    if kind == ResourceKind::TopUp || (limit.is_none() && at_most.is_none()) {
        return Ok(ExpectedCost::default());
    }
    let price = price(core, request, kind, deadline).await?;
    if let Some(at_most) = at_most
        && price > at_most
    {
        return Err(JournalError::TooExpensive { price, at_most }.into());
    }
    Ok(ExpectedCost {
        price_usd: Some(price),
        reservation: limit.map(|limit| Reservation {
            budget: limit.name.clone(),
            amount: price,
            limit: limit.limit,
        }),
    })
}

/// Returns the most that a submit can cost, as far as the service says so.
async fn price(
    core: &Core,
    request: &Request,
    kind: ResourceKind,
    deadline: &Deadline,
) -> Result<Usd> {
    let body = request.json_body();
    let no_price = |reason| Err(JournalError::NoPrice { reason }.into());
    match request.operation {
        Some(Operation::ImageGenerate | Operation::VideoGenerate) => {
            estimate(core, body, deadline).await
        }
        Some(Operation::FormatsBulkCreate | Operation::FormatsBySlugBulkCreate) => {
            let items = body.get("items").and_then(Value::as_array);
            let caps = items.into_iter().flatten().map(|item| spend_cap(item.get(SPEND_CAP)));
            let sum = caps.reduce(|sum, cap| sum?.checked_add(cap?)).flatten();
            sum.map_or_else(|| no_price("each run of the queue needs a spend cap"), Ok)
        }
        _ if is_run(kind) => spend_cap(body.get(SPEND_CAP))
            .map_or_else(|| no_price("the run needs a spend cap, or `at_most`"), Ok),
        _ => no_price("the service gives no price for this operation"),
    }
}

async fn estimate(core: &Core, body: Map<String, Value>, deadline: &Deadline) -> Result<Usd> {
    let body = EstimateRequest::for_body(body);
    let known = core.estimates.price_of(estimate_shape(&body));
    let price = known.get_or_try_init(async || {
        let request = Request::new::<&str>(Operation::OpenEstimate, &[])?.with_body(&body)?;
        let options = CallOptions::default();
        let estimate = core.execute(&request, &options, deadline, None, |response| {
            response.into_success()?.decode::<Estimate>(core.wrapping)
        });
        match Box::pin(estimate).await {
            Ok(estimate) => Ok(estimate.price_usd),
            Err(error) => Err(error.without_field_prefix("input.")),
        }
    });
    // Another submit of that shape may be asking, with a longer time limit.
    match deadline.before(price).await {
        Some(price) => price.copied(),
        None => Err(deadline.passed_before_sending()),
    }
}

fn spend_cap(value: Option<&Value>) -> Option<Usd> {
    let cap: Usd = value?.to_string().trim_matches('"').parse().ok()?;
    (cap > Usd::ZERO).then_some(cap)
}

/// Returns whether what is submitted is a single run.
fn is_run(kind: ResourceKind) -> bool {
    matches!(kind, ResourceKind::ActionRun | ResourceKind::FormatRun | ResourceKind::AgentRun)
}
