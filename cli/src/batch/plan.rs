//! The plan of a batch: the lines of the manifest, each with its next step according to the journal.

use std::collections::{BTreeSet, HashMap, HashSet};

use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use super::journal::{Quota, Record, Records, Spent, Status, hash_id};
use super::manifest::{Line, Manifest};
use super::options::BatchOptions;
use crate::args::SurfaceChoice;
use crate::download::without_media_extension;
use crate::error::{Failure, Result, Suggestion};
use crate::request::rows::RecordPosition;
use crate::session::Session;

pub(super) type Index = u32;

/// The longest name of an item's files, to which a number and an extension are added.
const MAX_NAME_BYTES: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    Done,
    Submit,
    /// Find out what became of its request, which may have been carried out.
    Resolve,
    Wait,
}

/// A line of the manifest, without its text.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) position: RecordPosition,
    pub(super) hash: u64,
    pub(super) surface: SurfaceChoice,
    pub(super) is_run: bool,
    /// Whether the files of another item have the name that its own would have.
    pub(super) is_name_taken: bool,
    pub(super) next_step: NextStep,
    pub(super) record: Record,
}

/// A batch, as it is before a run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    pub(super) submitted: BTreeSet<&'static str>,
    pub(super) spent: Spent,
    pub(super) committed: Usd,
    /// The part of it that the budget does not know.
    pub(super) outside_budget: Usd,
    pub(super) is_overcharged: bool,
    /// The number of items in the journal that the manifest does not have.
    pub(super) missing: usize,
    pub(super) quotas: HashMap<SurfaceChoice, Quota>,
}

impl Plan {
    pub(super) fn new(
        session: &Session,
        manifest: &Manifest,
        mut records: Records,
        options: &BatchOptions,
    ) -> Result<Self> {
        let (mut items, mut seen, mut names) = (Vec::new(), HashMap::new(), HashSet::new());
        let path = options.manifest.display().to_string();
        let (mut other_operation, mut submitted) = (None, BTreeSet::new());
        let read = manifest.for_each(|position, line| {
            let id_hash = hash_id(&line.id);
            let number = manifest.number_at(position);
            if let Some(first) = seen.insert(id_hash, number) {
                let (place, first) = (manifest.place(number), manifest.place(first));
                return Err(duplicate_id(&path, &place, &first, &line));
            }
            if Index::try_from(items.len()).is_err() {
                return Err(Failure::usage(format!("{path}: too many lines")));
            }
            let record = records.items.remove(&id_hash).unwrap_or_default();
            let hash = line.hash();
            let may_change = options.retry_failed && record.is_replaceable();
            if record.hash.is_some_and(|submitted| submitted != hash) && !may_change {
                let submitted = record.operation.filter(|it| *it != line.operation);
                return match submitted {
                    Some(submitted) if !line.names_operation => {
                        other_operation.get_or_insert((line.id, submitted));
                        Ok(())
                    }
                    _ => Err(changed(session, &path, &line, record.is_replaceable(), options)),
                };
            }
            let next_step = next_step(
                record.status(),
                record.attempt.as_ref().map(|attempt| attempt.resource.is_some()),
                options.retry_failed && !record.has_unknown_status,
                options.download.download.is_some(),
            );
            if next_step == NextStep::Submit {
                submitted.insert(line.operation.name());
            }
            items.push(Item {
                position,
                hash,
                surface: SurfaceChoice::of(line.operation.surface()),
                is_run: line.operation == Operation::AgentCompletionsCreate,
                is_name_taken: !names.insert(name_hash(&line.id)),
                next_step,
                record,
            });
            Ok(())
        });
        if let Some((id, submitted)) = other_operation {
            return Err(submitted_as(session, &path, &id, submitted, options));
        }
        read?;
        items.shrink_to_fit();
        let all = || items.iter().map(|item| &item.record).chain(records.items.values());
        Ok(Self {
            spent: all().map(|record| record.spent).sum(),
            committed: all().map(|record| record.committed).sum(),
            outside_budget: all().map(|record| record.outside_budget).sum(),
            is_overcharged: records.is_overcharged,
            missing: records.items.len(),
            quotas: records.quotas,
            submitted,
            items,
        })
    }

    pub(super) fn to_submit(&self) -> usize {
        self.count(|item| item.next_step == NextStep::Submit)
    }

    pub(super) fn count(&self, is_counted: impl Fn(&Item) -> bool) -> usize {
        self.items.iter().filter(|item| is_counted(item)).count()
    }
}

/// All but letters, digits, `.`, `_` and `-` becomes `_`, and so does a leading dot.
pub(super) fn file_stem(id: &str) -> String {
    let is_kept = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut name: String = id.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    if name.starts_with('.') {
        name.replace_range(..1, "_");
    }
    let end = name.char_indices().map(|(at, _)| at).take_while(|at| *at <= MAX_NAME_BYTES).last();
    if name.len() > MAX_NAME_BYTES {
        name.truncate(end.unwrap_or_default());
    }
    name
}

fn name_hash(id: &str) -> u128 {
    hash_id(&without_media_extension(&file_stem(id)).to_lowercase())
}

/// Returns what is to be done with an item of that status, whose latest submission is accepted or not.
fn next_step(
    status: Option<Status>,
    is_accepted: Option<bool>,
    retries_failed: bool,
    has_download: bool,
) -> NextStep {
    match (status, is_accepted) {
        (Some(status), _) if status.has_failed() && retries_failed => NextStep::Submit,
        (Some(status), _) if status.has_failed() => NextStep::Done,
        (Some(Status::Completed), None) => NextStep::Done,
        // Its files are missing.
        (Some(Status::Completed), Some(is_accepted)) if !(has_download && is_accepted) => {
            NextStep::Done
        }
        (_, Some(true)) => NextStep::Wait,
        (_, Some(false)) => NextStep::Resolve,
        (_, None) => NextStep::Submit,
    }
}

fn duplicate_id(path: &str, place: &str, first: &str, line: &Line) -> Failure {
    let id = &line.id;
    let failure =
        Failure::usage(format!("{path}: {place}: duplicate id `{id}`: {first} has it too"));
    match id.parse::<u64>() {
        Ok(_) => failure.hint("a line without an id has the number of the line as its id"),
        Err(_) => failure,
    }
}

fn submitted_as(
    session: &Session,
    path: &str,
    id: &str,
    submitted: Operation,
    options: &BatchOptions,
) -> Failure {
    let options = BatchOptions { operation: Some(submitted), ..options.clone() };
    let command = options.command(session, &[]);
    let name = submitted.name();
    Failure::usage(format!("{path}: item `{id}` was submitted with --operation {name}"))
        .hint(Suggestion::from("continue the batch with: ").command(command))
}

fn changed(
    session: &Session,
    path: &str,
    line: &Line,
    is_replaceable: bool,
    options: &BatchOptions,
) -> Failure {
    Failure::usage(format!("{path}: item `{}` has changed after it was submitted", line.id)).hint(
        match is_replaceable {
            true => Suggestion::from("submit the changed line in its place with: ")
                .command(options.command(session, &["--retry-failed"])),
            false => "restore the line, or add the new request as a line with another id".into(),
        },
    )
}
