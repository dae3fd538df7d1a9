//! What must hold of every simulation, and the checks of the service's books.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use svc_sdk::types::Usd;

use super::journal::{IntentState, Journal};
use super::world::Creation;

/// A property that must hold at all times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// The ledger of each workspace adds up.
    Ledger,
    /// Nothing is carried out twice, and nothing is sent twice that must not be.
    Once,
    /// Each call ends by its time limit.
    Timeout,
    /// What was paid for has its id or its key in a journal.
    NothingLost,
    /// No credential leaves its origin.
    Credential,
    /// A client alone on its key meets no 429, and waits as long as the service asks.
    RateLimit,
    /// A restored service answers as the original.
    Restore,
    /// Webhooks are signed with the workspace's secret.
    Webhook,
    /// A downloaded file is the artifact.
    Download,
}

impl Oracle {
    /// All oracles.
    pub const ALL: [Self; 9] = [
        Self::Ledger,
        Self::Once,
        Self::Timeout,
        Self::NothingLost,
        Self::Credential,
        Self::RateLimit,
        Self::Restore,
        Self::Webhook,
        Self::Download,
    ];

    /// Returns the name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ledger => "ledger",
            Self::Once => "once",
            Self::Timeout => "timeout",
            Self::NothingLost => "nothing_lost",
            Self::Credential => "credential",
            Self::RateLimit => "rate_limit",
            Self::Restore => "restore",
            Self::Webhook => "webhook",
            Self::Download => "download",
        }
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn micros(value: &Value, field: &str) -> i64 {
    text(value, field)
        .parse::<Usd>()
        .map_or(i64::MIN / 8, Usd::micros)
}

/// The movements of one job, run or top-up.
#[derive(Debug, Default)]
struct Movements {
    reserved: Vec<i64>,
    captured: Vec<i64>,
    refunded: Vec<i64>,
    topped_up: i64,
}

/// Returns what an entry of the ledger is about.
pub(super) fn subject(entry: &Value) -> &str {
    let fields = ["job_id", "run_id", "top_up_id"];
    fields
        .iter()
        .find_map(|field| entry[field].as_str())
        .unwrap_or_default()
}

/// Returns the reasons why the ledger does not add up.
pub(super) fn check_ledger(ledger: &Value, jobs: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let empty = Vec::new();
    let entries = ledger["data"].as_array().unwrap_or(&empty);
    let mut subjects: BTreeMap<&str, Movements> = BTreeMap::new();
    let mut workspaces: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for entry in entries {
        let amount = micros(entry, "amount_usd");
        let movements = subjects.entry(subject(entry)).or_default();
        let (available, reserved) = workspaces.entry(text(entry, "workspace")).or_default();
        match text(entry, "kind") {
            "reservation" => {
                movements.reserved.push(amount);
                (*available, *reserved) = (*available - amount, *reserved + amount);
            }
            "capture" => {
                movements.captured.push(amount);
                *reserved -= amount;
            }
            "refund" => {
                movements.refunded.push(amount);
                (*available, *reserved) = (*available + amount, *reserved - amount);
            }
            "top_up" => {
                movements.topped_up += amount;
                *available += amount;
            }
            kind => found.push(format!("unknown kind of entry `{kind}`")),
        }
    }
    for (workspace, balance) in ledger["workspaces"].as_object().into_iter().flatten() {
        let (available, reserved) = workspaces
            .get(workspace.as_str())
            .copied()
            .unwrap_or_default();
        let expected = (micros(balance, "opening_usd") + available, reserved);
        let actual = (
            micros(balance, "available_usd"),
            micros(balance, "reserved_usd"),
        );
        if actual != expected {
            found.push(format!(
                "{workspace} has {actual:?}, its entries make {expected:?} micros"
            ));
        }
    }
    for (id, movements) in &subjects {
        let (reserved, captured, refunded) = (
            movements.reserved.iter().sum::<i64>(),
            movements.captured.iter().sum::<i64>(),
            movements.refunded.iter().sum::<i64>(),
        );
        if captured + refunded > reserved {
            found.push(format!(
                "{id}: {reserved} reserved, but {captured} captured, {refunded} refunded"
            ));
        }
    }
    for job in jobs {
        if let Some(movements) = subjects.get(text(job, "id")) {
            found.extend(check_job(job, movements));
        }
    }
    found
}

fn check_job(job: &Value, movements: &Movements) -> Option<String> {
    let Movements {
        reserved,
        captured,
        refunded,
        ..
    } = movements;
    let expected: (&[i64], &[i64]) = match text(job, "status") {
        "completed" => (reserved, &[]),
        "failed" | "canceled" => (&[], reserved),
        _ => (&[], &[]),
    };
    let is_right = reserved.len() == 1 && (captured.as_slice(), refunded.as_slice()) == expected;
    (!is_right).then(|| {
        let (id, status) = (text(job, "id"), text(job, "status"));
        format!(
            "{id} is {status}: reserved {reserved:?}, captured {captured:?}, refunded {refunded:?}"
        )
    })
}

/// Returns what was created and is not accounted for in the journals.
pub(super) fn check_journals<'a>(
    journals: impl Iterator<Item = &'a Journal> + Clone,
    created: &BTreeMap<String, Creation>,
    is_final: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (id, creation) in created {
        let name = creation.intent.as_deref().unwrap_or_default();
        let Some(intent) = journals.clone().find_map(|journal| journal.get(name)) else {
            found.push(format!(
                "{id} was created for the intent `{name}`, which no journal has"
            ));
            continue;
        };
        match &intent.state {
            IntentState::Accepted(known) if known == id => {}
            IntentState::Accepted(known) => {
                found.push(format!(
                    "{id} was created for {name}, which is journaled as {known}"
                ));
            }
            IntentState::Rejected => {
                found.push(format!(
                    "{id} was created for {name}, which is journaled as rejected"
                ));
            }
            IntentState::Open if is_final && intent.is_key_honoured => {
                found.push(format!(
                    "{id} was created for {name}, which was never resolved"
                ));
            }
            IntentState::Open | IntentState::Unknown => {}
        }
    }
    for journal in journals {
        for (intent, id) in journal.accepted() {
            if !created.contains_key(id) {
                found.push(format!(
                    "{} is journaled as {id}, which was never created",
                    intent.id
                ));
            }
        }
    }
    found
}

/// Returns the first place at which two documents differ.
pub(super) fn difference(left: &Value, right: &Value, path: &str) -> Option<String> {
    // Most documents are equal, and paths are not needed for those.
    if left == right {
        return None;
    }
    match (left, right) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(name, value)| {
                difference(
                    value,
                    b.get(name).unwrap_or(&Value::Null),
                    &format!("{path}/{name}"),
                )
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (a, b))| difference(a, b, &format!("{path}/{index}")))
        }
        _ => Some(path.to_owned()),
    }
}
