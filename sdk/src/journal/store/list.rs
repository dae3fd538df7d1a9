//! Lists of intents.

use super::change::Phase;
use super::error::StoreError;
use super::intent::StoredIntent;

/// Which intents [`list`](super::Store::list) returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Those of that namespace only.
    pub namespace: Option<String>,
    /// Those in the phases [`Acknowledged`](Phase::Acknowledged) and [`Released`](Phase::Released)
    /// as well.
    pub include_closed: bool,
    /// Those whose [`Change::resource`](super::Change::resource) is that id only.
    pub resource: Option<String>,
    /// Those after that position: [`IntentPage::next`] of the page before.
    pub after: Option<String>,
    /// The maximum number of intents in the page.
    pub limit: usize,
}

impl ListFilter {
    /// Returns the position as a number, which is 0 at the start, for a store whose positions are numbers.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not a number.
    pub fn position(&self) -> Result<u64, StoreError> {
        match self.after.as_deref() {
            None => Ok(0),
            Some(text) => text.parse().map_err(|error| {
                StoreError::failed(format!("`{text}` is not a position in a list"), error)
            }),
        }
    }

    pub(in crate::journal) fn includes(&self, namespace: &str, phase: Phase) -> bool {
        let is_namespace = self.namespace.as_deref().is_none_or(|it| it == namespace);
        is_namespace && (self.include_closed || !phase.is_closed())
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentPage {
    /// The intents, in the order in which they were begun.
    pub intents: Vec<StoredIntent>,
    /// The position after the last of them, or `None` on the last page.
    pub next: Option<String>,
}
