//! Journals of earlier versions, which had a format of their own.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};
use svc_sdk::contract::{Operation, RetryClass};
use svc_sdk::journal::{self, FileStore, ImportedSubmission, IntentId, ResourceKind};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::{ACCOUNT, ItemEnd, Journal, Note, Status, locked, notes_of};
use crate::clock;
use crate::error::{Failure, Result};
use crate::input::{parent_dir, sync_dir, try_lock};
use crate::resource::ResourceId;

/// How the first line of such a journal begins.
pub(super) const FIRST_BYTES: &[u8] = br#"{"batch":{"#;
/// The number of submissions that are written at the same time.
const CONCURRENCY: usize = 256;

#[derive(Debug, Deserialize)]
struct EarlierIntent {
    id: String,
    #[serde(deserialize_with = "hash")]
    hash: u64,
    operation: String,
    idempotency_key: IdempotencyKey,
    #[serde(default)]
    price_usd: Option<Usd>,
    base_url: String,
    key_fingerprint: String,
    at: Timestamp,
}

#[derive(Debug, Deserialize)]
struct Receipt {
    id: String,
    #[serde(flatten)]
    resource: ResourceId,
    #[serde(default)]
    price_usd: Option<Usd>,
    #[serde(default)]
    request_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EarlierLine {
    Intent(Box<EarlierIntent>),
    /// The request was not carried out, and would be sent again.
    Released {
        id: String,
    },
    Receipt(Box<Receipt>),
    #[serde(untagged)]
    Note(Note),
}

pub(super) fn is_line(text: &[u8]) -> bool {
    serde_json::from_slice::<EarlierLine>(text).is_ok()
}

fn hash<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    u64::from_str_radix(&text, 16).map_err(de::Error::custom)
}

#[derive(Debug, Default)]
struct EarlierItem {
    attempts: Vec<EarlierAttempt>,
    /// The last outcome, after the one that was to be submitted again, if it was not.
    outcomes: Vec<ItemEnd>,
}

#[derive(Debug)]
struct EarlierAttempt {
    intent: Box<EarlierIntent>,
    receipt: Option<Box<Receipt>>,
    end: Option<(Status, Option<Usd>)>,
}

/// Returns the new journal, locked until it is dropped, or `None` if another process was first.
pub(super) async fn replace(path: &Path) -> Result<Option<File>> {
    let failure = |error: io::Error| Failure::file("cannot use the journal", path, &error);
    let file = File::options().read(true).append(true).open(path);
    let file = file.map_err(failure)?;
    if !try_lock(&file).map_err(failure)? {
        return Err(locked(path));
    }
    if super::FileVersion::of(path)? != super::FileVersion::Earlier {
        return Ok(None);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    match std::fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failure(error)),
        _ => {}
    }
    convert(path, new).await?;
    std::fs::rename(new, path).and_then(|()| sync_dir(parent_dir(path))).map_err(failure)?;
    Ok(Some(file))
}

pub(super) async fn convert(from: &Path, to: &Path) -> Result {
    let mut items: Vec<EarlierItem> = Vec::new();
    let mut places = HashMap::new();
    let mut notes = Vec::new();
    read(from, |line| {
        let id = match &line {
            EarlierLine::Intent(intent) => &intent.id,
            EarlierLine::Released { id } => id,
            EarlierLine::Receipt(receipt) => &receipt.id,
            EarlierLine::Note(Note::Outcome(outcome)) => &outcome.id,
            EarlierLine::Note(note) => return notes.push(note.clone()),
        };
        let place = *places.entry(id.clone()).or_insert_with(|| {
            items.push(EarlierItem::default());
            items.len() - 1
        });
        if let Some(item) = items.get_mut(place) {
            item.apply(line);
        }
    })?;
    let journal = Journal::new(FileStore::single_file(to).await, to, None)?;
    if items.iter().flat_map(|item| &item.attempts).any(EarlierAttempt::is_overcharged) {
        notes.push(Note::Overcharged {});
    }
    let outcomes = items.iter_mut().flat_map(|item| std::mem::take(&mut item.outcomes));
    notes.extend(outcomes.map(|outcome| Note::Outcome(Box::new(outcome))));
    let submissions = &journal.submissions;
    stream::iter(items)
        .map(|item| async move {
            for attempt in item.attempts {
                attempt.import(submissions).await?;
            }
            Ok::<(), Failure>(())
        })
        .buffer_unordered(CONCURRENCY)
        .try_collect::<()>()
        .await?;
    journal.add(&notes).await
}

