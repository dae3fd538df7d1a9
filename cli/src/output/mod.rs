//! What is printed: data on standard output, talk on standard error.
//!
//! The commands decide what to say; where it goes, in which form and in which colours is decided
//! here and nowhere else.

mod jq;
mod live;
mod printer;
mod table;

pub(crate) use live::Live;
pub(crate) use printer::{Printer, Wishes, print};
pub(crate) use table::Table;
