//! The conversion of the files that earlier versions of `svc` kept in place of the SDK's journal.
//!
//! Each request had a file of JSON lines: the intent, the receipt, the outcome. It was in `open`, locked
//! by its process, until the outcome had been reported, and then in `history`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use futures_util::future::try_join_all;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use svc_sdk::contract::{Operation, RetryClass};
use svc_sdk::journal::{ImportedSubmission, IntentId, Journal, ResourceKind};
use svc_sdk::types::Usd;

use crate::args::RunKindChoice;
use crate::error::Result;
use crate::input::{private_append, sync_dir, try_lock};
use crate::journal::entry::{ENDED_AT, Entry, OUTCOME, journal_failure, notes};
use crate::resource::{Outcome, ResourceId};

const LOCK: &str = "conversion.lock";
const CHUNK: usize = 64;

/// Returns the entries that earlier versions left in a state folder, which remains as it is.
pub(super) fn read(state_dir: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for folder in folders(state_dir) {
        let paths = entry_files(&folder)?;
        let files = paths.iter().filter_map(EarlierFile::read);
        entries.extend(files.map(|file| file.entry));
    }
    Ok(entries)
}

/// A file that a running `svc` of an earlier version has locked stays for the next conversion.
pub(super) async fn convert(state_dir: &Path, folder: &Path) -> Result {
    let folders = folders(state_dir);
    if !folders.iter().any(|folder| folder.exists()) {
        return Ok(());
    }
    let io_failure = |error: io::Error| journal_failure("convert", state_dir, &error);
    let path = state_dir.join(LOCK);
    // One process converts at a time: what another one has imported would look as if it was being
    // submitted until that process ends.
    let lock = private_append().create(true).open(&path).map_err(io_failure)?;
    let locked = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await;
    let locked = locked.map_err(io::Error::other).and_then(|locked| locked);
    let _guard = locked.map_err(io_failure)?;
    let [open, history] = &folders;
    remove_incomplete(open).map_err(io_failure)?;
    let mut files = Vec::new();
    for path in entry_files(open).map_err(io_failure)? {
        files.extend(EarlierFile::lock(path).map_err(io_failure)?);
    }
    files.sort_by_key(|file| file.entry.created_at);
    let ended = entry_files(history).map_err(io_failure)?;
    if !(files.is_empty() && ended.is_empty()) {
        // A journal of its own: what is converted has no running owner afterwards.
        let journal = Journal::create(folder).await;
        let journal = journal.map_err(|error| journal_failure("write", folder, &error))?;
        for file in files {
            file.convert(&journal).await?;
        }
        for paths in ended.chunks(CHUNK) {
            let files = paths.iter().filter_map(EarlierFile::read);
            try_join_all(files.map(|file| file.convert(&journal))).await?;
        }
    }
    // A folder with files remains.
    if folders.iter().all(|folder| fs::remove_dir(folder).is_ok()) {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

fn folders(state_dir: &Path) -> [PathBuf; 2] {
    ["open", "history"].map(|name| state_dir.join(name))
}

#[derive(Debug)]
struct EarlierFile {
    /// Locked, if it is one of the open ones.
    _file: Option<File>,
    path: PathBuf,
    entry: Entry,
}

impl EarlierFile {
    /// Locks an open file. Returns `None` if its process is running, or if the file is gone.
    fn lock(path: PathBuf) -> io::Result<Option<Self>> {
        let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Its process may have moved the file before it was locked. File names are not reused.
        if !try_lock(&file)? || !path.try_exists()? {
            return Ok(None);
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Entry::parse(&text).map(|entry| Self { _file: Some(file), path, entry }))
    }

    fn read(path: &PathBuf) -> Option<Self> {
        Some(Self {
            entry: Entry::parse(&fs::read_to_string(path).ok()?)?,
            path: path.clone(),
            _file: None,
        })
    }

    async fn convert(self, journal: &Journal) -> Result {
        let Some(submission) = self.entry.submission() else { return Ok(()) };
        let failed = |error: &(dyn std::error::Error + 'static)| {
            journal_failure("convert", &self.path, error)
        };
        let id = submission.id.clone();
        let imported = journal.import(submission).await;
        imported.map_err(|error| failed(&error))?;
        if self.entry.outcome.is_some() {
            let acknowledged = journal.acknowledge(&id).await;
            acknowledged.map_err(|error| failed(&error))?;
        }
        let removed = fs::remove_file(&self.path);
        let removed = removed.and_then(|()| self.path.parent().map_or(Ok(()), sync_dir));
        removed.map_err(|error| failed(&error))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalLine {
    Intent(Box<Entry>),
    Receipt {
        #[serde(flatten)]
        resource: ResourceId,
        #[serde(default)]
        request_id: Option<String>,
        #[serde(default)]
        price_usd: Option<Usd>,
    },
    Outcome {
        outcome: Outcome,
        at: Timestamp,
    },
}

impl Entry {
    /// Ignores lines that are incomplete or unknown. A file without an intent is `None`.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let mut entry = lines.find_map(|line| match line {
            JournalLine::Intent(entry) => Some(*entry),
            _ => None,
        })?;
        for line in lines {
            match line {
                JournalLine::Intent(_) => {}
                JournalLine::Receipt { resource, request_id, price_usd } => {
                    entry.resource = Some(resource);
                    entry.request_id = request_id;
                    entry.price_usd = price_usd.or(entry.price_usd);
                }
                JournalLine::Outcome { outcome, at } => {
                    entry.outcome = Some(outcome);
                    entry.ended_at = Some(at);
                }
            }
        }
        Some(entry)
    }

    /// Returns the journal's kind of a resource that the request made.
    pub(super) fn kind_of(&self, resource: &ResourceId) -> ResourceKind {
        match resource {
            ResourceId::Job(_) => ResourceKind::Job,
            ResourceId::Queue(_) => ResourceKind::Queue,
            ResourceId::TopUp(_) => ResourceKind::TopUp,
            ResourceId::Run(_) => match RunKindChoice::of_operation(&self.operation) {
                Some(RunKindChoice::Action) => ResourceKind::ActionRun,
                Some(RunKindChoice::Agent) => ResourceKind::AgentRun,
                Some(RunKindChoice::Format) | None => ResourceKind::FormatRun,
            },
        }
    }

    /// Returns it as the SDK's journal takes it, or `None` if its operation is unknown.
    fn submission(&self) -> Option<ImportedSubmission> {
        let (price, max_price) = (self.price_usd, self.max_price_usd);
        let mut notes = notes(&self.surface, &self.base_url, &self.summary, price, max_price);
        if let Some(outcome) = self.outcome {
            notes.insert(OUTCOME.to_owned(), json!(outcome));
            notes.insert(ENDED_AT.to_owned(), json!(self.ended_at));
        }
        let operation = Operation::from_name(&self.operation)?;
        let resource = self.resource.as_ref();
        let resource = resource.map(|it| (self.kind_of(it), it.id().to_owned()));
        Some(ImportedSubmission {
            id: IntentId::new(self.id.as_str()),
            submission_id: self.request_hash.to_string(),
            account: self.key_fingerprint.clone(),
            operation,
            base_url: self.base_url.clone(),
            idempotency_key: self.idempotency_key.clone(),
            begun_at: self.created_at.into(),
            resource,
            request_id: self.request_id.clone(),
            price_usd: self.price_usd,
            notes,
            // Whether a tool of the MCP endpoint recognizes keys is known when it is called again.
            is_key_documented: operation.retry() == RetryClass::Key || operation == Operation::Mcp,
        })
    }
}

fn entry_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_entry = |name: &str| !name.starts_with('.') && name.ends_with(".jsonl");
    files(folder, is_entry)
}

