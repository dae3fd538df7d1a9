//! The plan of a batch: the lines of the manifest, each with its next step according to the journal.

use std::collections::HashMap;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use svc_sdk::contract::{Operation, Surface};
use svc_sdk::journal::{self, EntryState};
use svc_sdk::types::Usd;

use crate::args::SurfaceChoice;
use crate::batch::journal::{BUDGET, Journal, Note, Quota, Record, Status, Stored};
use crate::batch::manifest::{Line, LinePosition, Manifest};
use crate::batch::options::BatchOptions;
use crate::error::Failure;
use crate::session::Session;

/// The index of an item.
pub(super) type Index = u32;

/// The contents of a journal: records of items, by the hashes of their ids, and write quotas.
#[derive(Debug, Default)]
pub(super) struct Records {
    items: HashMap<u128, Record>,
    quotas: HashMap<SurfaceChoice, Quota>,
    /// The intents whose requests were never sent, or proved that nothing ran.
    not_sent: Vec<journal::IntentId>,
    /// Whether a charge was above its estimate while there was a limit.
    is_overcharged: bool,
}

impl Records {
    /// Returns the operations that items were submitted with, by the hashes of their ids.
    pub(super) fn operations(&self) -> HashMap<u128, Operation> {
        let items = self.items.iter();
        items.filter_map(|(id, record)| Some((*id, record.operation?))).collect()
    }

    pub(super) async fn read(journal: &Journal) -> Result<Self, Failure> {
        let mut records = Self::default();
        journal.read(|stored| records.apply(stored)).await?;
        records.is_overcharged |= journal.submissions.budget(BUDGET).await?.is_stopped;
        Ok(records)
    }

    /// Frees the items whose requests were never carried out, so that their lines may change.
    pub(super) async fn release_not_sent(&mut self, journal: &Journal) -> Result<(), Failure> {
        for id in self.not_sent.drain(..) {
            let settled = journal::Settled::NotExecuted;
            journal.submissions.settle(&id, settled).await?;
        }
        Ok(())
    }

    fn apply(&mut self, stored: Stored) {
        match stored {
            Stored::Note(Note::Outcome(outcome)) => {
                let record = self.items.entry(hash_id(&outcome.id)).or_default();
                record.apply_outcome(&outcome);
            }
            Stored::Note(Note::Quota(quota)) => {
                if let Some(surface) = Operation::from_name(&quota.operation).map(surface_of) {
                    self.quotas.insert(surface, quota);
                }
            }
            Stored::Note(Note::Overcharged {}) => self.is_overcharged = true,
            Stored::Note(Note::Batch { .. }) => {}
            Stored::Submission(entry) => {
                self.count_request(&entry);
                if entry.state == EntryState::NotSent {
                    self.not_sent.push(entry.id.clone());
                }
                let id = entry.submission_id.as_deref().unwrap_or_default();
                let record = self.items.entry(hash_id(id)).or_default();
                record.apply_submission(&entry);
            }
        }
    }

    /// Counts a request that may have been sent after the response with the quota.
    fn count_request(&mut self, entry: &journal::Entry) {
        if let Some(surface) = entry.operation.map(surface_of)
            && let Some(quota) = self.quotas.get_mut(&surface)
            && let Some(at) = quota.at
        {
            let is_later = Timestamp::try_from(entry.begun_at).is_ok_and(|begun| begun >= at);
            if is_later || matches!(entry.state, EntryState::Undecided(_) | EntryState::NotSent) {
                quota.remaining = quota.remaining.saturating_sub(1);
            }
        }
    }
}

/// The next step of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// It is finished.
    Done,
    /// Submit it.
    Submit,
    /// Find out what became of its request, which may have been carried out.
    Resolve,
    /// Wait for its result, or download its files.
    Wait,
}

