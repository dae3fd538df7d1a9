//! JSON representations of entries.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::carried_forward::CarriedForward;
use super::{Entry, Ledger, Subject, account_owner};
use crate::engine::time::TimeText;

impl Entry {
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
pub(crate) struct LedgerView<'l>(pub(crate) &'l Entry);

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
    Entry(&'l Entry),
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

impl Ledger {
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
    use serde_json::json;

    use super::*;
    use crate::engine::Time;
    use crate::engine::ledger::{EntryKind, organization_account};

    fn entry(kind: EntryKind, subject: Subject) -> Entry {
        Entry {
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
        let by_organization = Entry {
            workspace: organization_account("ws_a").as_str().into(),
            ..reservation
        };
        expected["wallet"] = json!("organization");
        assert_eq!(json!(ControlEntry::Entry(&by_organization)), expected);
        let top_up = entry(EntryKind::TopUp, Subject::TopUp("top_1".into()));
        assert_eq!(json!(LedgerView(&top_up))["top_up_id"], "top_1");
    }
}
