//! What is printed: data on standard output, talk on standard error.
//!
//! The commands decide what to say; where it goes, in which form and in which colours is decided
//! here and nowhere else.

mod jq;
mod live;
mod printer;
mod table;

pub(crate) use live::ProgressLine;
pub(crate) use printer::{Printer, PrinterOptions, write_stdout};
pub(crate) use table::Table;