/// A line of the manifest, without its text.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) position: LinePosition,
    /// The hash of the operation and the body.
    pub(super) hash: u64,
    pub(super) surface: SurfaceChoice,
    /// Whether it is a run, and not a job.
    pub(super) is_run: bool,
    pub(super) next_step: NextStep,
    pub(super) record: Record,
}

/// A batch, as it is before a run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    /// What is spent and reserved by all items in the journal.
    pub(super) committed: Usd,
    /// The part of it that the budget does not know.
    pub(super) outside_budget: Usd,
    /// Whether a charge was above its estimate.
    pub(super) is_overcharged: bool,
    /// The number of items in the journal that the manifest does not have, and what they spent.
    pub(super) missing: usize,
    pub(super) missing_spent: Usd,
    /// What is left of the write quotas, as far as the journal knows.
    pub(super) quotas: HashMap<SurfaceChoice, Quota>,
}

impl Plan {
    /// Reads the whole manifest, and checks it.
    pub(super) fn new(
        session: &Session,
        manifest: &Manifest,
        mut records: Records,
        options: &BatchOptions,
    ) -> Result<Self, Failure> {
        let (mut items, mut seen) = (Vec::new(), HashMap::new());
        let mut totals = Totals::default();
        let path = options.manifest.display().to_string();
        let mut other_operation = None;
        let read = manifest.for_each(|position, line| {
            let id_hash = hash_id(&line.id);
            let number = manifest.number_at(position);
            if let Some(first) = seen.insert(id_hash, number) {
                let (place, first) = (manifest.place(number), manifest.place(first));
                return Err(duplicate_id(&path, &place, &first, &line));
            }
            if u32::try_from(items.len()).is_err() {
                return Err(Failure::usage(format!("{path}: too many lines")));
            }
            let record = records.items.remove(&id_hash).unwrap_or_default();
            let hash = line.hash();
            let attempt = record.attempt.as_ref();
            let next_step = next_step(
                record.status(),
                attempt.map(|attempt| attempt.resource.is_some()),
                options.retry_failed && !record.has_unknown_status,
                options.download.download.is_some(),
            );
            if record.hash.is_some_and(|submitted| submitted != hash) {
                let submitted = record.operation.filter(|it| *it != line.operation);
                if let (Some(submitted), false) = (submitted, line.names_operation) {
                    other_operation.get_or_insert((line.id, submitted));
                    return Ok(());
                }
                return Err(changed(&path, &line));
            }
            totals.add(&record);
            items.push(Item {
                position,
                hash,
                surface: surface_of(line.operation),
                is_run: line.operation == Operation::AgentCompletionsCreate,
                next_step,
                record,
            });
            Ok(())
        });
        if let Some((id, submitted)) = other_operation {
            return Err(submitted_as(session, &path, &id, submitted, options));
        }
        read?;
        let mut missing_spent = Usd::ZERO;
        for record in records.items.values() {
            totals.add(record);
            missing_spent = missing_spent.checked_add(record.spent).unwrap_or(missing_spent);
        }
        items.shrink_to_fit();
        Ok(Self {
            items,
            committed: totals.committed,
            outside_budget: totals.outside_budget,
            is_overcharged: records.is_overcharged,
            missing: records.items.len(),
            missing_spent,
            quotas: records.quotas,
        })
    }

    /// Returns the number of items that are to be submitted.
    pub(super) fn to_submit(&self) -> usize {
        self.count(|item| item.next_step == NextStep::Submit)
    }

    /// Returns the number of items with a property.
    pub(super) fn count(&self, is_counted: impl Fn(&Item) -> bool) -> usize {
        self.items.iter().filter(|item| is_counted(item)).count()
    }
}

#[derive(Debug, Default)]
struct Totals {
    committed: Usd,
    outside_budget: Usd,
}

impl Totals {
    fn add(&mut self, record: &Record) {
        for (sum, amount) in [
            (&mut self.committed, record.committed),
            (&mut self.outside_budget, record.outside_budget),
        ] {
            *sum = sum.checked_add(amount).unwrap_or(*sum);
        }
    }
}

