//! JSON representations of entries.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::carried_forward::CarriedForward;
use super::{Account, Ledger, LedgerEntry, Subject, account_owner, organization_account};
#[cfg(feature = "frontend")]
use crate::engine::page::{Items, Page};
use crate::engine::time::TimeText;

impl LedgerEntry {
    /// Adds the fields of the entry to an object, in alphabetical order.
    fn write_fields<M: SerializeMap>(&self, fields: &mut M) -> Result<(), M::Error> {
        fields.serialize_entry("amount_usd", &self.amount)?;
        fields.serialize_entry("created_at", &TimeText(self.created_at))?;
        fields.serialize_entry("id", &self.id)?;
        if let Subject::Job(id) = &self.subject {
            fields.serialize_entry("job_id", id)?;
        }
        fields.serialize_entry("kind", &self.kind)?;
        match &self.subject {
            Subject::Job(_) => Ok(()),
            Subject::Run(id) => fields.serialize_entry("run_id", id),
            Subject::TopUp(id) => fields.serialize_entry("top_up_id", id),
        }
    }
}

/// An entry as the service shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LedgerView<'l>(pub(crate) &'l LedgerEntry);

impl Serialize for LedgerView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        self.0.write_fields(&mut fields)?;
        fields.end()
    }
}

/// Adds the workspace of an account to an object, and that the account is the wallet of its
/// organization.
fn write_owner<M: SerializeMap>(fields: &mut M, account: &str) -> Result<(), M::Error> {
    let (workspace, is_organization) = account_owner(account);
    if is_organization {
        fields.serialize_entry("wallet", "organization")?;
    }
    fields.serialize_entry("workspace", workspace)
}

/// An entry as the control API shows it, with its workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ControlEntry<'l> {
    /// An entry of a workspace.
    Entry(&'l LedgerEntry),
    /// The sum of the entries of a workspace that were dropped.
    #[expect(private_interfaces, reason = "only the ledger creates it")]
    CarriedForward(&'l str, CarriedForward),
}

impl Serialize for ControlEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        match self {
            Self::Entry(entry) => {
                entry.write_fields(&mut fields)?;
                write_owner(&mut fields, &entry.workspace)?;
            }
            Self::CarriedForward(workspace, carried) => {
                fields.serialize_entry("amount_usd", &carried.amount)?;
                fields.serialize_entry("created_at", &TimeText(carried.until))?;
                fields.serialize_entry("entries", &carried.count)?;
                let name = workspace.replace(' ', "_");
                fields.serialize_entry("id", &format_args!("ent_carried_forward_{name}"))?;
                fields.serialize_entry("kind", "carried_forward")?;
                write_owner(&mut fields, workspace)?;
            }
        }
        fields.end()
    }
}

/// The whole ledger as the control API shows it, or a page of it.
#[cfg(feature = "frontend")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlLedger<'l> {
    pub(crate) ledger: &'l Ledger,
    /// The page; `None` for everything.
    pub(crate) page: Option<Page>,
}

#[cfg(feature = "frontend")]
impl Serialize for ControlLedger<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let start = self.page.map_or(0, |page| page.start);
        let closing = self.ledger.closing_entries();
        // The closing entries are older than all others, and in addition to those of a page.
        let closing = closing.take(if start == 0 { usize::MAX } else { 0 });
        let mut entries = self.ledger.entries_from(start);
        let limit = self.page.map_or(usize::MAX, |page| page.limit);
        let mut next = None;
        let page = entries.by_ref().take(limit).map(|(seq, entry)| {
            next = Some(seq + 1);
            ControlEntry::Entry(entry)
        });
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("data", &Items::new(closing.chain(page)))?;
        if self.page.is_some() {
            let next = next.filter(|_| entries.next().is_some());
            fields.serialize_entry("next_cursor", &next.map(|next| next.to_string()))?;
        }
        fields.serialize_entry("workspaces", &Balances(self.ledger))?;
        fields.end()
    }
}

/// The balance of each workspace.
#[cfg(feature = "frontend")]
struct Balances<'l>(&'l Ledger);

#[cfg(feature = "frontend")]
impl Serialize for Balances<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.balances())
    }
}

impl Ledger {
    /// Returns the balance of each workspace, with that of its organization's wallet.
    pub(crate) fn balances(&self) -> impl Iterator<Item = (&str, Value)> {
        let view = |account: &Account| {
            json!({
                "opening_usd": account.opening,
                "available_usd": account.available,
                "reserved_usd": account.reserved,
            })
        };
        let own = self.accounts().filter(|(name, _)| !account_owner(name).1);
        own.map(move |(workspace, account)| {
            let mut balance = view(account);
            let organization = self.account(&organization_account(workspace));
            if let (Some(account), Some(fields)) = (organization, balance.as_object_mut()) {
                fields.insert("organization".to_owned(), view(account));
            }
            (workspace, balance)
        })
    }

    /// Returns the closing entries of dropped entries, by workspace.
    pub(crate) fn closing_entries(&self) -> impl Iterator<Item = ControlEntry<'_>> {
        self.accounts().filter_map(|(workspace, account)| {
            let carried = account.carried_forward?;
            Some(ControlEntry::CarriedForward(workspace, carried))
        })
    }
}
