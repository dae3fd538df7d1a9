//! The contents of an intent: facts about its request, and a record of each event after it began.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fingerprint::Fingerprint;
use super::store::{Owner, Phase, StoredIntent};
use crate::call::clock;
use crate::contract::Operation;
use crate::types::{IdempotencyKey, Usd};

const VERSION: u32 = 1;

/// The facts about a request, written before it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    #[serde(rename = "v")]
    pub(crate) version: u32,
    pub(crate) operation: String,
    pub(crate) path: String,
    pub(crate) idempotency_key: IdempotencyKey,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_key_chosen: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_key_documented: bool,
    /// Whether the service recognizes the key for as long as what was submitted exists.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_key_permanent: bool,
    /// Whether the body that is sent has the key in its metadata, as that of its first attempt.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) has_key_in_metadata: bool,
    /// The hash of the request's meaning, empty if another journal wrote it.
    pub(crate) request_hash: String,
    /// The hash of the bytes of its body, empty if another journal wrote it.
    pub(crate) body_hash: String,
    pub(crate) origin: String,
    /// The fingerprint of the API key that pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) api_key: Option<String>,
    /// What it is expected to cost at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
    /// What the application notes about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) notes: Map<String, Value>,
    /// When another journal began it, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun_at_ms: Option<u64>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Facts {
    /// Creates the facts of an intent of which nothing else is known.
    pub(crate) fn new(operation: &str, idempotency_key: IdempotencyKey) -> Self {
        Self {
            version: VERSION,
            operation: operation.to_owned(),
            path: String::new(),
            idempotency_key,
            is_key_chosen: false,
            is_key_documented: false,
            is_key_permanent: operation == Operation::TopUpsCreate.name(),
            has_key_in_metadata: false,
            request_hash: String::new(),
            body_hash: String::new(),
            origin: String::new(),
            api_key: None,
            price_usd: None,
            notes: Map::new(),
            begun_at_ms: None,
        }
    }

    /// Adds the hashes of the request, which depend on the idempotency key.
    pub(super) fn with_hashes(mut self, fingerprint: &Fingerprint) -> Self {
        self.request_hash = fingerprint.request_hash(&self.idempotency_key);
        self.body_hash = fingerprint.body_hash(&self.idempotency_key);
        self
    }

    pub(super) fn to_json(&self) -> String {
        to_json(self)
    }

    /// Whether the intent was begun for a request of the same meaning.
    pub(super) fn is_same_request(&self, fingerprint: &Fingerprint) -> bool {
        self.request_hash.is_empty()
            || self.request_hash == fingerprint.request_hash(&self.idempotency_key)
    }

    /// Whether the body has the same bytes as the one that was sent.
    pub(super) fn is_same_body(&self, fingerprint: &Fingerprint) -> bool {
        self.body_hash.is_empty() || self.body_hash == fingerprint.body_hash(&self.idempotency_key)
    }
}

/// What happened to an intent after it was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Record {
    /// That attempt proved that nothing ran. The attempts are counted from 0: a store that did not
    /// answer may still write a record after newer ones.
    NothingRan {
        #[serde(default)]
        attempt: u32,
    },
    /// That attempt is about to be made.
    Sending {
        #[serde(default)]
        attempt: u32,
    },
    /// The service accepted the request.
    Accepted(Receipt),
    /// The service accepted the request with a response that has no readable id.
    AcceptedWithoutId {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
    /// No attempt had an answer that says what became of it.
    Unknown,
    /// Nothing was carried out.
    Released(Released),
    /// What was submitted has ended.
    Ended(Ended),
    /// The application has acknowledged the outcome.
    Acknowledged,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) kind: ResourceKind,
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// What the service charged, if the receipt says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Released {
    pub(super) reason: ReleaseReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
}

