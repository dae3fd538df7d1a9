//! Output: data on standard output, messages and progress on standard error.
//!
//! Commands decide what to print. This module alone decides on the stream, the format and the
//! colors.

mod column;
mod download_bars;
mod jq;
mod layout;
mod live;
mod log;
mod log_line;
mod messages;
mod printer;
mod status;
mod table;
pub(crate) mod values;

pub(crate) use column::Column;
pub(crate) use live::ProgressLine;
pub(crate) use log::{LOG_VARIABLE, LogFilter};
pub(crate) use printer::{Printer, PrinterOptions, write_stdout};
pub(crate) use table::Table;
