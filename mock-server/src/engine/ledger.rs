//! The ledger: the balance of each workspace and the entries that changed it.
//!
//! The amount of an entry is never negative; its kind determines the direction. The opening
//! balance is not an entry. Entries that are dropped are summed up in `carried_forward`.

mod carried_forward;
mod entries;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use svc_sdk::types::Usd;

use self::carried_forward::CarriedForward;
use self::entries::Entries;
#[cfg(feature = "dashboard")]
pub(crate) use self::view::ControlEntry;
pub(crate) use self::view::{ControlLedger, EntryQuery, LedgerView};
use super::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryKind {
    /// Moves the amount from the available to the reserved balance.
    Reservation,
    /// Takes a reserved amount: it is spent.
    Capture,
    /// Moves a reserved amount back to the available balance.
    Refund,
    /// Adds the amount to the available balance.
    TopUp,
}

/// The object that an entry refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Subject {
    /// A job, by id.
    #[serde(rename = "job_id")]
    Job(Arc<str>),
    /// A run, by id.
    #[serde(rename = "run_id")]
    Run(Arc<str>),
    /// A top-up, by id.
    #[serde(rename = "top_up_id")]
    TopUp(Arc<str>),
}

impl Subject {
    pub(crate) fn into_id(self) -> Arc<str> {
        match self {
            Self::Job(id) | Self::Run(id) | Self::TopUp(id) => id,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LedgerEntry {
    pub(crate) id: Box<str>,
    pub(crate) workspace: Arc<str>,
    pub(crate) kind: EntryKind,
    pub(crate) amount: Usd,
    pub(crate) subject: Subject,
    pub(crate) created_at: Time,
}

/// The balance of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Account {
    pub(crate) opening: Usd,
    pub(crate) available: Usd,
    pub(crate) reserved: Usd,
    /// The sum of the entries that were dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carried_forward: Option<CarriedForward>,
    /// The sequence numbers of the workspace's entries.
    #[serde(skip)]
    entries: BTreeSet<usize>,
}

/// The error for an entry that the balance does not cover, or that would overflow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InsufficientBalance {
    pub(crate) available: Usd,
}

/// Returns the name of the account that the wallet of a workspace's organization has in the ledger.
///
/// It contains a space, which no workspace id does.
pub(crate) fn organization_account(workspace: &str) -> String {
    [workspace, ORGANIZATION_SUFFIX].concat()
}

/// Returns the workspace of an account, and whether it is the wallet of its organization.
pub(crate) fn account_owner(account: &str) -> (&str, bool) {
    match account.strip_suffix(ORGANIZATION_SUFFIX) {
        Some(workspace) => (workspace, true),
        None => (account, false),
    }
}

const ORGANIZATION_SUFFIX: &str = " organization";

/// All accounts, by workspace, and their entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "LedgerDocument")]
pub(crate) struct Ledger {
    accounts: BTreeMap<Arc<str>, Account>,
    entries: Entries,
    /// The sequence number of the next entry, counted over all workspaces.
    next_seq: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerDocument {
    accounts: BTreeMap<Arc<str>, Account>,
    entries: Entries,
    next_seq: usize,
}

impl TryFrom<LedgerDocument> for Ledger {
    type Error = String;

    fn try_from(document: LedgerDocument) -> Result<Self, String> {
        let LedgerDocument { mut accounts, mut entries, next_seq } = document;
        if entries.next_seq() > next_seq {
            return Err("the next sequence number of the ledger is in use".to_owned());
        }
        for (seq, entry) in entries.numbered() {
            let account = accounts.get_mut(&entry.workspace);
            let account = account
                .ok_or_else(|| format!("{}: unknown workspace {:?}", entry.id, entry.workspace))?;
            account.entries.insert(seq);
        }
        entries.share_workspaces(&accounts);
        Ok(Self { accounts, entries, next_seq })
    }
}

impl Ledger {
    /// Opens an account with an opening balance.
    pub(crate) fn open(&mut self, workspace: &str, opening: Usd) {
        let account = Account { opening, available: opening, ..Account::default() };
        self.accounts.insert(workspace.into(), account);
    }

    /// Returns `true` if the available balance of an account can be set without an overflow.
    pub(crate) fn can_set_available(&self, account: &str, available: Usd) -> bool {
        let account = self.account(account);
        account.is_none_or(|account| account.opening_for(available).is_some())
    }

    /// Sets the available balance of an account as if it had been opened with another balance.
    /// Nothing changes if a balance would overflow.
    pub(crate) fn set_available(&mut self, account: &str, available: Usd) {
        if let Some(account) = self.accounts.get_mut(account)
            && let Some(opening) = account.opening_for(available)
        {
            (account.opening, account.available) = (opening, available);
        }
    }

