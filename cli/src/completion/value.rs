//! A value that an argument can be completed with.

use serde::{Deserialize, Serialize};

/// A value with a description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Value {
    pub(super) value: String,
    #[serde(default)]
    pub(super) help: String,
    /// The type of a model, or whether a Format has only an id.
    #[serde(default)]
    pub(super) kind: String,
}
