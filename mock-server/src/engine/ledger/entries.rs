//! The entries of all workspaces, by sequence number.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Account, LedgerEntry};
use crate::engine::serde_list::read_items;
use crate::engine::shared_list::SharedList;

/// The entries of all workspaces. In a document, each is preceded by its sequence number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entries(SharedList<LedgerEntry>);

impl Entries {
    pub(super) fn insert(&mut self, seq: usize, entry: LedgerEntry) -> bool {
        self.0.insert(seq, entry)
    }

    pub(super) fn remove(&mut self, seq: usize) -> Option<LedgerEntry> {
        self.0.remove(seq)
    }

    /// Returns the sequence number after the last one in use.
    pub(super) fn next_seq(&self) -> usize {
        self.0.next_number()
    }

    /// Replaces each entry's copy of its workspace's id by the one of the account, so that it is in
    /// memory once.
    pub(super) fn share_workspaces(&mut self, accounts: &BTreeMap<Arc<str>, Account>) {
        self.0.for_each_mut(|entry| {
            if let Some((workspace, _)) = accounts.get_key_value(&entry.workspace) {
                entry.workspace = workspace.clone();
            }
        });
    }
}

impl Deref for Entries {
    type Target = SharedList<LedgerEntry>;

    fn deref(&self) -> &SharedList<LedgerEntry> {
        &self.0
    }
}

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.numbered())
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut entries = Self::default();
        read_items(deserializer, |(seq, entry): (usize, LedgerEntry)| {
            match entries.insert(seq, entry) {
                true => Ok(()),
                false => Err(format!("the sequence number {seq} of the ledger is in use")),
            }
        })?;
        Ok(entries)
    }
}
