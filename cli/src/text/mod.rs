//! Text for terminals and shells.

mod sanitize;
mod shell;

pub(crate) use sanitize::{clean, escape_json};
pub(crate) use shell::quote;
