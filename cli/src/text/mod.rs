//! Text for terminals and shells.

mod sanitize;
mod shell;

pub(crate) use sanitize::{escape_json, sanitize};
pub(crate) use shell::shell_quote;