    pub(crate) fn account(&self, workspace: &str) -> Option<&Account> {
        self.accounts.get(workspace)
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = (&str, &Account)> {
        self.accounts.iter().map(|(workspace, account)| (workspace.as_ref(), account))
    }

    pub(crate) fn available(&self, workspace: &str) -> Usd {
        self.account(workspace).map_or(Usd::ZERO, |account| account.available)
    }

    /// Checks that the available balance covers a price.
    pub(crate) fn covers(&self, workspace: &str, price: Usd) -> Result<(), InsufficientBalance> {
        let available = self.available(workspace);
        if price <= available { Ok(()) } else { Err(InsufficientBalance { available }) }
    }

    /// Books an entry, completely or not at all.
    pub(crate) fn book(
        &mut self,
        workspace: &str,
        id: String,
        kind: EntryKind,
        amount: Usd,
        subject: Subject,
        created_at: Time,
    ) -> Result<(), InsufficientBalance> {
        let seq = self.next_seq;
        let (workspace, account) = self.account_mut(workspace);
        let available = account.available;
        let (available, reserved) =
            account.balance_after(kind, amount).ok_or(InsufficientBalance { available })?;
        (account.available, account.reserved) = (available, reserved);
        account.entries.insert(seq);
        self.next_seq = seq.saturating_add(1);
        let entry = LedgerEntry { id: id.into(), workspace, kind, amount, subject, created_at };
        self.entries.insert(seq, entry);
        Ok(())
    }

    /// Returns the account of a workspace, which is opened without a balance if there is none.
    fn account_mut(&mut self, workspace: &str) -> (Arc<str>, &mut Account) {
        let known = self.accounts.get_key_value(workspace);
        let name = known.map_or_else(|| workspace.into(), |(name, _)| name.clone());
        let account = self.accounts.entry(name.clone()).or_default();
        (name, account)
    }

    /// Returns `true` if the account has an entry with the sequence number.
    pub(crate) fn has(&self, account: &str, seq: usize) -> bool {
        self.account(account).is_some_and(|account| account.entries.contains(&seq))
    }

    /// Returns the entries of an account with their sequence numbers, newest first: all, or those with
    /// lower numbers than `before`. Those of the wallet of an organization are in an account of its own.
    pub(crate) fn newest_first(
        &self,
        account: &str,
        before: Option<usize>,
    ) -> impl Iterator<Item = (usize, &LedgerEntry)> {
        let before = before.unwrap_or(usize::MAX);
        let account = self.account(account).into_iter();
        let seqs = account.flat_map(move |account| account.entries.range(..before).rev().copied());
        seqs.filter_map(|seq| Some((seq, self.entries.get(seq)?)))
    }

    /// Returns the entries of all workspaces from a sequence number on, oldest first.
    pub(crate) fn entries_from(&self, seq: usize) -> impl Iterator<Item = (usize, &LedgerEntry)> {
        self.entries.numbered_from(seq)
    }

    /// Returns a copy without indexes, which shares the entries.
    pub(crate) fn without_indexes(&self) -> Self {
        let accounts = self.accounts.iter().map(|(workspace, account)| {
            let account = Account {
                opening: account.opening,
                available: account.available,
                reserved: account.reserved,
                carried_forward: account.carried_forward,
                entries: BTreeSet::new(),
            };
            (workspace.clone(), account)
        });
        Self {
            accounts: accounts.collect(),
            entries: self.entries.clone(),
            next_seq: self.next_seq,
        }
    }

    /// Checks that replaying the entries from the opening balances gives the current balances.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let wide = |amount: Usd| i128::from(amount.as_micros());
        let mut replayed = BTreeMap::new();
        for (name, account) in &self.accounts {
            let available = account.opening_of_entries();
            let available = available.ok_or_else(|| format!("{name}: the balance overflows"))?;
            replayed.insert(name, (wide(available), 0));
        }
        for (_, entry) in self.entries.numbered() {
            let amount = wide(entry.amount);
            let balance = replayed.get_mut(&entry.workspace);
            let reserved = balance.map(|(available, reserved)| {
                (*available, *reserved) = match entry.kind {
                    EntryKind::Reservation => (*available - amount, *reserved + amount),
                    EntryKind::Capture => (*available, *reserved - amount),
                    EntryKind::Refund => (*available + amount, *reserved - amount),
                    EntryKind::TopUp => (*available + amount, *reserved),
                };
                *reserved
            });
            if amount < 0 || reserved.is_none_or(|reserved| reserved < 0) {
                let LedgerEntry { id, workspace, .. } = entry;
                return Err(format!("{workspace}: the balance does not cover the entry {id}"));
            }
        }
        for (name, (available, reserved)) in replayed {
            // Only the current balance must not be negative: one that was set later changes the
            // opening balance, and thereby those in between.
            let matches = self.account(name).is_some_and(|current| {
                (available, reserved) == (wide(current.available), wide(current.reserved))
            });
            if !matches || available < 0 {
                return Err(format!("{name}: the balance does not match the entries"));
            }
        }
        Ok(())
    }
}

impl Account {
    /// Returns the opening balance that makes `available` the available balance; `None` if a balance
    /// would overflow.
    fn opening_for(&self, available: Usd) -> Option<Usd> {
        // The reserved amount may be refunded, which must not overflow either.
        available.checked_add(self.reserved)?;
        let change = available.checked_sub(self.available)?;
        self.opening.checked_add(change)
    }

    /// Returns the available and reserved balance after an entry; `None` if the entry is invalid.
    fn balance_after(&self, kind: EntryKind, amount: Usd) -> Option<(Usd, Usd)> {
        if amount < Usd::ZERO {
            return None;
        }
        let subtract = |from: Usd| from.checked_sub(amount).filter(|rest| *rest >= Usd::ZERO);
        match kind {
            EntryKind::Reservation => {
                Some((subtract(self.available)?, self.reserved.checked_add(amount)?))
            }
            EntryKind::Capture => Some((self.available, subtract(self.reserved)?)),
            EntryKind::Refund => {
                Some((self.available.checked_add(amount)?, subtract(self.reserved)?))
            }
            EntryKind::TopUp => {
                let available = self.available.checked_add(amount)?;
                // The reserved amount may be refunded, which must not overflow either.
                available.checked_add(self.reserved)?;
                Some((available, self.reserved))
            }
        }
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_detects_a_balance_that_does_not_match_the_entries() {
        let mut ledger = Ledger::default();
        ledger.open("ws_a", Usd::from_micros(1));
        ledger.accounts.get_mut("ws_a").unwrap().available = Usd::from_micros(2);
        assert_eq!(ledger.audit(), Err("ws_a: the balance does not match the entries".to_owned()));
    }
}
