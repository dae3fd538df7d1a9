//! What is printed: data on standard output, talk on standard error.
//!
//! The commands decide what to say; where it goes, in which form and in which colours is decided
//! here and nowhere else.

pub(crate) mod jq;
pub(crate) mod live;
mod printer;
mod shell;
mod table;
pub(crate) mod untrusted;

pub(crate) use printer::{Printer, Wishes, print};
pub(crate) use shell::quote;
pub(crate) use table::Table;
