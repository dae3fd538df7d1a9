//! The comparison of two documents.
//!
//! It compares what a client sees: operations by method and path, parameters, the fields of bodies
//! by their position, enum values, statuses and error codes. Component names do not matter, nor does
//! whether a document has components. A difference that shows in several operations is reported
//! once.

mod comparison;
mod reader;
mod resolved_schema;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use self::comparison::Comparison;

/// How a part differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The other document lacks it.
    Gone,
    /// Both documents have it, but not alike.
    Changed,
    /// Only the other document has it.
    New,
}

/// The kind of part that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// An operation or a webhook event.
    Operation,
    /// A query parameter or a request header.
    Parameter,
    /// A field of a request or response body.
    Field,
    /// A value of an enum.
    EnumValue,
    /// The status of a response.
    Status,
    /// An error code.
    Code,
}

/// A difference between two documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// How the part differs. Serialized as `drift`.
    #[serde(rename = "drift")]
    pub kind: ChangeKind,
    /// The kind of part.
    pub part: Part,
    /// An operation, the path of a field starting at its type, or a status. Serialized as `place`.
    #[serde(rename = "place")]
    pub location: String,
    /// The value, code or status, or a description of the change.
    pub detail: Option<String>,
    /// Whether the difference can break a client that was built against our document. Serialized as
    /// `breaks`.
    #[serde(rename = "breaks")]
    pub breaking: bool,
    /// Whether our document assumes the part, so that nothing relies on it.
    pub assumed: bool,
    /// The operations that are affected.
    pub operations: Vec<String>,
}

impl fmt::Display for ChangeKind {
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

/// Returns how `theirs` differs from `ours`, starting with what is gone.
///
/// ```
/// use svc_openapi::{ChangeKind, Part, Servers};
///
/// let ours = svc_openapi::document(&Servers::default());
/// let mut theirs = ours.clone();
/// theirs["components"]["schemas"]["JobStatus"]["enum"]
///     .as_array_mut()
///     .unwrap()
///     .push("paused".into());
/// let differences = svc_openapi::compare(&ours, &theirs);
/// assert_eq!(differences[0].kind, ChangeKind::New);
/// assert_eq!(differences[0].part, Part::EnumValue);
/// assert_eq!(differences[0].detail.as_deref(), Some("paused"));
/// assert!(!differences[0].breaking);
/// ```
#[must_use]
pub fn compare(ours: &Value, theirs: &Value) -> Vec<Difference> {
    Comparison::run(ours, theirs)
}