fn read(path: &Path, mut visit: impl FnMut(EarlierLine)) -> Result {
    let failure = |error: io::Error| Failure::file("cannot use the journal", path, &error);
    let mut reader = BufReader::new(File::open(path).map_err(failure)?);
    let mut text = Vec::new();
    loop {
        text.clear();
        if reader.read_until(b'\n', &mut text).map_err(failure)? == 0 {
            return Ok(());
        }
        if let Ok(line) = serde_json::from_slice(&text) {
            visit(line);
        }
    }
}

impl EarlierItem {
    fn apply(&mut self, line: EarlierLine) {
        match line {
            EarlierLine::Intent(intent) => {
                self.outcomes.clear();
                let is_same = self.open().is_some_and(|open| {
                    open.receipt.is_none() && open.intent.idempotency_key == intent.idempotency_key
                });
                if !is_same {
                    self.attempts.push(EarlierAttempt { intent, receipt: None, end: None });
                }
            }
            EarlierLine::Released { .. } => {
                self.attempts.pop_if(|last| last.receipt.is_none());
            }
            EarlierLine::Receipt(receipt) => {
                if let Some(open) = self.open() {
                    open.receipt = Some(receipt);
                }
            }
            EarlierLine::Note(Note::Outcome(mut outcome)) => {
                let status = outcome.result.status;
                if matches!(status, Status::Completed | Status::Failed | Status::Canceled) {
                    // A request without a receipt was rejected.
                    self.attempts.pop_if(|last| last.receipt.is_none());
                    if let Some(open) = self.open() {
                        open.end = Some((status, outcome.result.price_usd));
                    }
                }
                outcome.generation = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
                if status != Status::NotSubmitted {
                    self.outcomes.clear();
                }
                self.outcomes.push(*outcome);
            }
            EarlierLine::Note(_) => {}
        }
    }

    fn open(&mut self) -> Option<&mut EarlierAttempt> {
        self.attempts.last_mut().filter(|last| last.end.is_none())
    }
}

impl EarlierAttempt {
    fn is_overcharged(&self) -> bool {
        let charge = self.receipt.as_ref().and_then(|it| it.price_usd);
        let charge_and_price = charge.zip(self.intent.price_usd);
        charge_and_price.is_some_and(|(charge, price)| charge > price)
    }

    async fn import(self, journal: &journal::Journal) -> Result {
        let intent = self.intent;
        let Some(operation) = Operation::from_name(&intent.operation) else { return Ok(()) };
        let receipt = self.receipt.as_ref();
        let charge = receipt.and_then(|receipt| receipt.price_usd);
        let id = IntentId::new(clock::random_hex(16)?);
        let imported = ImportedSubmission {
            id: id.clone(),
            submission_id: intent.id,
            account: ACCOUNT.to_owned(),
            operation,
            notes: notes_of(intent.hash, &intent.base_url, &intent.key_fingerprint, None),
            base_url: intent.base_url,
            idempotency_key: intent.idempotency_key,
            begun_at: intent.at.into(),
            resource: receipt.map(|receipt| {
                let kind = match receipt.resource {
                    ResourceId::Run(_) => ResourceKind::AgentRun,
                    _ => ResourceKind::Job,
                };
                (kind, receipt.resource.id().to_owned())
            }),
            request_id: receipt.and_then(|receipt| receipt.request_id.clone()),
            price_usd: charge.or(intent.price_usd),
            is_key_documented: operation.retry() == RetryClass::Key,
        };
        journal.import(imported).await?;
        if let Some((status, cost)) = self.end {
            let cost = cost.or(charge);
            journal.record_end(&id, status.as_str(), cost).await?;
        }
        Ok(())
    }
}