/// Why nothing was carried out of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// The request was never sent.
    NotSent,
    /// The service refused it.
    Refused,
    /// A person or a program settled that it was not carried out.
    Settled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    /// The status, in the service's words.
    pub(super) status: String,
    /// What it cost, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) charge_usd: Option<Usd>,
}

/// The kind of resource that a submit creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResourceKind {
    /// A job.
    Job,
    /// A run of an Action.
    ActionRun,
    /// A run of a Format.
    FormatRun,
    /// A run of an Agent Completion.
    AgentRun,
    /// A bulk queue of Format runs.
    Queue,
    /// A top-up of the balance.
    TopUp,
}

/// A line of a journal: a record with its version.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    v: u32,
    /// Whether what does not know the record must not decide anything about its intent.
    #[serde(default = "is_critical", skip_serializing_if = "Clone::clone")]
    critical: bool,
    #[serde(flatten)]
    content: T,
}

fn is_critical() -> bool {
    true
}

impl Record {
    pub(super) fn to_json(&self) -> String {
        to_json(&Versioned { v: VERSION, critical: true, content: self })
    }

    /// Returns the record, `Ok(None)` if it is of a newer version and not critical, and an error if it
    /// cannot be read.
    fn from_json(json: &str) -> Result<Option<Self>, ()> {
        let head: Versioned<Map<String, Value>> = serde_json::from_str(json).map_err(|_| ())?;
        let record = Some(head.v <= VERSION)
            .filter(|is_known| *is_known)
            .and_then(|_| serde_json::from_value(Value::Object(head.content)).ok());
        match record {
            None if head.critical => Err(()),
            record => Ok(record),
        }
    }

    pub(super) fn phase(&self) -> Option<Phase> {
        match self {
            Self::NothingRan { .. }
            | Self::Sending { .. }
            | Self::AcceptedWithoutId { .. }
            | Self::Unknown => None,
            Self::Accepted(_) => Some(Phase::Accepted),
            Self::Released(_) => Some(Phase::Released),
            Self::Ended(_) => Some(Phase::Ended),
            Self::Acknowledged => Some(Phase::Acknowledged),
        }
    }
}

/// Serializes what cannot fail to be serialized: it has string keys and no values of its own.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// An intent with what its records say.
#[derive(Clone, Debug)]
pub(super) struct Intent {
    pub(super) stored: StoredIntent,
    /// The facts, or `None` if they are of a newer version or cannot be read.
    pub(super) facts: Option<Facts>,
    pub(super) progress: Progress,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) attempt: u32,
    /// Whether it proved that nothing ran.
    pub(super) nothing_ran: bool,
    pub(super) accepted: Option<Receipt>,
    pub(super) accepted_without_id: bool,
    pub(super) released: Option<Released>,
    pub(super) ended: Option<Ended>,
    pub(super) is_acknowledged: bool,
    /// Whether there is a record that this version does not know.
    pub(super) is_unreadable: bool,
}

impl Intent {
    pub(super) fn read(stored: StoredIntent) -> Self {
        let facts = serde_json::from_str(&stored.facts).ok();
        let facts = facts.filter(|facts: &Facts| facts.version <= VERSION);
        let mut progress = Progress { is_unreadable: facts.is_none(), ..Progress::default() };
        for record in &stored.records {
            match Record::from_json(&record.record) {
                Ok(Some(record)) => progress.apply(record),
                Ok(None) => {}
                Err(()) => progress.is_unreadable = true,
            }
        }
        Self { stored, facts, progress }
    }

    /// Returns the facts, unless something about the intent is of a newer version or cannot be read.
    pub(super) fn readable_facts(&self) -> Option<&Facts> {
        self.facts.as_ref().filter(|_| !self.progress.is_unreadable)
    }

    pub(super) fn operation(&self) -> Option<Operation> {
        Operation::from_name(&self.facts.as_ref()?.operation)
    }

    /// Returns its age when it was read, or `None` if the store's clock was set back.
    pub(super) fn age(&self) -> Option<Duration> {
        self.stored.read_at.duration_since(self.begun_at()).ok()
    }

