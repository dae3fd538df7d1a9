//! References to Formats.

use std::fmt;

use crate::contract::Operation;
use crate::types::FormatId;

/// A reference to a Format: its id, or its owner's handle and its slug.
///
/// A string with a slash converts to a handle and a slug, any other string to an id.
///
/// ```
/// use svc_sdk::types::FormatRef;
///
/// assert_eq!(FormatRef::from("studio/storyboard"), FormatRef::slug("studio", "storyboard"));
/// assert_eq!(FormatRef::from("fmt_1").to_string(), "fmt_1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormatRef {
    /// An id.
    Id(FormatId),
    /// A handle and a slug.
    Slug {
        /// The owner's handle.
        handle: String,
        /// The Format's slug.
        slug: String,
    },
}

impl FormatRef {
    /// Creates a reference from an id.
    #[must_use]
    pub fn id(id: impl Into<FormatId>) -> Self {
        Self::Id(id.into())
    }

    /// Creates a reference from a handle and a slug.
    #[must_use]
    pub fn slug(handle: impl Into<String>, slug: impl Into<String>) -> Self {
        Self::Slug { handle: handle.into(), slug: slug.into() }
    }

    /// Returns the operation for this kind of reference, with its path parameters.
    #[must_use]
    pub fn select_operation(&self, by_id: Operation, by_slug: Operation) -> (Operation, Vec<&str>) {
        match self {
            Self::Id(id) => (by_id, vec![id.as_str()]),
            Self::Slug { handle, slug } => (by_slug, vec![handle, slug]),
        }
    }
}

impl From<&str> for FormatRef {
    fn from(text: &str) -> Self {
        match text.split_once('/') {
            Some((handle, slug)) => Self::slug(handle, slug),
            None => Self::id(text),
        }
    }
}

impl From<String> for FormatRef {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<FormatId> for FormatRef {
    fn from(id: FormatId) -> Self {
        Self::Id(id)
    }
}

impl From<&FormatId> for FormatRef {
    fn from(id: &FormatId) -> Self {
        Self::Id(id.clone())
    }
}

impl From<&Self> for FormatRef {
    fn from(reference: &Self) -> Self {
        reference.clone()
    }
}

impl fmt::Display for FormatRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Slug { handle, slug } => write!(f, "{handle}/{slug}"),
        }
    }
}
