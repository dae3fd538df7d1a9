//! Submits in the SDK's journal.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use svc_sdk::Call;
use svc_sdk::handle::{self, Handle};
use svc_sdk::journal::{
    self, Entries, EntryState, IntentId, JournalError, ReleaseReason, Reuse, Settled,
    UndecidedReason,
};

use crate::clock;
use crate::error::{Failure, Result};
use crate::journal::earlier;
use crate::journal::entry::{
    BASE_URL, ENDED_AT, Entry, LABEL, MAX_PRICE, OUTCOME, PRICE, RequestHash, SOURCE, SUMMARY,
    SURFACE, journal_failure,
};
use crate::resource::{Outcome, ResourceId};

pub(super) const FOLDER: &str = "journal";
pub(super) const PURGED: &str = "journal-purged";
const PURGE_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(crate) struct Submissions {
    journal: journal::Journal,
    folder: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Orphan {
    pub(crate) entry: Entry,
    /// Why its request must not be sent again, if it has no receipt.
    pub(crate) undecided: Option<UndecidedReason>,
}

impl Orphan {
    pub(crate) fn age(&self) -> Duration {
        clock::elapsed(clock::now(), self.entry.created_at)
    }
}

impl Submissions {
    pub(crate) async fn create(state_dir: &Path) -> Result<Self> {
        let folder = state_dir.join(FOLDER);
        earlier::convert(state_dir, &folder).await?;
        let journal = journal::Journal::create(&folder).await;
        let journal = journal.map_err(|error| journal_failure("write", &folder, &error))?;
        purge(&journal, &state_dir.join(PURGED)).await;
        Ok(Self { journal, folder })
    }

    pub(crate) fn submission<R: handle::Resource>(
        &self,
        call: Call<Handle<R>>,
        hash: &RequestHash,
        notes: Map<String, Value>,
    ) -> Call<Handle<R>> {
        let call = call
            .journal(&self.journal)
            .submission_id(hash.to_string())
            .reuse(Reuse::ContinueAbandoned);
        notes.into_iter().fold(call, |call, (name, value)| call.note(name, value))
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn tool_submission<'a>(
        &self,
        call: svc_mcp::ToolCall<'a>,
        hash: &RequestHash,
        notes: Map<String, Value>,
    ) -> svc_mcp::ToolCall<'a> {
        let call = call
            .journal(&self.journal)
            .submission_id(hash.to_string())
            .reuse(Reuse::ContinueAbandoned);
        notes.into_iter().fold(call, |call, (name, value)| call.note(name, value))
    }

    /// Takes over the oldest submission of a request that was left open by a process that has ended. If two
    /// equal commands run at once, one takes it over, and the other one sends a new request.
    /// `is_idempotent` is whether the request can be sent again with the same key.
    pub(crate) async fn orphan(
        &self,
        hash: &RequestHash,
        account: &str,
        is_idempotent: bool,
    ) -> Result<Option<Orphan>> {
        let mut open = self.open_entries(hash, account).await?;
        open.sort_by_key(|entry| entry.generation);
        for entry in open {
            let claimed = self.journal.claim(&entry.id).await;
            if !claimed.map_err(|error| journal_failure("write", &self.folder, &error))? {
                // Another process has taken it over since it was read.
                continue;
            }
            let undecided = match &entry.state {
                EntryState::Undecided(UndecidedReason::CallAgain) => {
                    (!is_idempotent).then_some(UndecidedReason::KeyNotDocumented)
                }
                EntryState::Undecided(reason) => Some(*reason),
                _ => None,
            };
            return Ok(to_history_entry(entry).map(|entry| Orphan { entry, undecided }));
        }
        Ok(None)
    }

    pub(crate) async fn abandon(&self, hash: &RequestHash, account: &str) -> Result {
        for entry in self.open_entries(hash, account).await? {
            let closed = close(&self.journal, &entry.id, Outcome::Abandoned).await;
            closed.map_err(|error| journal_failure("write", &self.folder, &error))?;
        }
        Ok(())
    }

    /// Returns the submissions of processes that have ended whose outcome is unknown.
    pub(crate) async fn unknown_entries(&self) -> Result<Vec<Entry>> {
        let open = read_all(self.journal.unacknowledged_entries()).await;
        let open = open.map_err(|error| journal_failure("read", &self.folder, &error))?;
        let open = open.into_iter().filter(|entry| !entry.is_running).filter_map(to_history_entry);
        Ok(open.filter(|entry| entry.resource.is_none()).collect())
    }

    async fn open_entries(&self, hash: &RequestHash, account: &str) -> Result<Vec<journal::Entry>> {
        let hash = hash.to_string();
        let open = read_all(self.journal.unacknowledged_entries()).await;
        let mut open = open.map_err(|error| journal_failure("read", &self.folder, &error))?;
        open.retain(|entry| {
            let is_same = entry.submission_id.as_ref() == Some(&hash) && entry.account == account;
            is_same && !entry.is_running
        });
        Ok(open)
    }

    pub(crate) async fn close(&self, id: &IntentId, outcome: Outcome) -> Result {
        let closed = close(&self.journal, id, outcome).await;
        closed.map_err(|error| Failure::other(error.to_string()))
    }

    /// Turns the error of a submit that the journal kept from being sent into what the user can do.
    pub(crate) fn failure(&self, error: svc_sdk::Error) -> Failure {
        match error.journal() {
            Some(JournalError::Store(_)) if !error.may_have_been_sent() => {
                journal_failure("write", &self.folder, &error)
            }
            _ => Failure::from(error),
        }
    }
}

