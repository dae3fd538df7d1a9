//! `svc batch status`: how far a batch is, from its journal alone; and what all batches of this machine
//! submitted.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::journal::Entry;

use super::journal::{
    self, BUDGET, DEFAULT_SUFFIX, ItemEnd, ItemResult, Journal, Note, Record, Spent, Status,
    Stored, resource_id, status_words,
};
use super::report::{Reasons, item_json, label_of, print_items};
use super::summary::{FIND_LIMIT, left_alone, retried};
use crate::args::SurfaceChoice;
use crate::config::state_dir;
use crate::error::{Failure, Result, Suggestion};
use crate::input::{parent_dir, private_append, read_or_empty};
use crate::output::Table;
use crate::session::Session;
use crate::text::{counted, sanitize};

/// The maximum number of items in the table. Items that are not completed come first.
const MAX_TABLE_ROWS: usize = 50;

#[derive(Debug, Default)]
struct JournalItem {
    id: String,
    record: Record,
    /// The latest submission, and the outcome that was noted last.
    entry: Option<Box<Entry>>,
    end: Option<Box<ItemEnd>>,
}

#[derive(Debug, Default)]
struct Contents {
    has_begun: bool,
    total: usize,
    command: Option<String>,
    items: Vec<JournalItem>,
    places: HashMap<String, usize>,
    /// The number of items that did not fit into the limit of the last run.
    over_budget: usize,
    is_overcharged: bool,
}

pub(crate) async fn status(session: &Session, manifest: &Path, journal: Option<&Path>) -> Result {
    let path = journal.map_or_else(|| journal::default_path(manifest), Path::to_owned);
    let file = manifest.display().to_string();
    let mut words = vec!["batch".to_owned(), "run".to_owned(), file];
    if let Some(journal) = journal {
        words.extend(["--journal".to_owned(), journal.display().to_string()]);
    }
    let run_command = session.resume_command(SurfaceChoice::Open, &words);
    let missing = || {
        let (shown, manifest_path) = (path.display(), manifest.display());
        let why = match (path.exists(), manifest.exists()) {
            (true, _) => "is empty: the batch has not started".to_owned(),
            (false, true) => "does not exist".to_owned(),
            (false, false) => format!("does not exist, and neither does {manifest_path}"),
        };
        Failure::usage(format!("{shown} {why}")).hint(match manifest.exists() {
            true => Suggestion::from("start the batch with: ").command(run_command.clone()),
            false => "pass the file that the batch was started with, or its journal with --journal"
                .into(),
        })
    };
    if path.metadata().is_ok_and(|file| file.len() == 0) || !path.exists() {
        return Err(missing());
    }
    let journal = Journal::read_only(&path).await?;
    let mut contents = Contents::default();
    journal.read(|stored| contents.apply(stored)).await?;
    if !contents.has_begun {
        return Err(missing());
    }
    contents.is_overcharged |= journal.submissions.budget(BUDGET).await?.is_stopped;
    contents.print(session)?;
    let command = contents.command.clone().unwrap_or_else(|| run_command.to_string());
    if let Some(next) = contents.next_step(&command) {
        session.printer.note(&format!("next: {}", sanitize(&next)));
    }
    Ok(())
}

impl Contents {
    fn apply(&mut self, stored: Stored) {
        match stored {
            Stored::Note(Note::Batch { total, command, .. }) => {
                self.has_begun = true;
                self.total = usize::try_from(total).unwrap_or(usize::MAX);
                self.command = command.or(self.command.take());
                self.over_budget = 0;
            }
            Stored::Note(Note::Outcome(outcome)) => {
                let Some(item) = self.item(&outcome.id) else { return };
                if !item.record.apply_outcome(&outcome, None) {
                    item.end = Some(outcome);
                }
            }
            Stored::Note(Note::OverBudget { count }) => self.over_budget = count,
            Stored::Note(Note::Overcharged {}) => self.is_overcharged = true,
            Stored::Note(Note::Quota(_)) => {}
            Stored::Submission(entry) => {
                let id = entry.submission_id.as_deref().unwrap_or_default();
                let Some(item) = self.item(id) else { return };
                item.record.apply_submission(&entry);
                item.entry = Some(entry);
            }
        }
    }

