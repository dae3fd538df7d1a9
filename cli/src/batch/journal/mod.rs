//! The journal of a batch: the SDK's journal of its submissions in one file, with notes of what became
//! of the items.

mod earlier;
mod record;

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use svc_sdk::contract::NextAction;
use svc_sdk::journal::{self, FileStore, StoreError};
use svc_sdk::types::Usd;
use tempfile::TempDir;

pub(super) use self::record::{
    Record, Records, Spent, has_unknown_status, hash_id, is_not_executed, resource_id, spent_by,
};
use crate::clock;
use crate::download::StoredFile;
use crate::error::{Failure, Result, Suggestion};
use crate::journal::LABEL;

/// The label of the account in the journal. Which API key submitted an item is checked before.
pub(super) const ACCOUNT: &str = "batch";
pub(super) const BUDGET: &str = "batch";
/// What the name of a journal adds to that of its manifest, unless it is named.
pub(super) const DEFAULT_SUFFIX: &str = ".journal.jsonl";
const FIRST_BYTES: &[u8] = br#"{"v":"#;

const MAX_START: u64 = 64 * 1024;

const HASH: &str = "hash";
const BASE_URL: &str = "base_url";
const KEY_FINGERPRINT: &str = "key_fingerprint";

#[derive(Debug)]
pub(super) struct Journal {
    store: FileStore,
    path: PathBuf,
    pub(super) submissions: journal::Journal,
    /// The folder of a journal that is removed when the process ends.
    _folder: Option<TempDir>,
}

pub(super) enum Stored {
    Note(Note),
    /// A submission of an item, oldest first.
    Submission(Box<journal::Entry>),
}

pub(super) fn default_path(manifest: &Path) -> PathBuf {
    let mut name = manifest.as_os_str().to_owned();
    name.push(DEFAULT_SUFFIX);
    PathBuf::from(name)
}

pub(super) fn notes_of(
    hash: u64,
    base_url: &str,
    key_fingerprint: &str,
    label: Option<String>,
) -> Map<String, Value> {
    let mut notes = Map::new();
    notes.insert(HASH.to_owned(), format!("{hash:016x}").into());
    notes.insert(BASE_URL.to_owned(), base_url.into());
    notes.insert(KEY_FINGERPRINT.to_owned(), key_fingerprint.into());
    notes.extend(label.map(|label| (LABEL.to_owned(), label.into())));
    notes
}

impl Journal {
    /// Opens, or creates, and locks a journal, which becomes one of this version.
    pub(super) async fn open(path: &Path) -> Result<Self> {
        let earlier = match FileVersion::of(path)? {
            FileVersion::Earlier => earlier::replace(path).await?,
            FileVersion::Current => None,
        };
        let store = FileStore::single_file(path).await;
        drop(earlier);
        Self::new(store, path, None)
    }

    pub(super) async fn temporary() -> Result<Self> {
        let folder = temporary_folder()?;
        let path = folder.path().join("journal");
        Self::new(FileStore::single_file(&path).await, &path, Some(folder))
    }

    /// Opens a journal to read it, also while a batch runs.
    pub(super) async fn read_only(path: &Path) -> Result<Self> {
        if !path.exists() {
            let path = path.display();
            return Err(Failure::usage(format!("{path} does not exist")));
        }
        if FileVersion::of(path)? == FileVersion::Earlier {
            let folder = temporary_folder()?;
            let copy = folder.path().join("journal");
            earlier::convert(path, &copy).await?;
            return Self::new(FileStore::read_only(&copy).await, &copy, Some(folder));
        }
        Self::new(FileStore::read_only(path).await, path, None)
    }

    fn new(
        store: Result<FileStore, StoreError>,
        path: &Path,
        folder: Option<TempDir>,
    ) -> Result<Self> {
        let store = store.map_err(|error| unusable(path, &error))?;
        Ok(Self {
            submissions: journal::Journal::with_store(store.clone()),
            store,
            path: path.to_owned(),
            _folder: folder,
        })
    }

    pub(super) async fn read(&self, mut visit: impl FnMut(Stored)) -> Result {
        let read = FileStore::read_notes(&self.path, |note| {
            // Notes of a later version are ignored.
            if let Ok(note) = serde_json::from_str(note) {
                visit(Stored::Note(note));
            }
        });
        read.map_err(|error| unusable(&self.path, &error))?;
        let mut entries = self.submissions.entries();
        while let Some(entry) = entries.next().await {
            visit(Stored::Submission(Box::new(entry?)));
        }
        Ok(())
    }

    pub(super) async fn begin(&self, total: u32, command: String) -> Result {
        let note =
            Note::Batch { version: VERSION, total, command: Some(command), at: clock::now() };
        self.add(&[note]).await
    }

    /// Adds notes, and flushes them to the disk.
    pub(super) async fn add(&self, notes: &[Note]) -> Result {
        if notes.is_empty() {
            return Ok(());
        }
        let notes = notes.iter().map(|note| json!(note).to_string()).collect();
        let added = self.store.add_notes(notes).await;
        added.map_err(|error| unusable(&self.path, &error))
    }

    /// Returns the latest submission of an item.
    pub(super) async fn find(&self, id: &str) -> Result<Option<journal::Entry>> {
        Ok(self.submissions.find(ACCOUNT, id).await?)
    }