/// A process that is still running fails without its file, and sends nothing.
fn remove_incomplete(folder: &Path) -> io::Result<()> {
    for path in files(folder, |name| name.starts_with('.'))? {
        if File::open(&path).is_ok_and(|file| try_lock(&file).is_ok_and(|it| it)) {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Returns the files of a folder whose names match. A folder that does not exist has none.
fn files(folder: &Path, is_match: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if is_match(&path.file_name().unwrap_or_default().to_string_lossy()) {
            paths.push(path);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;

    use super::*;
    use crate::journal::submissions::{FOLDER, PURGED};
    use crate::journal::{Submissions, entries};

    /// What version 0.1 wrote: an open file with an incomplete line, and three of the history.
    const OPEN: &str = r#"{"intent":{"id":"18a1b2c3-k1","request_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","surface":"open","base_url":"https://a","key_fingerprint":"f","operation":"image_generate","idempotency_key":"k1","summary":"image, model image-i","price_usd":"0.0500","created_at":"2026-11-22T10:00:00Z"}}
{"receipt":{"jo"#;
    const SUBMITTED: &str = r#"{"intent":{"id":"18a1b2c4-k2","request_hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","surface":"developer","base_url":"https://b","key_fingerprint":"f","operation":"agent_completions_create","idempotency_key":"k2","summary":"agent run","max_price_usd":"1.0000","created_at":"2026-11-22T10:00:01Z"}}
{"receipt":{"run_id":"run_1","request_id":"req_1"}}
"#;
    const HISTORY: [&str; 3] = [
        r#"{"intent":{"id":"1-k3","request_hash":"cc","surface":"open","base_url":"https://a","key_fingerprint":"f","operation":"video_generate","idempotency_key":"k3","summary":"video","created_at":"2001-01-01T00:00:00Z"}}
{"receipt":{"job_id":"job_1","request_id":"req_2","price_usd":"0.7000"}}
{"outcome":{"outcome":"failed","at":"2001-01-01T00:01:00Z"}}
"#,
        r#"{"intent":{"id":"2-k4","request_hash":"dd","surface":"open","base_url":"https://a","key_fingerprint":"f","operation":"top_ups_create","idempotency_key":"k4","summary":"top-up","created_at":"2026-11-22T08:00:00Z"}}
{"outcome":{"outcome":"not_sent","at":"2026-11-22T08:00:01Z"}}
"#,
        r#"{"intent":{"id":"3-k5","request_hash":"dd","surface":"developer","base_url":"https://b","key_fingerprint":"f","operation":"mcp","idempotency_key":"k5","summary":"MCP tool, image_generate","created_at":"2026-11-22T09:00:00Z"}}
{"receipt":{"job_id":"job_2"}}
{"weather":"fine"}
{"outcome":{"outcome":"abandoned","at":"2026-11-22T09:00:01Z"}}
"#,
    ];

    fn state() -> tempfile::TempDir {
        let state = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(state.path().join(name), text).unwrap();
        for folder in ["open", "history"] {
            fs::create_dir(state.path().join(folder)).unwrap();
        }
        write("open/aaaaaaaaaaaaaaaaaaaaaaaa-18a1b2c3-k1.jsonl", OPEN);
        write("open/bbbbbbbbbbbbbbbbbbbbbbbb-18a1b2c4-k2.jsonl", SUBMITTED);
        write("open/.killed.jsonl", "");
        for (number, text) in HISTORY.iter().enumerate() {
            write(&format!("history/{number:015}-k.jsonl"), text);
        }
        state
    }

    #[tokio::test]
    async fn what_an_earlier_version_left_is_in_the_journal_as_it_was() {
        let state = state();
        let earlier = entries(state.path()).await.unwrap();
        assert!(!state.path().join(FOLDER).exists(), "reading changes nothing");
        let converted = Submissions::create(state.path()).await.unwrap();
        drop(converted);
        let all = entries(state.path()).await.unwrap();
        assert_eq!(all, earlier);
        let keys: Vec<_> = all.iter().map(|it| it.idempotency_key.as_str()).collect();
        assert_eq!(keys, ["k2", "k1", "k5", "k4", "k3"]);
        let expected = [SUBMITTED, OPEN, HISTORY[2], HISTORY[1], HISTORY[0]];
        assert_eq!(all, expected.map(|text| Entry::parse(text).unwrap()));
        let left = fs::read_dir(state.path()).unwrap();
        let left: BTreeSet<_> = left.map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, [FOLDER, PURGED].map(Into::into).into());

        // Another process takes over what was open, although this one converted it.
        let journal = Submissions::create(state.path()).await.unwrap();
        let orphan = |hash: &str| {
            let hash = serde_json::from_value(hash.repeat(32).into()).unwrap();
            let journal = &journal;
            async move { journal.orphan(&hash, "f", true).await.unwrap() }
        };
        assert_eq!(orphan("aa").await.unwrap().entry, all[1]);
        assert_eq!(orphan("bb").await.unwrap().entry, all[0]);
        assert!(orphan("c").await.is_none());
        // Only one process does.
        let second = Submissions::create(state.path()).await.unwrap();
        let hash = &all[1].request_hash;
        assert!(second.orphan(hash, "f", true).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_file_whose_process_is_running_is_converted_later() {
        let state = state();
        let path = state.path().join("open/aaaaaaaaaaaaaaaaaaaaaaaa-18a1b2c3-k1.jsonl");
        let mut running = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(try_lock(&running).unwrap());
        Submissions::create(state.path()).await.unwrap();
        assert!(path.exists());
        running.write_all(b"\n{\"receipt\":{\"job_id\":\"job_3\"}}\n").unwrap();
        let shown = entries(state.path()).await.unwrap();
        assert_eq!(shown[1].resource, Some(ResourceId::Job("job_3".to_owned())));
        drop(running);
        Submissions::create(state.path()).await.unwrap();
        assert!(!path.exists());
        assert_eq!(entries(state.path()).await.unwrap(), shown);
    }
}