    fn item(&mut self, id: &str) -> Option<&mut JournalItem> {
        let items = &mut self.items;
        let place = *self.places.entry(id.to_owned()).or_insert_with(|| {
            items.push(JournalItem { id: id.to_owned(), ..JournalItem::default() });
            items.len() - 1
        });
        items.get_mut(place)
    }

    /// Says how to continue the batch, unless all its items completed.
    fn next_step(&self, command: &str) -> Option<String> {
        let count = |is_counted: &dyn Fn(&JournalItem) -> bool| {
            self.items.iter().filter(|item| is_counted(item)).count()
        };
        let failed = count(&|item| item.ended().is_some_and(Status::has_failed));
        let unknown = count(&|item| {
            item.ended().is_some_and(Status::has_failed) && item.record.has_unknown_status
        });
        let is_limited = self.over_budget > 0 && !self.is_overcharged;
        if failed > unknown {
            let canceled = [Status::Canceled, Status::Skipped];
            let canceled = count(&|item| item.ended().is_some_and(|it| canceled.contains(&it)));
            let which = retried(canceled == failed);
            let retry = match is_limited {
                true => format!("{FIND_LIMIT} {which}: {command} --retry-failed --dry-run"),
                false => format!("submit {which} again with: {command} --retry-failed"),
            };
            let corrections = self.items.iter().filter(|item| item.record.needs_correction());
            let ids: Vec<&str> = corrections.map(|item| item.id.as_str()).collect();
            return Some(match ids.as_slice() {
                [] => retry,
                [id] => format!("correct item {id}, then {retry}"),
                [id, others @ ..] => {
                    let others = counted(others.len(), "other item");
                    format!("correct item {id} and {others}, then {retry}")
                }
            });
        }
        let completed = count(&|item| item.record.status() == Some(Status::Completed));
        let rest = self.total.saturating_sub(completed);
        match rest {
            0 => {
                let missing_files = count(&|item| item.record.has_missing_files());
                let download = format!("download the missing files with: {command}");
                (missing_files > 0).then_some(download)
            }
            _ if rest <= self.over_budget && self.is_overcharged => Some(format!(
                "check the charges, as one was above its estimate; then remove --max-spend from \
                 this command to submit the rest: {command}"
            )),
            _ if rest <= self.over_budget => {
                Some(format!("{FIND_LIMIT} the rest: {command} --dry-run"))
            }
            _ if rest == unknown => Some(left_alone(unknown)),
            _ => Some(format!("resume with: {command}")),
        }
    }

