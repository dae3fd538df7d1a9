//! `svc batch status`: how far a batch is, from its journal alone.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use crate::batch::journal::{
    self, BUDGET, ItemEnd, Journal, Note, Record, Status, Stored, resource_id, status_words,
};
use crate::batch::reasons::Reasons;
use crate::batch::report::print_items;
use crate::batch::summary::left_alone;
use crate::error::{Failure, Suggestion};
use crate::output::Table;
use crate::output::values::money;
use crate::resource::ResourceId;
use crate::session::Session;
use crate::text::{counted, sanitize, shell_quote};

/// The maximum number of items in the table. Items that are not completed come first.
const MAX_TABLE_ROWS: usize = 50;

/// An item, as the journal describes it.
#[derive(Debug, Default)]
struct JournalItem {
    id: String,
    record: Record,
    is_run: bool,
    resource: Option<ResourceId>,
    /// The price of the latest attempt, if it is known.
    price: Option<Usd>,
    /// The outcome that was noted last.
    outcome: Option<Box<ItemEnd>>,
}

/// Prints the status of a batch.
pub(crate) async fn status(
    session: &Session,
    manifest: &Path,
    journal: Option<&Path>,
) -> Result<(), Failure> {
    let path = journal.map_or_else(|| journal::default_path(manifest), Path::to_owned);
    let (mut total, mut items) = (0_usize, Vec::<JournalItem>::new());
    let mut places = HashMap::new();
    let file = shell_quote(&manifest.display().to_string()).into_owned();
    let mut command = format!("svc batch run {file}");
    let missing = || {
        let (shown, manifest_path) = (path.display(), manifest.display());
        let why = match (path.exists(), manifest.exists()) {
            (true, _) => "is empty: the batch has not started".to_owned(),
            (false, true) => "does not exist".to_owned(),
            (false, false) => format!("does not exist, and neither does {manifest_path}"),
        };
        Failure::usage(format!("{shown} {why}")).hint(match manifest.exists() {
            true => Suggestion::from("start the batch with: ").svc([
                "batch",
                "run",
                &manifest.display().to_string(),
            ]),
            false => "pass the file that the batch was started with, or its journal with --journal"
                .into(),
        })
    };
    if !path.exists() {
        return Err(missing());
    }
    let mut has_begun = false;
    if path.metadata().is_ok_and(|file| file.len() == 0) {
        return Err(missing());
    }
    let journal = Journal::read_only(&path).await?;
    let mut of = |items: &mut Vec<JournalItem>, id: &str| {
        *places.entry(id.to_owned()).or_insert_with(|| {
            items.push(JournalItem { id: id.to_owned(), ..JournalItem::default() });
            items.len() - 1
        })
    };
    let mut was_overcharged = false;
    let read = journal.read(|stored| match stored {
        Stored::Note(Note::Batch { total: now, command: recorded, .. }) => {
            has_begun = true;
            total = usize::try_from(now).unwrap_or(usize::MAX);
            if let Some(recorded) = recorded {
                command = recorded;
            }
        }
        Stored::Note(Note::Outcome(outcome)) => {
            let place = of(&mut items, &outcome.id);
            if let Some(item) = items.get_mut(place) {
                item.record.apply_outcome(&outcome);
                item.outcome = Some(outcome);
            }
        }
        Stored::Note(Note::Overcharged {}) => was_overcharged = true,
        Stored::Note(Note::Quota(_)) => {}
        Stored::Submission(entry) => {
            let place = of(&mut items, entry.submission_id.as_deref().unwrap_or_default());
            if let Some(item) = items.get_mut(place) {
                item.apply(&entry);
            }
        }
    });
    read.await?;
    if !has_begun {
        return Err(missing());
    }
    print(session, total.max(items.len()), &items)?;
    let is_overcharged = was_overcharged || journal.submissions.budget(BUDGET).await?.is_stopped;
    if let Some(next) = next_step(&items, total, &command, is_overcharged) {
        session.printer.note(&format!("next: {}", sanitize(&next)));
    }
    Ok(())
}

