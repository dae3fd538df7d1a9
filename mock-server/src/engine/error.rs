//! Errors of control requests and snapshots.

use std::fmt;

/// An error of a control request. The state was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// The addressed object does not exist.
    NotFound(String),
    /// The request is invalid. The text starts with the name of the field.
    Invalid(String),
    /// The request conflicts with the current state.
    Conflict(String),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(text) | Self::Invalid(text) | Self::Conflict(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ControlError {}

/// The error for a document that is not a valid state. The state was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreError(pub(crate) String);

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid state document: {}", self.0)
    }
}

impl std::error::Error for RestoreError {}
