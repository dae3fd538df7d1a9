//! The ledger: the balance of each workspace and the entries that changed it.
//!
//! The amount of an entry is never negative; its kind determines the direction. The opening
//! balance is not an entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use svc_sdk::types::Usd;

use super::Time;

/// The kind of a ledger entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryKind {
    /// Moves the amount from available to reserved.
    Reservation,
    /// Charges a reserved amount.
    Capture,
    /// Returns a reserved amount to available.
    Refund,
    /// Adds the amount to available.
    TopUp,
}

/// The object that an entry refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Subject {
    /// A job, by id.
    #[serde(rename = "job_id")]
    Job(String),
    /// A run, by id.
    #[serde(rename = "run_id")]
    Run(String),
    /// A top-up, by id.
    #[serde(rename = "top_up_id")]
    TopUp(String),
}

/// A ledger entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// The sequence number among the entries of all workspaces.
    pub(crate) seq: u64,
    pub(crate) kind: EntryKind,
    pub(crate) amount: Usd,
    pub(crate) subject: Subject,
    pub(crate) created_at: Time,
}

impl Entry {
    /// Returns the JSON representation of the entry.
    pub(crate) fn view(&self) -> Value {
        let (field, id) = match &self.subject {
            Subject::Job(id) => ("job_id", id),
            Subject::Run(id) => ("run_id", id),
            Subject::TopUp(id) => ("top_up_id", id),
        };
        json!({
            "id": self.id,
            "kind": self.kind,
            "amount_usd": self.amount,
            "created_at": self.created_at.to_string(),
            field: id,
        })
    }
}

/// The balance and entries of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Account {
    pub(crate) opening: Usd,
    pub(crate) available: Usd,
    pub(crate) reserved: Usd,
    /// The entries, oldest first.
    pub(crate) entries: Vec<Entry>,
}

/// The error for an entry that the balance does not cover, or that would overflow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InsufficientBalance {
    pub(crate) available: Usd,
}

/// All accounts, by workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ledger {
    accounts: BTreeMap<String, Account>,
    next_seq: u64,
}

impl Ledger {
    /// Opens an account with an opening balance.
    pub(crate) fn open(&mut self, workspace: &str, opening: Usd) {
        let account = Account {
            opening,
            available: opening,
            ..Account::default()
        };
        self.accounts.insert(workspace.to_owned(), account);
    }

