//! The two addresses of a Format.

use std::fmt;

use crate::contract::Operation;
use crate::types::FormatId;

/// A Format's address: its id, or its owner's handle and its slug.
///
/// A text with a slash in it is `handle/slug`, any other an id.
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
    /// By id.
    Id(FormatId),
    /// By handle and slug.
    Slug {
        /// Whose it is.
        handle: String,
        /// Which one.
        slug: String,
    },
}

impl FormatRef {
    /// The Format with that id.
    #[must_use]
    pub fn id(id: impl Into<FormatId>) -> Self {
        Self::Id(id.into())
    }

    /// The Format of that owner with that slug.
    #[must_use]
    pub fn slug(handle: impl Into<String>, slug: impl Into<String>) -> Self {
        Self::Slug {
            handle: handle.into(),
            slug: slug.into(),
        }
    }

    /// Of the two operations the one that takes this address, with its path segments.
    #[must_use]
    pub fn addressed(&self, by_id: Operation, by_slug: Operation) -> (Operation, Vec<&str>) {
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
