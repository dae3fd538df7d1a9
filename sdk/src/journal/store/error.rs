//! The error of a store.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// Why a store did not do what it was asked for.
#[derive(Clone, Debug)]
pub struct StoreError(Reason);

#[derive(Clone, Debug)]
enum Reason {
    NotOwner,
    NotFound,
    Locked(String),
    Failed { what: String, source: Option<Arc<dyn StdError + Send + Sync>> },
}

impl StoreError {
    /// Creates the error of a change to an intent that belongs to another owner.
    #[must_use]
    pub fn not_owner() -> Self {
        Self(Reason::NotOwner)
    }

    /// Creates the error of a change to an intent that is not in the store.
    #[must_use]
    pub fn not_found() -> Self {
        Self(Reason::NotFound)
    }

    /// Creates the error of a store that only one process can open, and that another has opened.
    #[must_use]
    pub fn locked(what: impl Into<String>) -> Self {
        Self(Reason::Locked(what.into()))
    }

    /// Creates the error of a store that failed, such as "cannot write to `/var/lib/shop/svc`".
    #[must_use]
    pub fn failed(
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self(Reason::Failed { what: what.into(), source: Some(Arc::from(source.into())) })
    }

    /// Creates the error of a store that failed, without a source.
    #[must_use]
    pub fn message(what: impl Into<String>) -> Self {
        Self(Reason::Failed { what: what.into(), source: None })
    }

    /// Returns whether the intent belongs to another owner.
    #[must_use]
    pub fn is_not_owner(&self) -> bool {
        matches!(self.0, Reason::NotOwner)
    }

    /// Returns whether the intent is not in the store.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.0, Reason::NotFound)
    }

    /// Returns whether another process has opened a store that only one process can open.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self.0, Reason::Locked(_))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::NotOwner => {
                f.write_str("another process works on the intent, or it is not open any more")
            }
            Reason::NotFound => f.write_str("the intent is not in the journal"),
            Reason::Locked(what) | Reason::Failed { what, .. } => f.write_str(what),
        }
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Reason::Failed { source: Some(source), .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}