    pub(super) fn failure(&self, error: &StoreError) -> Failure {
        unusable(&self.path, error)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileVersion {
    Current,
    Earlier,
}

impl FileVersion {
    /// Reads how a file begins. One that is missing or empty is of the current format.
    fn of(path: &Path) -> Result<Self> {
        let failure = |error| Failure::usage(format!("cannot read {}: {error}", path.display()));
        let mut reader = match File::open(path) {
            Ok(file) => BufReader::new(file.take(MAX_START)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::Current),
            Err(error) => return Err(failure(error)),
        };
        let mut line = Vec::new();
        let mut is_first = true;
        // A block that was not written before the computer failed is zero.
        while reader.read_until(b'\n', &mut line).map_err(failure)? > 0 && line.starts_with(b"\0") {
            line.clear();
            is_first = false;
        }
        // The line may not have been written completely.
        let is_start_of = |expected: &[u8]| {
            let text = line.strip_suffix(b"\n").filter(|text| !text.is_empty());
            let mut bytes = text.unwrap_or(&line).iter().zip(expected);
            bytes.all(|(byte, expected)| byte == expected)
        };
        if is_start_of(FIRST_BYTES) {
            Ok(Self::Current)
        } else if is_start_of(earlier::FIRST_BYTES) || (!is_first && earlier::is_line(&line)) {
            Ok(Self::Earlier)
        } else {
            let path = path.display();
            Err(Failure::usage(format!("{path} is not the journal of a batch")))
        }
    }
}

fn temporary_folder() -> Result<TempDir> {
    let path = std::env::temp_dir();
    tempfile::tempdir_in(&path)
        .map_err(|error| Failure::file("cannot use the journal", &path, &error))
}

fn locked(path: &Path) -> Failure {
    let path = path.display().to_string();
    let why = format!("another process is running this batch: {path} is locked");
    let status = match path.strip_suffix(DEFAULT_SUFFIX) {
        Some(manifest) => vec!["batch", "status", manifest],
        None => vec!["batch", "status", "MANIFEST", "--journal", &path],
    };
    Failure::usage(why).hint(Suggestion::from("see how far it is with: ").svc(status))
}

fn unusable(path: &Path, error: &StoreError) -> Failure {
    if error.is_locked() {
        return locked(path);
    }
    Failure::journal("cannot use the journal", error, "choose another file with --journal FILE")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Completed,
    /// It failed, or the service rejected the request.
    Failed,
    Canceled,
    Skipped,
    /// It ended with a status that this version does not know.
    #[serde(rename = "unknown_status")]
    Unknown,
    Ambiguous,
    /// It was not submitted, because the batch ended before.
    NotSubmitted,
    /// The batch ended while the job or run was running.
    TimedOut,
}

impl Status {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown_status",
            Self::Ambiguous => "ambiguous",
            Self::NotSubmitted => "not_submitted",
            Self::TimedOut => "timed_out",
        }
    }

    /// Returns whether the item ended, and did not complete.
    pub(super) const fn has_failed(self) -> bool {
        matches!(self, Self::Failed | Self::Canceled | Self::Skipped | Self::Unknown)
    }
}

pub(super) fn status_words(status: &str) -> String {
    match status {
        "submitted" => "in flight".to_owned(),
        status => status.replace('_', " "),
    }
}

pub(super) const DOWNLOAD_FAILED: &str = "download_failed";

/// What is left of the write quota of an API key, for the process after one that is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Quota {
    pub(super) operation: String,
    pub(super) limit: u32,
    pub(super) remaining: u32,
    pub(super) resets_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ItemResult {
    pub(super) status: Status,
    /// What it cost in the end, after a refund, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) price_usd: Option<Usd>,
    /// `None` if they were not downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Vec<StoredFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Value>,
    #[serde(skip)]
    pub(super) artifacts: Vec<Value>,
}

impl ItemResult {
    pub(super) fn error(status: Status, price_usd: Option<Usd>, error: Value) -> Self {
        Self { status, price_usd, files: None, error: Some(error), artifacts: Vec::new() }
    }

    /// Returns whether it is the end of a completed item that has no files in a folder, or not all.
    pub(super) fn lacks_files_in(&self, folder: &Path) -> bool {
        let is_there = |file: &StoredFile| {
            Path::new(&file.path).file_name().is_some_and(|name| folder.join(name).exists())
        };
        let has_all = self.files.as_ref().is_some_and(|files| files.iter().all(is_there));
        self.status == Status::Completed && !has_all
    }

    /// Returns whether the request was rejected, and would be again as it is.
    pub(super) fn is_rejection(&self) -> bool {
        let status = self.error.as_ref().and_then(|error| error.get("status")?.as_u64());
        match self.error_text("next_action") {
            Some(action) => action == NextAction::FixInput.as_str(),
            None => status == Some(400),
        }
    }

    pub(super) fn error_text(&self, name: &str) -> Option<&str> {
        self.error.as_ref()?.get(name)?.as_str()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ItemEnd {
    pub(super) id: String,
    /// The generation of the latest submission, or 0 if there is none.
    #[serde(default)]
    pub(super) generation: u32,
    #[serde(flatten)]
    pub(super) result: ItemResult,
    pub(super) at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Note {
    Batch {
        version: u32,
        total: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        at: Timestamp,
    },
    Outcome(Box<ItemEnd>),
    /// Items that had not been submitted before did not fit into the limit.
    OverBudget {
        count: usize,
    },
    Quota(Quota),
    /// A journal of an earlier version has a charge above its estimate.
    Overcharged {},
}

/// The version of the notes that this program writes. Before 3, files were named by their ids.
pub(super) const VERSION: u32 = 3;