/// Returns all entries of a state folder, newest first, those of earlier versions among them.
pub(crate) async fn entries(state_dir: &Path) -> Result<Vec<Entry>> {
    // These are read first, as another process may move them to the journal in the meantime.
    let earlier = earlier::read(state_dir);
    let mut entries = earlier.map_err(|error| unreadable(state_dir, &error))?;
    if let Some(journal) = open(state_dir).await? {
        let all = read_all(journal.entries()).await;
        let all = all.map_err(|error| unreadable(&state_dir.join(FOLDER), &error))?;
        let all: Vec<_> = all.into_iter().filter_map(to_history_entry).collect();
        let moved: HashSet<_> = all.iter().map(|entry| entry.id.as_str()).collect();
        entries.retain(|entry| !moved.contains(entry.id.as_str()));
        entries.extend(all);
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.created_at));
    Ok(entries)
}

/// Closes what was left open of a resource whose outcome another command has reported.
pub(crate) async fn close_matching(
    state_dir: &Path,
    base_url: &str,
    resource: &ResourceId,
    outcome: Outcome,
) {
    // If it cannot be closed, the same command merely resumes it.
    let _ = earlier::convert(state_dir, &state_dir.join(FOLDER)).await;
    let Ok(Some(journal)) = open(state_dir).await else { return };
    for entry in read_all(journal.unacknowledged_entries()).await.unwrap_or_default() {
        let (id, is_running) = (entry.id.clone(), entry.is_running);
        let is_it = to_history_entry(entry).is_some_and(|entry| {
            entry.resource.as_ref() == Some(resource) && entry.base_url == base_url
        });
        if is_it && !is_running {
            let _ = close(&journal, &id, outcome).await;
        }
    }
}

/// Records what a person found out of a request whose outcome is unknown: what it made, or nothing.
pub(crate) async fn settle(state_dir: &Path, entry: &Entry, made: Option<&ResourceId>) -> Result {
    let folder = state_dir.join(FOLDER);
    earlier::convert(state_dir, &folder).await?;
    let Some(journal) = open(state_dir).await? else { return Ok(()) };
    let settled = match made {
        Some(made) => Settled::Executed {
            kind: entry.kind_of(made),
            id: made.id().to_owned(),
            charge_usd: None,
        },
        None => Settled::NotExecuted,
    };
    let recorded = journal.settle(&IntentId::new(entry.id.as_str()), settled).await;
    recorded.map_err(|error| match error.journal() {
        Some(JournalError::Store(error)) if error.is_not_owner() => {
            Failure::other("the command that sent the request is still running")
                .hint("wait until it ends, or stop it, and look again")
        }
        _ => Failure::other(format!("cannot record it: {error}")),
    })
}

async fn open(state_dir: &Path) -> Result<Option<journal::Journal>> {
    let folder = state_dir.join(FOLDER);
    if !folder.exists() {
        return Ok(None);
    }
    let journal = journal::Journal::open(&folder).await;
    Ok(Some(journal.map_err(|error| unreadable(&folder, &error))?))
}