    pub(crate) fn account(&self, workspace: &str) -> Option<&Account> {
        self.accounts.get(workspace)
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = (&str, &Account)> {
        self.accounts
            .iter()
            .map(|(workspace, account)| (workspace.as_str(), account))
    }

    /// Returns the available balance of a workspace.
    pub(crate) fn available(&self, workspace: &str) -> Usd {
        self.account(workspace)
            .map_or(Usd::ZERO, |account| account.available)
    }

    /// Checks that the available balance covers a price.
    ///
    /// # Errors
    ///
    /// Returns an error with the available balance if it does not.
    pub(crate) fn covers(&self, workspace: &str, price: Usd) -> Result<(), InsufficientBalance> {
        let available = self.available(workspace);
        if price <= available {
            Ok(())
        } else {
            Err(InsufficientBalance { available })
        }
    }

    /// Books an entry, completely or not at all.
    ///
    /// # Errors
    ///
    /// Returns an error if the balance does not cover the amount, or would overflow.
    pub(crate) fn book(
        &mut self,
        workspace: &str,
        id: String,
        kind: EntryKind,
        amount: Usd,
        subject: Subject,
        created_at: Time,
    ) -> Result<(), InsufficientBalance> {
        let account = self.accounts.entry(workspace.to_owned()).or_default();
        let available = account.available;
        let (available, reserved) = account
            .balance_after(kind, amount)
            .ok_or(InsufficientBalance { available })?;
        (account.available, account.reserved) = (available, reserved);
        let seq = self.next_seq;
        self.next_seq = self.next_seq.saturating_add(1);
        account.entries.push(Entry {
            id,
            seq,
            kind,
            amount,
            subject,
            created_at,
        });
        Ok(())
    }

    /// Returns `true` if the workspace has an entry with the sequence number.
    pub(crate) fn has(&self, workspace: &str, seq: u64) -> bool {
        let account = self.account(workspace);
        account.is_some_and(|account| {
            let entries = &account.entries;
            entries
                .binary_search_by_key(&seq, |entry| entry.seq)
                .is_ok()
        })
    }

    /// Returns the entries of a workspace, newest first, from before the sequence number.
    pub(crate) fn newest_first(
        &self,
        workspace: &str,
        before: Option<u64>,
    ) -> impl Iterator<Item = &Entry> {
        let entries = self
            .account(workspace)
            .map_or(&[][..], |account| &account.entries);
        let older = before.map_or(entries.len(), |seq| {
            entries.partition_point(|entry| entry.seq < seq)
        });
        entries.get(..older).unwrap_or_default().iter().rev()
    }

    /// Returns all entries with their workspaces, oldest first.
    pub(crate) fn entries(&self) -> Vec<(&str, &Entry)> {
        let mut all: Vec<_> = self
            .accounts()
            .flat_map(|(workspace, account)| {
                account.entries.iter().map(move |entry| (workspace, entry))
            })
            .collect();
        all.sort_by_key(|(_, entry)| entry.seq);
        all
    }

    /// Checks that replaying the entries from the opening balances gives the current balances.
    ///
    /// # Errors
    ///
    /// Returns a description of the first mismatch.
    pub(crate) fn audit(&self) -> Result<(), String> {
        for (workspace, account) in self.accounts() {
            let mut replayed = Account {
                available: account.opening,
                ..Account::default()
            };
            for entry in &account.entries {
                let moved = replayed.balance_after(entry.kind, entry.amount);
                (replayed.available, replayed.reserved) = moved.ok_or_else(|| {
                    format!(
                        "{workspace}: the balance does not cover the entry {}",
                        entry.id
                    )
                })?;
            }
            if (replayed.available, replayed.reserved) != (account.available, account.reserved) {
                return Err(format!(
                    "{workspace}: the balance does not match the entries"
                ));
            }
        }
        Ok(())
    }
}

impl Account {
    /// Returns the available and reserved balance after an entry; `None` if the entry is invalid.
    fn balance_after(&self, kind: EntryKind, amount: Usd) -> Option<(Usd, Usd)> {
        if amount < Usd::ZERO {
            return None;
        }
        let subtract = |from: Usd| from.checked_sub(amount).filter(|rest| *rest >= Usd::ZERO);
        match kind {
            EntryKind::Reservation => Some((
                subtract(self.available)?,
                self.reserved.checked_add(amount)?,
            )),
            EntryKind::Capture => Some((self.available, subtract(self.reserved)?)),
            EntryKind::Refund => Some((
                self.available.checked_add(amount)?,
                subtract(self.reserved)?,
            )),
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

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    fn book(ledger: &mut Ledger, kind: EntryKind, amount: &str) -> Result<(), InsufficientBalance> {
        let subject = match kind {
            EntryKind::TopUp => Subject::TopUp("top_1".to_owned()),
            _ => Subject::Job("job_1".to_owned()),
        };
        ledger.book(
            "ws_a",
            "ent_1".to_owned(),
            kind,
            usd(amount),
            subject,
            Time::default(),
        )
    }

    #[test]
    fn entries_keep_the_ledger_balanced() {
        let mut ledger = Ledger::default();
        ledger.open("ws_a", usd("1.0000"));
        for (kind, amount, available, reserved) in [
            (EntryKind::Reservation, "0.7035", "0.2965", "0.7035"),
            (EntryKind::TopUp, "5.0000", "5.2965", "0.7035"),
            (EntryKind::Reservation, "0.2965", "5.0000", "1.0000"),
            (EntryKind::Capture, "0.7035", "5.0000", "0.2965"),
            (EntryKind::Refund, "0.2965", "5.2965", "0.0000"),
        ] {
            book(&mut ledger, kind, amount).unwrap();
            let account = ledger.account("ws_a").unwrap();
            assert_eq!(account.available.to_string(), available);
            assert_eq!(account.reserved.to_string(), reserved);
            ledger.audit().unwrap();
        }
    }

    #[test]
    fn uncovered_entries_are_rejected() {
        let mut ledger = Ledger::default();
        ledger.open("ws_a", usd("1.0000"));
        assert_eq!(ledger.covers("ws_a", usd("1.0000")), Ok(()));
        let short = InsufficientBalance {
            available: usd("1.0000"),
        };
        assert_eq!(ledger.covers("ws_a", usd("1.0001")), Err(short));
        assert_eq!(
            book(&mut ledger, EntryKind::Reservation, "1.0001"),
            Err(short)
        );
        assert!(book(&mut ledger, EntryKind::Capture, "0.0001").is_err());
        assert!(book(&mut ledger, EntryKind::TopUp, "-5").is_err());
        assert!(ledger.entries().is_empty());
    }

    #[test]
    fn audit_detects_a_balance_that_does_not_match_the_entries() {
        let mut ledger = Ledger::default();
        ledger.open("ws_a", usd("1.0000"));
        ledger.accounts.get_mut("ws_a").unwrap().available = usd("2.0000");
        assert_eq!(
            ledger.audit(),
            Err("ws_a: the balance does not match the entries".to_owned())
        );
    }

    #[test]
    fn an_entry_names_its_subject() {
        let mut ledger = Ledger::default();
        ledger.open("ws_a", usd("1.0000"));
        book(&mut ledger, EntryKind::Reservation, "0.7035").unwrap();
        let (workspace, entry) = ledger.entries()[0];
        assert_eq!(workspace, "ws_a");
        let expected = json!({
            "id": "ent_1", "kind": "reservation", "amount_usd": "0.7035", "job_id": "job_1",
            "created_at": "1970-01-01T00:00:00Z"
        });
        assert_eq!(entry.view(), expected);
    }
}
