//! The lines of the store's files, each a JSON object.
//!
//! A line of another version, or one that is damaged, still belongs to its intent if the number or
//! the id of that can be found in the text: the intent is unknown then, and not absent.

use jiff::Timestamp;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::journal::store::{Hold, Phase, StoreError, SubmissionKey};
use crate::types::Usd;

const VERSION: u32 = 1;

const FORMAT: &str = "svc";

#[derive(Debug)]
pub(super) enum Parsed {
    Line(Box<Line>),
    /// It is JSON, but not a line of this version.
    OtherVersion,
    /// It is incomplete or damaged.
    Invalid,
}

impl Parsed {
    pub(super) fn new(text: &[u8]) -> Self {
        match serde_json::from_slice::<Line>(text) {
            Ok(line) if line.v == VERSION && line.has_content() => Self::Line(Box::new(line)),
            _ if serde_json::from_slice::<IgnoredAny>(text).is_ok() => Self::OtherVersion,
            _ => Self::Invalid,
        }
    }
}

/// Returns whether a text of another version is the first line of a file.
pub(super) fn is_header_text(text: &[u8]) -> bool {
    field::<String>(text, "journal").as_deref() == Some(FORMAT)
}

/// Returns the submission that the text of a line names.
pub(super) fn submission(text: &[u8]) -> Option<SubmissionKey> {
    Some(SubmissionKey {
        namespace: field(text, "namespace")?,
        account: field(text, "account")?,
        submission_id: field(text, "submission")?,
    })
}

/// Returns the value of the first field of that name in a text that need not be JSON.
pub(super) fn field<T: DeserializeOwned>(text: &[u8], name: &str) -> Option<T> {
    let name = format!("\"{name}\":");
    let mut places = text.windows(name.len());
    let start = places.position(|place| place == name.as_bytes())? + name.len();
    let values = serde_json::Deserializer::from_slice(text.get(start..)?);
    values.into_iter().next()?.ok()
}

/// A line of a file. It has exactly one of the fields after the version, number and id.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    pub(super) v: u32,
    /// The number of the intent: its position in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// The format, in the first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) journal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<FileInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) begin: Option<Box<Begin>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) record: Option<RecordLine>,
    /// The new owner of the intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) claim: Option<String>,
    /// All lines of an intent that comes back from the archive: what is written of it only in part does
    /// not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) restored: Option<Vec<Box<RawValue>>>,
    /// The numbers of removed intents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) purged: Option<Vec<u64>>,
    /// The sums of a budget, without what the intents of this file hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<Budget>,
    /// Intents in the archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) archived: Option<Vec<Archived>>,
    /// The process that opened or wrote the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) opened: Option<Opened>,
    /// What the program notes in a single file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<Box<RawValue>>,
}

impl Line {
    /// Creates the first line of a file.
    pub(super) fn header(file: FileInfo) -> Self {
        Self { journal: Some(FORMAT.to_owned()), file: Some(file), ..Self::new() }
    }

    /// Creates an empty line, to which the content is added.
    pub(super) fn new() -> Self {
        Self { v: VERSION, ..Self::default() }
    }

    /// Creates an empty line of an intent.
    pub(super) fn of_intent(number: u64, id: &str) -> Self {
        Self { number: Some(number), id: Some(id.to_owned()), ..Self::new() }
    }

    /// Returns whether it is the first line of a file.
    pub(super) fn is_header(&self) -> bool {
        self.journal.as_deref() == Some(FORMAT)
    }

    fn has_content(&self) -> bool {
        let of_intent = self.begin.is_some()
            || self.record.is_some()
            || self.claim.is_some()
            || self.restored.is_some();
        of_intent && self.number.is_some() && self.id.is_some()
            || self.is_header()
            || self.purged.is_some()
            || self.budget.is_some()
            || self.archived.is_some()
            || self.opened.is_some()
            || self.note.is_some()
    }

    /// Returns the line with its end.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, StoreError> {
        let text = serde_json::to_vec(self);
        let mut text = text.map_err(|error| StoreError::failed("cannot write a line", error))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// Returns the JSON as a part of a line.
pub(super) fn raw_json(text: &str) -> Result<Box<RawValue>, StoreError> {
    // Between the tokens of JSON, the ends of lines are spaces; within strings there are none.
    let text = text.replace(['\n', '\r'], " ");
    RawValue::from_string(text)
        .map_err(|error| StoreError::failed("facts and records have to be JSON", error))
}

/// What distinguishes a file from others that had its name.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileInfo {
    pub(super) id: String,
    /// The number of the last intent that was begun before.
    pub(super) last: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Begin {
    pub(super) namespace: String,
    pub(super) account: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) submission: Option<String>,
    pub(super) generation: u32,
    pub(super) at: Timestamp,
    pub(super) owner: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) permanent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reserved: Option<Usd>,
    pub(super) facts: Box<RawValue>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordLine {
    pub(super) at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<Phase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) stops_budget: bool,
    /// What the service made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    pub(super) data: Box<RawValue>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Budget {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) hold: Hold,
    pub(super) stopped: bool,
}

/// What is known of an intent in the archive without reading it there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Archived {
    #[serde(rename = "n")]
    pub(super) number: u64,
    #[serde(rename = "i")]
    pub(super) id_hash: u64,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub(super) submission_hash: Option<u64>,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub(super) resource_hash: Option<u64>,
    /// The number of the archive's file, and the offset in it.
    #[serde(rename = "f")]
    pub(super) place: (u32, u64),
    #[serde(rename = "t")]
    pub(super) last_at: i64,
    #[serde(rename = "p")]
    pub(super) phase: Phase,
    #[serde(rename = "k", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) permanent: bool,
    /// Whether it was ever changed to [`Phase::Accepted`].
    #[serde(rename = "a", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) accepted: bool,
    /// The number of its budget among the budgets of the file.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<u32>,
    #[serde(rename = "h", default, skip_serializing_if = "is_zero")]
    pub(super) hold: Hold,
}

fn is_zero(hold: &Hold) -> bool {
    *hold == Hold::default()
}

/// The process that opened or wrote a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Opened {
    pub(super) process: u32,
}

impl Opened {
    pub(super) fn by_this_process() -> Self {
        Self { process: std::process::id() }
    }
}
