//! Output: data on standard output, messages and progress on standard error.
//!
//! Commands decide what to print. This module alone decides on the stream, the format and the
//! colors.

mod jq;
mod live;
mod printer;
mod table;

pub(crate) use live::ProgressLine;
pub(crate) use printer::{Printer, PrinterOptions, write_stdout};
pub(crate) use table::Table;
