//! Text for terminals and shells.

mod counted;
mod sanitize;
mod shell;

pub(crate) use counted::counted;
pub(crate) use sanitize::{escape_json, sanitize};
pub(crate) use shell::shell_quote;
