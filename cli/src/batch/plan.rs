//! What is left to do of a batch: the manifest's lines, with what the journal says about them.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use svc_sdk::contract::{Operation, Surface};
use svc_sdk::types::Usd;

use super::journal::{Entry, Quota, Record, Status};
use super::manifest::{Line, LinePosition, Manifest};
use super::options::BatchOptions;
use super::scheduler::Account;
use crate::error::Failure;
use crate::session::Session;

/// What a journal says: records of items, by the hashes of their ids, and write quotas.
#[derive(Debug, Default)]
pub(super) struct Records {
    items: HashMap<u128, Record>,
    quotas: Vec<Quota>,
}

impl Records {
    /// Takes in an entry of the journal.
    pub(super) fn apply(&mut self, entry: Entry) {
        let id = match &entry {
            Entry::Batch { .. } => return,
            Entry::Quota(quota) => {
                self.quotas.retain(|it| it.surface() != quota.surface());
                self.quotas.push(quota.clone());
                return;
            }
            Entry::Intent(intent) => &intent.id,
            Entry::Released { id } => id,
            Entry::Receipt(receipt) => &receipt.id,
            Entry::Outcome(outcome) => &outcome.id,
        };
        if let Entry::Intent(intent) = &entry {
            let surface = Operation::from_name(&intent.operation).map(Operation::surface);
            let quotas = self.quotas.iter_mut();
            for quota in quotas.filter(|it| it.surface() == surface) {
                quota.remaining = quota.remaining.saturating_sub(1);
            }
        }
        let hash = hash_id(id);
        self.items.entry(hash).or_default().apply(entry);
    }
}

/// What is to be done with an item.
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
    pub(super) account: Account,
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
    /// Whether a charge was above its estimate.
    pub(super) is_overcharged: bool,
    /// The number of items in the journal that the manifest does not have, and what they spent.
    pub(super) missing: usize,
    pub(super) missing_spent: Usd,
    /// The write quotas that the journal knows.
    pub(super) quotas: Vec<Quota>,
}