    /// Returns when it was begun by the clock of this process, which may differ from that of the store.
    pub(super) fn begun_at_by_this_clock(&self) -> SystemTime {
        let begun_at = self.age().and_then(|age| clock::wall().checked_sub(age));
        begun_at.unwrap_or(UNIX_EPOCH)
    }

    /// Returns when it was begun, in this journal or in the one that it was imported from.
    pub(super) fn begun_at(&self) -> SystemTime {
        let imported = self.facts.as_ref().and_then(|facts| facts.begun_at_ms);
        let imported = imported.and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
        imported.unwrap_or(self.stored.begun_at)
    }

    /// Whether its owner, which is not this process, is running.
    pub(super) fn has_running_owner(&self) -> bool {
        self.stored.owner == Owner::Other
    }
}

impl Progress {
    /// The first receipt and the first outcome count: later ones are repetitions.
    fn apply(&mut self, record: Record) {
        match record {
            Record::NothingRan { attempt } | Record::Sending { attempt }
                if attempt < self.attempt => {}
            Record::NothingRan { attempt } => {
                (self.attempt, self.nothing_ran) = (attempt, true);
            }
            Record::Sending { attempt } => (self.attempt, self.nothing_ran) = (attempt, false),
            Record::Accepted(accepted) => {
                self.accepted.get_or_insert(accepted);
            }
            Record::AcceptedWithoutId { .. } => self.accepted_without_id = true,
            Record::Unknown => {}
            Record::Released(released) => {
                self.released.get_or_insert(released);
            }
            Record::Ended(ended) => {
                self.ended.get_or_insert(ended);
            }
            Record::Acknowledged => self.is_acknowledged = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_record_is_read_as_it_was_written() {
        let accepted = Receipt {
            kind: ResourceKind::Queue,
            id: "frq_1".to_owned(),
            request_id: None,
            price_usd: Some(Usd::from_micros(1)),
        };
        let ended = Ended { status: "completed".to_owned(), charge_usd: None };
        let released =
            Released { reason: ReleaseReason::Refused, code: Some("invalid_request".to_owned()) };
        for record in [
            Record::NothingRan { attempt: 0 },
            Record::Sending { attempt: 1 },
            Record::Accepted(accepted),
            Record::AcceptedWithoutId { request_id: None },
            Record::Unknown,
            Record::Released(released),
            Record::Ended(ended),
            Record::Acknowledged,
        ] {
            assert_eq!(Record::from_json(&record.to_json()), Ok(Some(record)));
        }
    }

    #[test]
    fn a_record_that_is_written_late_says_nothing_of_a_later_attempt() {
        let (failed, sending) =
            (|attempt| Record::NothingRan { attempt }, |attempt| Record::Sending { attempt });
        for (records, nothing_ran) in [
            (vec![failed(0)], true),
            (vec![failed(0), sending(1)], false),
            (vec![failed(0), sending(1), failed(0)], false),
            (vec![failed(0), sending(1), failed(1), sending(1)], false),
            (vec![failed(0), sending(1), failed(1), failed(0)], true),
        ] {
            let mut progress = Progress::default();
            let shown = format!("{records:?}");
            records.into_iter().for_each(|record| progress.apply(record));
            assert_eq!(progress.nothing_ran, nothing_ran, "{shown}");
        }
    }

    #[test]
    fn a_record_of_a_newer_version_is_ignored_only_if_it_says_so() {
        for (json, expected) in [
            (r#"{"v":2,"event":"moved"}"#, Err(())),
            (r#"{"v":1,"event":"moved"}"#, Err(())),
            (r#"{"v":2,"event":"acknowledged"}"#, Err(())),
            (r#"{"v":2,"critical":false,"event":"moved"}"#, Ok(None)),
            ("not JSON", Err(())),
        ] {
            assert_eq!(Record::from_json(json), expected, "{json}");
        }
    }
}
