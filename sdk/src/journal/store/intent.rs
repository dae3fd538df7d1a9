//! Intents, as they are begun, stored and listed.

use std::fmt;
use std::time::SystemTime;

use super::budget::{Hold, Reservation};
use super::change::Phase;
use super::error::StoreError;

/// The identifier of an intent: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntentId(String);

impl IntentId {
    /// Creates an identifier from a store's text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the identifier as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What identifies a named submission: its id within an account within a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubmissionKey {
    /// The namespace of the journal.
    pub namespace: String,
    /// The label of the account, empty if the client has none.
    pub account: String,
    /// The id that the application gave.
    pub submission_id: String,
}

/// An intent that is about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIntent {
    /// Its identifier.
    pub id: IntentId,
    /// The namespace of the journal.
    pub namespace: String,
    /// The label of the account, empty if the client has none.
    pub account: String,
    /// The id that the application gave, or `None` for a submit without one.
    pub submission_id: Option<String>,
    /// The generation: one more than that of the newest intent of the submission, from 1.
    pub generation: u32,
    /// Whether it is never purged.
    pub is_permanent: bool,
    /// What the journal knows of the request, as JSON.
    pub facts: String,
    /// What is reserved of a budget.
    pub reservation: Option<Reservation>,
}

impl NewIntent {
    pub(in crate::journal) fn submission(&self) -> Option<SubmissionKey> {
        Some(SubmissionKey {
            namespace: self.namespace.clone(),
            account: self.account.clone(),
            submission_id: self.submission_id.clone()?,
        })
    }
}

/// An intent as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIntent {
    /// Its identifier.
    pub id: IntentId,
    /// The namespace of the journal.
    pub namespace: String,
    /// The label of the account, empty if it has none.
    pub account: String,
    /// The id that the application gave.
    pub submission_id: Option<String>,
    /// The generation.
    pub generation: u32,
    /// What the journal knows of the request, as JSON.
    pub facts: String,
    /// What happened since, oldest first.
    pub records: Vec<StoredRecord>,
    /// When it was begun, by the store's clock.
    pub begun_at: SystemTime,
    /// When it was read, by the same clock.
    pub read_at: SystemTime,
    /// The phase.
    pub phase: Phase,
    /// Who has it.
    pub owner: Owner,
    /// The budget that it has reserved something of.
    pub budget: Option<String>,
    /// What it holds of its budget.
    pub hold: Hold,
}

/// A record of an intent, with the time of the store's clock at which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// What happened, as JSON.
    pub record: String,
    /// When it was written.
    pub at: SystemTime,
}

/// The owner of an intent, as seen by a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This store.
    This,
    /// Another one, which is running as far as is known.
    Other,
    /// One that is gone.
    Gone,
}

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

/// Returns the intents of a submission that [`Store::get`](super::Store::get) returns. Each comes with its phase and
/// whether it was ever changed to [`Phase::Accepted`], by ascending generation.
pub(in crate::journal) fn found<T>(intents: Vec<(T, Phase, bool)>) -> Vec<T> {
    let newest = intents.len().checked_sub(1);
    let newest_executed = intents
        .iter()
        .rposition(|(_, phase, was_accepted)| *phase != Phase::Released || *was_accepted);
    let found = (0..).zip(intents).filter(|(index, (_, phase, _))| {
        !phase.is_closed() || Some(*index) == newest || Some(*index) == newest_executed
    });
    found.map(|(_, (intent, ..))| intent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_the_newest_and_the_newest_executed_intent_are_found() {
        use Phase::{Accepted, Acknowledged, Ended, Open, Released};

        for (phases, expected) in [
            (vec![Open, Accepted, Ended], vec![0, 1, 2]),
            (vec![Acknowledged, Released, Released], vec![0, 2]),
            (vec![Acknowledged, Acknowledged], vec![1]),
            (vec![Ended, Released, Acknowledged], vec![0, 2]),
            (vec![Released], vec![0]),
            (vec![], vec![]),
        ] {
            let intents = (0..).zip(phases).map(|(index, phase)| (index, phase, false));
            assert_eq!(found(intents.collect()), expected);
        }
        let released = [(0, Released, true), (1, Released, false), (2, Released, false)];
        assert_eq!(found(released.into()), [0, 2]);
    }
}
