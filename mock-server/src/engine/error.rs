//! What the control API may ask of the engine, and why it may be refused.

use std::fmt;

/// A control request that cannot be done; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// There is no such thing.
    NotFound(String),
    /// The request makes no sense; the text names the field.
    Invalid(String),
    /// It is too late for that.
    Conflict(String),
}

impl ControlError {
    /// The HTTP status that says the same.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound(_) => 404,
            Self::Invalid(_) => 400,
            Self::Conflict(_) => 409,
        }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(text) | Self::Invalid(text) | Self::Conflict(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ControlError {}

/// A document that is no state of this engine; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreError(pub(crate) String);

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no state document: {}", self.0)
    }
}

impl std::error::Error for RestoreError {}
