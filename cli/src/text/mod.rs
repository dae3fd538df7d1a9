//! Text for terminals and shells.

mod counted;
mod json_error;
mod sanitize;
mod shell;

pub(crate) use counted::counted;
pub(crate) use json_error::json_error;
pub(crate) use sanitize::{escape_json, sanitize};
pub(crate) use shell::shell_quote;