async fn read_all(mut entries: Entries) -> svc_sdk::Result<Vec<journal::Entry>> {
    let mut all = Vec::new();
    while let Some(entry) = entries.next().await {
        all.push(entry?);
    }
    Ok(all)
}

async fn close(journal: &journal::Journal, id: &IntentId, outcome: Outcome) -> svc_sdk::Result<()> {
    if let Some(status) = ended_status(outcome) {
        journal.record_end(id, status, None).await?;
    }
    journal.acknowledge(id).await
}

/// Removes what ended long ago, once a day. A journal that is not purged works as well.
async fn purge(journal: &journal::Journal, stamp: &Path) {
    let purged_at = fs::metadata(stamp).and_then(|it| it.modified()).ok();
    let purged_at = purged_at.and_then(|at| Timestamp::try_from(at).ok());
    let is_recent =
        |at: &Timestamp| clock::elapsed(clock::now(), *at) < PURGE_INTERVAL && *at <= clock::now();
    if purged_at.is_none_or(|at| !is_recent(&at)) && journal.purge().await.is_ok() {
        let _ = fs::write(stamp, clock::now().to_string());
    }
}

fn unreadable(folder: &Path, error: &dyn fmt::Display) -> Failure {
    let shown = folder.display();
    Failure::other(format!("cannot read the journal in {shown}: {error}"))
}

/// A submit whose receipt was all that was asked for has no status.
fn ended_status(outcome: Outcome) -> Option<&'static str> {
    let has_none = matches!(outcome, Outcome::Submitted | Outcome::Refused | Outcome::NotSent);
    (!has_none).then(|| outcome.as_str())
}

fn outcome_of(entry: &journal::Entry) -> Option<Outcome> {
    match &entry.state {
        _ if entry.notes.contains_key(OUTCOME) => noted(entry, OUTCOME),
        EntryState::Released(ReleaseReason::NotSent | ReleaseReason::Settled) => {
            Some(Outcome::NotSent)
        }
        EntryState::Released(_) => Some(Outcome::Refused),
        _ if !entry.is_acknowledged => None,
        EntryState::Ended(status) => Outcome::of_status(status).or(Some(Outcome::Completed)),
        _ => Some(Outcome::Submitted),
    }
}

fn noted<T: DeserializeOwned>(entry: &journal::Entry, name: &str) -> Option<T> {
    serde_json::from_value(entry.notes.get(name)?.clone()).ok()
}

/// Returns an entry as `svc history` shows it, or `None` if it was written by a newer version.
fn to_history_entry(entry: journal::Entry) -> Option<Entry> {
    let outcome = outcome_of(&entry);
    let text = |name| {
        let text = entry.notes.get(name).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let closed_at = outcome.and_then(|_| Timestamp::try_from(entry.updated_at).ok());
    let ended_at = noted(&entry, ENDED_AT).or(closed_at);
    Some(Entry {
        id: entry.id.to_string(),
        request_hash: RequestHash::from_text(entry.submission_id.clone()?),
        surface: text(SURFACE),
        base_url: text(BASE_URL),
        key_fingerprint: entry.account.clone(),
        operation: entry.operation?.name().to_owned(),
        idempotency_key: entry.idempotency_key.clone()?,
        summary: text(SUMMARY),
        label: noted(&entry, LABEL),
        price_usd: entry.price_usd().or_else(|| noted(&entry, PRICE)),
        max_price_usd: noted(&entry, MAX_PRICE),
        created_at: Timestamp::try_from(entry.begun_at).ok()?,
        resource: entry.resource.as_ref().and_then(|(kind, id)| resource_id(*kind, id)),
        request_id: entry.request_id.clone(),
        source: entry.notes.get(SOURCE).cloned(),
        outcome,
        ended_at,
    })
}

fn resource_id(kind: journal::ResourceKind, id: &str) -> Option<ResourceId> {
    use journal::ResourceKind::{ActionRun, AgentRun, FormatRun, Job, Queue, TopUp};

    let id = id.to_owned();
    match kind {
        Job => Some(ResourceId::Job(id)),
        ActionRun | FormatRun | AgentRun => Some(ResourceId::Run(id)),
        Queue => Some(ResourceId::Queue(id)),
        TopUp => Some(ResourceId::TopUp(id)),
        _ => None,
    }
}
