//! Prices before a submit: estimates, spend caps, limits and the confirmation prompt.

mod estimate;
mod limit;
mod price;

pub(crate) use estimate::{Priced, ask, describe, question};
pub(crate) use limit::{confirm, within};
pub(crate) use price::{Cap, Price};