/// Says how to continue a batch, unless all its items completed.
fn next_step(
    items: &[JournalItem],
    total: usize,
    command: &str,
    is_overcharged: bool,
) -> Option<String> {
    let count = |is_counted: &dyn Fn(&JournalItem) -> bool| {
        items.iter().filter(|item| is_counted(item)).count()
    };
    let has_code = |item: &JournalItem, code: &str| {
        item.error().is_some_and(|error| error.get("code").is_some_and(|it| it == code))
    };
    let failed = [Some(Status::Failed), Some(Status::Canceled)];
    let failed = count(&|item| failed.contains(&item.record.status()));
    let unknown = count(&|item| {
        item.record.status() == Some(Status::Failed) && item.record.has_unknown_status
    });
    if failed > unknown {
        let retry = format!("submit the failed items again with: {command} --retry-failed");
        let corrections = items.iter().filter(|item| item.record.needs_correction());
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
    let over_budget = count(&|item| {
        item.record.status() == Some(Status::NotSubmitted) && has_code(item, "over_budget")
    });
    let completed = count(&|item| item.record.status() == Some(Status::Completed));
    if over_budget > 0 && over_budget + completed == total && is_overcharged {
        return Some(format!(
            "check the charges, as one was above its estimate; then remove --max-spend from this \
            command to submit the rest: {command}"
        ));
    }
    if over_budget > 0 && over_budget + completed == total {
        return Some(format!(
            "raise the --max-spend of this command to submit the rest: {command}"
        ));
    }
    if unknown > 0 && unknown + completed == total {
        return Some(left_alone(unknown));
    }
    if completed < total {
        return Some(format!("resume with: {command}"));
    }
    let missing_files = count(&|item| item.record.has_missing_files());
    (missing_files > 0).then(|| format!("download the missing files with: {command}"))
}

fn print(session: &Session, total: usize, items: &[JournalItem]) -> Result<(), Failure> {
    let mut by_status = Map::new();
    let mut spent = Usd::ZERO;
    let mut add = |status: &str, count: usize| {
        let before = by_status.get(status).and_then(Value::as_u64).unwrap_or(0);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        by_status.insert(status.to_owned(), json!(before + count));
    };
    for item in items {
        add(item.status(), 1);
        spent = spent.checked_add(item.record.spent).unwrap_or(spent);
    }
    if total > items.len() {
        add(Status::NotSubmitted.as_str(), total - items.len());
    }
    let shown = json!({
        "total": total,
        "by_status": by_status,
        "spent_usd": spent,
        "items": items.iter().map(JournalItem::to_json).collect::<Vec<_>>(),
    });
    let printer = &session.printer;
    if !printer.is_table() {
        return printer.print_item(&shown, |_| Table::default());
    }
    printer.print_item(&shown, |_| {
        let mut table = Table::key_value();
        table.field("items", Some(total));
        for (status, count) in &by_status {
            table.field(&status_words(status), Some(count));
        }
        table.field("spent", Some(money(spent)));
        table
    })?;
    let unfinished = items
        .iter()
        .filter(|item| item.status() != Status::Completed.as_str() || item.error().is_some());
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

impl JournalItem {
    fn apply(&mut self, entry: &svc_sdk::journal::Entry) {
        self.is_run = entry.operation == Some(Operation::AgentCompletionsCreate);
        self.resource = resource_id(entry);
        self.price = entry.charge_usd;
        self.record.apply_submission(entry);
    }

    /// Returns the outcome, unless the item was submitted again since.
    fn outcome(&self) -> Option<&ItemEnd> {
        let outcome = self.outcome.as_deref();
        outcome.filter(|_| self.record.status().is_some())
    }

    fn error(&self) -> Option<&Value> {
        self.outcome()?.error.as_ref()
    }

    fn status(&self) -> &'static str {
        match (self.record.status(), &self.record.attempt) {
            (Some(status), _) => status.as_str(),
            (None, Some(attempt)) if attempt.resource.is_some() => "submitted",
            (None, Some(_)) => Status::Ambiguous.as_str(),
            (None, None) => Status::NotSubmitted.as_str(),
        }
    }

    fn to_json(&self) -> Value {
        let (outcome, attempt) = (self.outcome(), self.record.attempt.as_ref());
        let mut item = json!({
            "item": self.id,
            "object": if self.is_run { "run" } else { "job" },
            "id": self.resource.as_ref().map(ResourceId::id),
            "idempotency_key": attempt.map(|it| &it.key),
            "artifacts": [],
            "status": self.status(),
            "price_usd": outcome.map_or(self.price, |outcome| outcome.price_usd),
            "files": outcome.map(|outcome| outcome.files.as_slice()).unwrap_or_default(),
            "error": self.error(),
        });
        if let Some(fields) = item.as_object_mut() {
            let field = match &self.resource {
                Some(resource) => resource.field(),
                None if self.is_run => "run_id",
                None => "job_id",
            };
            let id = self.resource.as_ref().map(ResourceId::id);
            fields.insert(field.to_owned(), json!(id));
        }
        item
    }
}
