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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Time;
    use crate::engine::ledger::{EntryKind, organization_account};

    fn entry(kind: EntryKind, subject: Subject) -> LedgerEntry {
        LedgerEntry {
            id: "ent_1".into(),
            workspace: "ws_a".into(),
            kind,
            amount: "0.7035".parse().unwrap(),
            subject,
            created_at: Time::default(),
        }
    }

    #[test]
    fn an_entry_names_its_subject() {
        let reservation = entry(EntryKind::Reservation, Subject::Job("job_1".into()));
        let mut expected = json!({
            "id": "ent_1", "kind": "reservation", "amount_usd": "0.7035", "job_id": "job_1",
            "created_at": "1970-01-01T00:00:00Z"
        });
        assert_eq!(json!(LedgerView(&reservation)), expected);
        expected["workspace"] = json!("ws_a");
        assert_eq!(json!(ControlEntry::Entry(&reservation)), expected);
        let by_organization = LedgerEntry {
            workspace: organization_account("ws_a").as_str().into(),
            ..reservation
        };
        expected["wallet"] = json!("organization");
        assert_eq!(json!(ControlEntry::Entry(&by_organization)), expected);
        let top_up = entry(EntryKind::TopUp, Subject::TopUp("top_1".into()));
        assert_eq!(json!(LedgerView(&top_up))["top_up_id"], "top_1");
    }

    #[cfg(feature = "frontend")]
    #[test]
    fn pages_have_each_entry_once() {
        let mut ledger = Ledger::default();
        ledger.open("ws_a", "10".parse().unwrap());
        for number in 0..6 {
            let subject = Subject::Job("job_1".into());
            let (id, amount) = (number.to_string(), "0.5".parse().unwrap());
            let kind = EntryKind::Reservation;
            ledger
                .book("ws_a", id, kind, amount, subject, Time::default())
                .unwrap();
        }
        ledger.carry_forward(0);
        let all = json!(ControlLedger {
            ledger: &ledger,
            page: None
        });
        assert_eq!(all.get("next_cursor"), None);
        let (mut start, mut pages) = (0, Vec::new());
        loop {
            let page = Some(Page { limit: 2, start });
            let page = json!(ControlLedger {
                ledger: &ledger,
                page
            });
            assert_eq!(page["workspaces"], all["workspaces"]);
            pages.extend(page["data"].as_array().unwrap().clone());
            let Some(next) = page["next_cursor"].as_str() else {
                break;
            };
            start = next.parse().unwrap();
        }
        assert_eq!(json!(pages), all["data"]);
        assert_eq!(
            (pages.len(), &pages[0]["kind"]),
            (6, &json!("carried_forward"))
        );
    }
}
