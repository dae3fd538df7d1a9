//! Prices before a submit: estimates, spend caps, limits and the confirmation prompt.

mod estimate;
mod limit;
mod model_kind;
mod price;

pub(crate) use estimate::{EstimateSource, estimate_request, fetch_estimate};
pub(crate) use limit::{NOTHING_CHARGED, check_max_price, confirm};
pub(crate) use model_kind::check_model_kind;
pub(crate) use price::{Price, SpendCap};
