//! JSON representations of entries.

use std::collections::BTreeSet;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::carried_forward::CarriedForward;
use super::{Account, Ledger, LedgerEntry, Subject, account_owner, organization_account};
use crate::engine::page::Items;
use crate::engine::time::TimeText;
use crate::json_object::set_field;

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
    /// An entry of a workspace, with its number.
    Entry(usize, &'l LedgerEntry),
    #[expect(private_interfaces, reason = "only the ledger creates it")]
    CarriedForward(&'l str, CarriedForward),
}

impl Serialize for ControlEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        match self {
            Self::Entry(number, entry) => {
                entry.write_fields(&mut fields)?;
                fields.serialize_entry("seq", &(number + 1))?;
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

/// The entries that the control API shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryQuery {
    pub(crate) workspace: Option<String>,
    /// Whether the entries are those of organizations or those of workspaces.
    pub(crate) is_organization: Option<bool>,
    /// The jobs and runs that the entries refer to.
    pub(crate) subjects: Option<BTreeSet<String>>,
    /// The number of the first entry.
    pub(crate) start: usize,
    /// The maximum number of entries of a page; `None` for all.
    pub(crate) limit: Option<usize>,
}

impl EntryQuery {
    fn includes(&self, entry: &LedgerEntry) -> bool {
        let (Subject::Job(id) | Subject::Run(id) | Subject::TopUp(id)) = &entry.subject;
        self.includes_account(&entry.workspace)
            && self.subjects.as_ref().is_none_or(|subjects| subjects.contains(&**id))
    }

    fn includes_account(&self, account: &str) -> bool {
        let (workspace, is_organization) = account_owner(account);
        self.workspace.as_ref().is_none_or(|it| it == workspace)
            && self.is_organization.is_none_or(|it| it == is_organization)
    }
}

/// The ledger as the control API shows it, or a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlLedger<'l> {
    pub(crate) ledger: &'l Ledger,
    pub(crate) query: &'l EntryQuery,
}

impl Serialize for ControlLedger<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { ledger, query } = *self;
        // The closing entries are older than all others, and in addition to those of a page.
        let is_first = query.start == 0 && query.subjects.is_none();
        let closing = ledger.closing_entries().filter(|entry| match entry {
            ControlEntry::CarriedForward(account, _) => is_first && query.includes_account(account),
            ControlEntry::Entry(..) => false,
        });
        let mut entries =
            ledger.entries_from(query.start).filter(|(_, entry)| query.includes(entry)).peekable();
        let mut next = query.start;
        let page = entries.by_ref().take(query.limit.unwrap_or(usize::MAX)).map(|(seq, entry)| {
            next = seq + 1;
            ControlEntry::Entry(seq, entry)
        });
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("data", &Items::new(closing.chain(page)))?;
        if query.limit.is_some() {
            let next = entries.peek().is_some().then(|| next.to_string());
            fields.serialize_entry("next_cursor", &next)?;
        }
        fields.serialize_entry("next_since", &next)?;
        fields.serialize_entry("workspaces", &Balances(ledger, query))?;
        fields.end()
    }
}

/// The balance of each workspace that a query asks for.
struct Balances<'l>(&'l Ledger, &'l EntryQuery);

impl Serialize for Balances<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.balances(self.1.workspace.as_deref()))
    }
}

impl Ledger {
    /// Returns the balance of each workspace or of one, with that of its organization's wallet.
    pub(crate) fn balances(&self, only: Option<&str>) -> impl Iterator<Item = (&str, Value)> {
        let own = self
            .accounts()
            .filter(move |(name, _)| !account_owner(name).1 && only.is_none_or(|it| it == *name));
        own.map(|(workspace, account)| {
            let mut balance = account.view();
            set_field(&mut balance, "organization", self.organization_balance(workspace));
            (workspace, balance)
        })
    }

    /// Returns the balance of the wallet of a workspace's organization.
    pub(crate) fn organization_balance(&self, workspace: &str) -> Option<Value> {
        self.account(&organization_account(workspace)).map(Account::view)
    }

    /// Returns the closing entries of dropped entries, by workspace.
    pub(crate) fn closing_entries(&self) -> impl Iterator<Item = ControlEntry<'_>> {
        self.accounts().filter_map(|(workspace, account)| {
            let carried = account.carried_forward?;
            Some(ControlEntry::CarriedForward(workspace, carried))
        })
    }
}

impl Account {
    fn view(&self) -> Value {
        json!({
            "opening_usd": self.opening,
            "available_usd": self.available,
            "reserved_usd": self.reserved,
        })
    }
}