/// Returns the surface whose key pays for an operation.
pub(super) fn surface_of(operation: Operation) -> SurfaceChoice {
    match operation.surface() {
        Surface::Developer => SurfaceChoice::Developer,
        _ => SurfaceChoice::Open,
    }
}

/// Returns what is to be done with an item of that status, whose latest submission is accepted or not.
fn next_step(
    status: Option<Status>,
    is_accepted: Option<bool>,
    retries_failed: bool,
    has_download: bool,
) -> NextStep {
    match (status, is_accepted) {
        (Some(Status::Failed | Status::Canceled), _) if retries_failed => NextStep::Submit,
        (Some(Status::Failed | Status::Canceled), _) | (Some(Status::Completed), None) => {
            NextStep::Done
        }
        // Its files are missing.
        (Some(Status::Completed), Some(_)) if !has_download => NextStep::Done,
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

/// Returns the failure of a batch that was submitted with another `--operation`.
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
        .hint(format!("continue the batch with: {command}"))
}

fn changed(path: &str, line: &Line) -> Failure {
    Failure::usage(format!("{path}: item `{}` has changed after it was submitted", line.id))
        .hint("restore the line, or add the new request as a line with another id")
}

pub(super) fn hash_id(id: &str) -> u128 {
    let digest = Sha256::digest(id.as_bytes());
    let bytes = digest.first_chunk::<16>().copied().unwrap_or_default();
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_quota_of_an_earlier_version_is_less_the_requests_after_it() {
        let intent = |id: &str, second: u32| {
            format!(
                r#"{{"intent":{{"id":"{id}","hash":"1","operation":"image_generate","idempotency_key":"{id}","base_url":"https://a","key_fingerprint":"f","at":"2026-11-22T10:00:0{second}Z"}}}}
{{"receipt":{{"id":"{id}","job_id":"job_{id}"}}}}
"#
            )
        };
        let quota = r#"{"quota":{"operation":"image_generate","limit":10,"remaining":7,"resets_at":"2026-11-22T10:01:00Z"}}
"#;
        let lines = [
            "{\"batch\":{\"version\":1,\"total\":3,\"at\":\"2026-11-22T10:00:00Z\"}}\n",
            &intent("a", 1),
            quota,
            &intent("b", 2),
            &intent("c", 2),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::fs::write(&path, lines.concat()).unwrap();
        let journal = Journal::read_only(&path).await.unwrap();
        let records = Records::read(&journal).await.unwrap();
        assert_eq!(records.quotas[&SurfaceChoice::Open].remaining, 5);
    }

    #[test]
    fn what_is_left_follows_from_the_journal() {
        use Status::{Ambiguous, Canceled, Completed, Failed, NotSubmitted, TimedOut};

        let rows = [
            (None, None, NextStep::Submit),
            (None, Some(false), NextStep::Resolve),
            (None, Some(true), NextStep::Wait),
            (Some(Completed), None, NextStep::Done),
            (Some(Failed), None, NextStep::Done),
            (Some(Canceled), None, NextStep::Done),
            (Some(NotSubmitted), None, NextStep::Submit),
            (Some(Ambiguous), Some(false), NextStep::Resolve),
            (Some(TimedOut), Some(true), NextStep::Wait),
            (Some(Completed), Some(true), NextStep::Done),
        ];
        for (status, is_accepted, expected) in rows {
            let step = next_step(status, is_accepted, false, false);
            assert_eq!(step, expected, "{status:?}, {is_accepted:?}");
        }
        assert_eq!(next_step(Some(Failed), None, true, false), NextStep::Submit);
        assert_eq!(next_step(Some(Ambiguous), Some(false), true, false), NextStep::Resolve);
        assert_eq!(next_step(Some(Completed), Some(true), false, true), NextStep::Wait);
    }
}
