//! The JSON Schema subset for run outputs: validation of schemas, example values, and validation
//! of values.

mod check;
mod example;
mod fit;
#[cfg(test)]
mod properties;

use serde::{Deserialize, Serialize};

pub(crate) use check::check;
pub(crate) use example::{asks_for_a_url, example, urls_in};
pub(crate) use fit::fit;

/// The maximum nesting depth of a schema. The root has depth 1.
const MAX_DEPTH: usize = 8;

/// A violation of a rule at a location in a schema or value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Violation {
    /// The location as a JSON Pointer, which is empty for the root.
    pub(crate) path: String,
    pub(crate) rule: String,
    pub(crate) message: String,
}

impl Violation {
    fn add(violations: &mut Vec<Self>, path: &str, rule: &str, message: impl Into<String>) {
        let (path, rule) = (path.to_owned(), rule.to_owned());
        violations.push(Self { path, rule, message: message.into() });
    }
}

fn child_path(path: &str, step: &str) -> String {
    format!("{path}/{}", step.replace('~', "~0").replace('/', "~1"))
}
