//! Output: data on standard output, messages and progress on standard error.
//!
//! Commands decide what to print. This module alone decides on the stream, the format and the
//! colors.

mod jq;
pub(crate) mod json;
pub(crate) mod layout;
mod live;
mod log;
mod messages;
pub(crate) mod object;
mod printer;
mod table;
pub(crate) mod values;

pub(crate) use crate::output::live::{ProgressLine, progress_style};
pub(crate) use crate::output::log::{LOG_VARIABLE, LogFilter};
pub(crate) use crate::output::printer::{Printer, PrinterOptions, write_stdout};
pub(crate) use crate::output::table::Table;
pub(crate) use crate::resource::ObjectKind;