impl Plan {
    /// Reads the whole manifest, and checks it.
    ///
    /// # Errors
    ///
    /// Returns an error if a line is not valid, if an id is a duplicate, or if a line has changed
    /// after it was submitted.
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
            let next_step = next_step(&record, options);
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
                account: account_of(line.operation),
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
            missing_spent = missing_spent
                .checked_add(record.spent())
                .unwrap_or(missing_spent);
        }
        items.shrink_to_fit();
        Ok(Self {
            items,
            committed: totals.committed,
            is_overcharged: totals.is_overcharged,
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
    is_overcharged: bool,
}

impl Totals {
    fn add(&mut self, record: &Record) {
        let committed = self.committed.checked_add(record.committed());
        self.committed = committed.unwrap_or(self.committed);
        self.is_overcharged |= record.is_overcharged;
    }
}

/// Returns the key that pays for an operation.
pub(super) fn account_of(operation: Operation) -> Account {
    account_on(operation.surface())
}

/// Returns the account of a surface.
pub(super) fn account_on(surface: Surface) -> Account {
    match surface {
        Surface::Developer => Account::Developer,
        _ => Account::Open,
    }
}

fn next_step(record: &Record, options: &BatchOptions) -> NextStep {
    let is_accepted = record
        .attempt
        .as_ref()
        .map(|attempt| attempt.resource.is_some());
    match (record.status, is_accepted) {
        (Some(Status::Failed | Status::Canceled), _) if options.retry_failed => NextStep::Submit,
        (Some(Status::Failed | Status::Canceled), _) | (Some(Status::Completed), None) => {
            NextStep::Done
        }
        // Its files are missing.
        (Some(Status::Completed), Some(_)) if options.download.download.is_none() => NextStep::Done,
        (_, Some(true)) => NextStep::Wait,
        (_, Some(false)) => NextStep::Resolve,
        (_, None) => NextStep::Submit,
    }
}

fn duplicate_id(path: &str, place: &str, first: &str, line: &Line) -> Failure {
    let id = &line.id;
    Failure::usage(format!(
        "{path}: {place}: duplicate id `{id}`: {first} has it too"
    ))
    .hint("a line without an id has the number of the line as its id")
}

/// Returns the failure of a batch that was submitted with another `--operation`.
fn submitted_as(
    session: &Session,
    path: &str,
    id: &str,
    submitted: Operation,
    options: &BatchOptions,
) -> Failure {
    let options = BatchOptions {
        operation: Some(submitted),
        ..options.clone()
    };
    let command = options.command(session, &[]);
    let name = submitted.name();
    Failure::usage(format!(
        "{path}: item `{id}` was submitted with --operation {name}"
    ))
    .hint(format!("continue the batch with: {command}"))
}

fn changed(path: &str, line: &Line) -> Failure {
    Failure::usage(format!(
        "{path}: item `{}` has changed after it was submitted",
        line.id
    ))
    .hint("restore the line, or add the new request as a line with another id")
}

fn hash_id(id: &str) -> u128 {
    let digest = Sha256::digest(id.as_bytes());
    let bytes = digest.first_chunk::<16>().copied().unwrap_or_default();
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::DownloadArgs;
    use crate::batch::journal::{Attempt, Intent};
    use crate::types::ResourceId;

    fn options(retry_failed: bool, download: bool) -> BatchOptions {
        BatchOptions {
            manifest: "m.jsonl".into(),
            operation: None,
            concurrency: None,
            max_spend: None,
            download: DownloadArgs {
                download: download.then(|| "out".into()),
                ..DownloadArgs::default()
            },
            retry_failed,
            journal: None,
            timeout: None,
            dry_run: false,
            yes: true,
        }
    }

    #[test]
    fn requests_after_the_last_response_count_towards_the_quota() {
        let quota = |remaining| {
            Entry::Quota(Quota {
                operation: "image_generate".to_owned(),
                limit: 60,
                remaining,
                resets_at: jiff::Timestamp::UNIX_EPOCH,
            })
        };
        let intent = |operation: &str| {
            Entry::Intent(Box::new(Intent {
                id: "1".to_owned(),
                hash: 1,
                operation: operation.to_owned(),
                idempotency_key: "k".parse().unwrap(),
                price_usd: None,
                base_url: "https://a".to_owned(),
                key_fingerprint: "f".to_owned(),
                at: jiff::Timestamp::UNIX_EPOCH,
            }))
        };
        let mut records = Records::default();
        let entries = [
            quota(9),
            quota(3),
            intent("video_generate"),
            intent("music_1_generate"),
        ];
        entries.into_iter().for_each(|entry| records.apply(entry));
        let left: Vec<u32> = records.quotas.iter().map(|quota| quota.remaining).collect();
        assert_eq!(left, [2]);
    }

    fn record(status: Option<Status>, is_accepted: Option<bool>) -> Record {
        let attempt = is_accepted.map(|is_accepted| {
            Box::new(Attempt {
                operation: Some(Operation::VideoGenerate),
                key: "k".parse().unwrap(),
                base_url: "https://a".to_owned(),
                key_fingerprint: "f".to_owned(),
                at: jiff::Timestamp::UNIX_EPOCH,
                price: None,
                charge: None,
                resource: is_accepted.then(|| ResourceId::Job("job_1".into())),
                is_unknown: true,
                is_cost_counted: false,
            })
        });
        Record {
            status,
            attempt,
            ..Record::default()
        }
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
            let record = record(status, is_accepted);
            let step = next_step(&record, &options(false, false));
            assert_eq!(step, expected, "{status:?}, {is_accepted:?}");
        }
        let of = |status, accepted, retry, download| {
            next_step(&record(status, accepted), &options(retry, download))
        };
        assert_eq!(of(Some(Failed), None, true, false), NextStep::Submit);
        assert_eq!(
            of(Some(Ambiguous), Some(false), true, false),
            NextStep::Resolve
        );
        assert_eq!(of(Some(Completed), Some(true), false, true), NextStep::Wait);
    }
}