    fn print(&self, session: &Session) -> Result {
        let total = self.total.max(self.items.len());
        let mut by_status: BTreeMap<&str, usize> = BTreeMap::new();
        for item in &self.items {
            *by_status.entry(item.status()).or_default() += 1;
        }
        if total > self.items.len() {
            let missing = total - self.items.len();
            *by_status.entry(Status::NotSubmitted.as_str()).or_default() += missing;
        }
        let spent: Spent = self.items.iter().map(|item| item.record.spent).sum();
        let printer = &session.printer;
        if !printer.is_table() {
            let items: Vec<Value> = self.items.iter().map(JournalItem::to_json).collect();
            let shown = json!({
                "total": total, "by_status": by_status, "spent_usd": spent.known(), "items": items,
            });
            return printer.print_item(&shown, |_| Table::default());
        }
        printer.print_item(&by_status, |by_status| {
            let mut table = Table::key_value();
            table.field("items", Some(total));
            for (status, count) in by_status {
                table.field(&status_words(status), Some(count));
            }
            table.field("spent", Some(spent));
            table
        })?;
        let unfinished = self.items.iter().filter(|item| {
            let has_error = item.result().is_some_and(|result| result.error.is_some());
            item.status() != Status::Completed.as_str() || has_error
        });
        let (mut rows, mut reasons) = (Vec::new(), Reasons::default());
        for item in unfinished.map(JournalItem::to_json) {
            reasons.add(&item);
            if rows.len() < MAX_TABLE_ROWS {
                rows.push(item);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        printer.print_bytes(b"\n")?;
        print_items(printer, &rows, &reasons)
    }
}

impl JournalItem {
    /// Returns what it ended with, unless the item was submitted again since.
    fn result(&self) -> Option<&ItemResult> {
        let end = self.end.as_deref().filter(|_| self.record.status().is_some());
        end.map(|end| &end.result)
    }

    fn ended(&self) -> Option<Status> {
        self.result().map(|result| result.status)
    }

    fn status(&self) -> &'static str {
        match (self.ended(), &self.record.attempt) {
            (Some(status), _) => status.as_str(),
            (None, Some(attempt)) if attempt.resource.is_some() => "submitted",
            (None, Some(_)) => Status::Ambiguous.as_str(),
            (None, None) => Status::NotSubmitted.as_str(),
        }
    }

    fn to_json(&self) -> Value {
        let entry = self.entry.as_deref();
        let operation = entry.and_then(|entry| entry.operation);
        let is_run = operation == Some(Operation::AgentCompletionsCreate);
        item_json(&self.id, is_run, self.status(), entry, self.result())
    }
}

/// The journals of the batches of this machine, one per line.
const BATCHES_FILE: &str = "batches.txt";

pub(crate) struct KnownItem {
    pub(crate) id: String,
    pub(crate) operation: String,
    pub(crate) batch: String,
    pub(crate) label: Option<String>,
}

pub(super) fn remember(folder: &Path, journal: &Path) -> io::Result<()> {
    let path = std::path::absolute(journal)?.display().to_string();
    let file = folder.join(BATCHES_FILE);
    if read_or_empty(&file)?.lines().any(|line| line == path) || path.contains('\n') {
        return Ok(());
    }
    std::fs::create_dir_all(parent_dir(&file))?;
    io::Write::write_all(
        &mut private_append().create(true).open(&file)?,
        format!("{path}\n").as_bytes(),
    )
}

/// Returns the jobs and runs of all batches that have a journal, and why some are missing.
pub(crate) async fn known_items(session: &Session) -> Result<(Vec<KnownItem>, Vec<String>)> {
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    if session.is_sandbox() {
        return Ok((items, problems));
    }
    let file = state_dir(session.environment())?.join(BATCHES_FILE);
    let paths = read_or_empty(&file)
        .map_err(|error| Failure::file("cannot read the list of batches", &file, &error))?;
    for path in paths.lines().map(PathBuf::from).filter(|path| path.exists()) {
        let read = read_items(&path, &mut items).await;
        if let Err(failure) = read {
            let (path, why) = (path.display(), failure.headline());
            problems.push(format!("the items of the batch in {path} are left out: {why}"));
        }
    }
    Ok((items, problems))
}

async fn read_items(path: &Path, items: &mut Vec<KnownItem>) -> Result {
    let journal = Journal::read_only(path).await?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let batch = name.strip_suffix(DEFAULT_SUFFIX).unwrap_or(&name);
    let visit = |stored| {
        if let Stored::Submission(entry) = stored
            && let (Some(id), Some(operation)) = (resource_id(&entry), entry.operation)
        {
            items.push(KnownItem {
                id: id.id().to_owned(),
                operation: operation.name().to_owned(),
                batch: batch.to_owned(),
                label: label_of(&entry).map(str::to_owned),
            });
        }
    };
    journal.read(visit).await
}
