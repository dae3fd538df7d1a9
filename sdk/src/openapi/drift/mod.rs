//! What another document has that ours has not, and the other way round.
//!
//! Compared is what a client sees: operations by method and path, parameters, fields by where they
//! are, values of enums, codes by status. How the other document names its components, or whether
//! it has any, does not matter. What is the same difference at many operations is told once.

mod comparison;
mod node;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use self::comparison::Comparison;

/// Which way something differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Drift {
    /// The other document does not have it any more.
    Gone,
    /// Both have it, and not alike.
    Changed,
    /// This build does not know it.
    New,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// An operation, or a webhook event.
    Operation,
    /// A parameter of the query or a header.
    Parameter,
    /// A field of a body.
    Field,
    /// A value of a set of texts.
    EnumValue,
    /// The status of an answer.
    Status,
    /// The code of a refusal.
    Code,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Which way.
    pub drift: Drift,
    /// What.
    pub part: Part,
    /// Where: an operation, the path of a field from the type that it belongs to, a status.
    pub place: String,
    /// The value, code or status that it is about; where it changed, what it was and is.
    pub detail: Option<String>,
    /// Whether this build relies on what is gone or changed.
    pub breaks: bool,
    /// Whether it was assumed in the first place, so that nothing relies on it.
    pub assumed: bool,
    /// The operations that it shows at.
    pub operations: Vec<String>,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gone => "gone",
            Self::Changed => "changed",
            Self::New => "new",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Operation => "operation",
            Self::Parameter => "parameter",
            Self::Field => "field",
            Self::EnumValue => "enum value",
            Self::Status => "status",
            Self::Code => "code",
        })
    }
}

/// How `theirs` differs from `ours`: what is gone first, each difference once.
///
/// ```
/// use svc_sdk::openapi::{Drift, Servers, compare, document};
///
/// let ours = document(&Servers::default());
/// let mut theirs = ours.clone();
/// theirs["paths"].as_object_mut().unwrap().remove("/v1/balance");
/// let differences = compare(&ours, &theirs);
/// assert_eq!(differences.len(), 1);
/// assert_eq!(differences[0].drift, Drift::Gone);
/// assert_eq!(differences[0].place, "balance");
/// assert!(differences[0].breaks);
/// ```
#[must_use]
pub fn compare(ours: &Value, theirs: &Value) -> Vec<Difference> {
    Comparison::of(ours, theirs).into_differences()
}
