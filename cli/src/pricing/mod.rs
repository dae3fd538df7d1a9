//! Prices before a submit: estimates, spend caps, limits and the confirmation prompt.

mod estimate;
mod limit;
mod price;

pub(crate) use estimate::{EstimateSource, estimate_request, fetch_estimate};
pub(crate) use limit::{check_max_price, confirm};
pub(crate) use price::{Price, SpendCap};
