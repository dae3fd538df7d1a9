//! The subset of JSON Schema that a run's output can be asked for in: whether a schema stays within
//! it, a value that fits a schema, and whether a value fits.

mod check;
mod example;
mod fit;

use serde::{Deserialize, Serialize};

pub(crate) use check::check;
pub(crate) use example::{asks_for_a_url, example};
pub(crate) use fit::fit;

/// How many levels a schema may have; the root is the first.
const MAX_DEPTH: usize = 8;

/// Something that is not as it must be: where, which rule it breaks, and that in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Violation {
    /// A JSON Pointer; the root is empty.
    pub(crate) path: String,
    pub(crate) rule: String,
    pub(crate) message: String,
}

impl Violation {
    fn new(path: &str, rule: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            rule: rule.to_owned(),
            message: message.into(),
        }
    }
}

/// A pointer one step further down.
fn child_path(path: &str, step: &str) -> String {
    format!("{path}/{}", step.replace('~', "~0").replace('/', "~1"))
}
