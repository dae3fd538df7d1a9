//! Money: each workspace's balance, and an entry for everything that moved it.
//!
//! Amounts of entries are magnitudes; the kind says which way they went. The opening balance is
//! no entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use svc_sdk::types::Usd;

use super::Time;

/// What an entry did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryKind {
    /// From available to reserved.
    Reservation,
    /// From reserved to the service.
    Capture,
    /// From reserved back to available.
    Refund,
    /// From the payer to available.
    TopUp,
}

/// What an entry is about.
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

/// One movement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// Its place among all workspaces' entries.
    pub(crate) seq: u64,
    pub(crate) kind: EntryKind,
    pub(crate) amount: Usd,
    pub(crate) subject: Subject,
    pub(crate) created_at: Time,
}

impl Entry {
    /// As it is read by its owner.
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

/// A workspace's money.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Account {
    pub(crate) opening: Usd,
    pub(crate) available: Usd,
    pub(crate) reserved: Usd,
    /// Oldest first.
    pub(crate) entries: Vec<Entry>,
}

/// A movement that would take an account past what it has, or past what can be counted.
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

    /// What a workspace can still spend.
    pub(crate) fn available(&self, workspace: &str) -> Usd {
        self.account(workspace)
            .map_or(Usd::ZERO, |account| account.available)
    }

    /// Whether a price is covered.
    pub(crate) fn covers(&self, workspace: &str, price: Usd) -> Result<(), InsufficientBalance> {
        let available = self.available(workspace);
        if price <= available {
            Ok(())
        } else {
            Err(InsufficientBalance { available })
        }
    }

    /// Books one movement: all of it, or nothing.
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
            .moved(kind, amount)
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

    /// Whether a workspace has an entry at that place among all.
    pub(crate) fn has(&self, workspace: &str, seq: u64) -> bool {
        let account = self.account(workspace);
        account.is_some_and(|account| {
            let place = account
                .entries
                .binary_search_by_key(&seq, |entry| entry.seq);
            place.is_ok()
        })
    }

    /// A workspace's entries, newest first, from before that place among all.
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

    /// Every entry with its workspace, oldest first.
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

    /// Whether the balances are what the entries make of the opening balances.
    pub(crate) fn audit(&self) -> Result<(), String> {
        for (workspace, account) in self.accounts() {
            let mut replayed = Account {
                available: account.opening,
                ..Account::default()
            };
            for entry in &account.entries {
                let moved = replayed.moved(entry.kind, entry.amount);
                (replayed.available, replayed.reserved) = moved
                    .ok_or_else(|| format!("entry {} of {workspace} is not covered", entry.id))?;
            }
            if (replayed.available, replayed.reserved) != (account.available, account.reserved) {
                return Err(format!(
                    "the balance of {workspace} is not what its entries say"
                ));
            }
        }
        Ok(())
    }
}

impl Account {
    /// Available and reserved after a movement.
    fn moved(&self, kind: EntryKind, amount: Usd) -> Option<(Usd, Usd)> {
        if amount < Usd::ZERO {
            return None;
        }
        let less = |from: Usd| from.checked_sub(amount).filter(|left| *left >= Usd::ZERO);
        match kind {
            EntryKind::Reservation => {
                Some((less(self.available)?, self.reserved.checked_add(amount)?))
            }
            EntryKind::Capture => Some((self.available, less(self.reserved)?)),
            EntryKind::Refund => Some((self.available.checked_add(amount)?, less(self.reserved)?)),
            EntryKind::TopUp => {
                let available = self.available.checked_add(amount)?;
                // What is reserved may come back.
                available.checked_add(self.reserved)?;
                Some((available, self.reserved))
            }
        }
    }
}

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
    fn every_movement_keeps_the_books_balanced() {
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
    fn what_is_not_covered_is_not_booked() {
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
    fn an_audit_finds_a_balance_that_no_entry_explains() {
        let mut ledger = Ledger::default();
        ledger.open("ws_a", usd("1.0000"));
        ledger.accounts.get_mut("ws_a").unwrap().available = usd("2.0000");
        assert_eq!(
            ledger.audit(),
            Err("the balance of ws_a is not what its entries say".to_owned())
        );
    }

    #[test]
    fn an_entry_names_what_it_is_about() {
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
