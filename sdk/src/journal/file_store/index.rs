//! What is known of each intent without reading it: about 250 bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::mem;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::line::{self, Begin, Budget, Line, Parsed, RecordLine};
use crate::journal::store::{BudgetTotals, Hold, Phase, SubmissionKey};

/// The index of a log and its archive.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By ascending number.
    entries: Vec<IndexEntry>,
    /// The hashes of ids, submissions and resources, with the numbers of their intents.
    hashes: BTreeSet<(u64, u64)>,
    /// The offsets of the lines of all intents in the log, with the number of the intent's line before.
    lines: Vec<(u64, Option<u32>)>,
    /// By the hashes of their names.
    budgets: BTreeMap<u64, Budget>,
    last_number: u64,
    /// How many intents were removed from the log.
    purged: usize,
}

/// What is known of an intent. Of one that is in the archive, the log has it as JSON. A hash of 0 is that
/// of nothing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct IndexEntry {
    #[serde(rename = "n")]
    pub(super) number: u64,
    /// The hash of its id.
    #[serde(rename = "i")]
    id: u64,
    #[serde(rename = "s", default, skip_serializing_if = "is_default")]
    submission: u64,
    /// The hash of the id of what the service made.
    #[serde(rename = "r", default, skip_serializing_if = "is_default")]
    resource: u64,
    /// The number of the archive's file that has its first lines, and the offset in it.
    #[serde(rename = "f", default, skip_serializing_if = "is_default")]
    pub(super) archive: Option<(u32, u64)>,
    /// The number of its last line in the log, if that has one.
    #[serde(skip)]
    pub(super) last_line: Option<u32>,
    /// The time of the last record, in microseconds since the Unix epoch.
    #[serde(rename = "t")]
    pub(super) last_at: i64,
    #[serde(rename = "p")]
    pub(super) phase: Phase,
    #[serde(rename = "k", default, skip_serializing_if = "is_default")]
    pub(super) is_permanent: bool,
    /// Whether it was ever changed to [`Phase::Accepted`].
    #[serde(rename = "a", default, skip_serializing_if = "is_default")]
    pub(super) was_accepted: bool,
    /// The hash of the name of its owner, if that is in the log.
    #[serde(skip)]
    owner: u64,
    #[serde(rename = "b", default, skip_serializing_if = "is_default")]
    pub(super) budget: u64,
    #[serde(rename = "h", default, skip_serializing_if = "is_default")]
    pub(super) hold: Hold,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl IndexEntry {
    fn new(number: u64, id: &str, submission: Option<SubmissionKey>, last_at: i64) -> Self {
        Self {
            number,
            id: hash(&[id]),
            submission: submission.as_ref().map_or(0, submission_hash),
            resource: 0,
            archive: None,
            last_line: None,
            last_at,
            phase: Phase::Open,
            is_permanent: false,
            was_accepted: false,
            owner: 0,
            budget: 0,
            hold: Hold::default(),
        }
    }

    pub(super) fn belongs_to(&self, owner: &str) -> bool {
        self.owner == hash(&[owner])
    }

    pub(super) fn is_in_log(&self) -> bool {
        self.last_line.is_some()
    }

    /// Whether it has ended, and moves to the archive at the next compaction.
    pub(super) fn is_ended_in_log(&self) -> bool {
        self.is_in_log() && self.phase >= Phase::Ended
    }
}

impl Index {
    /// Adds a line of the log. Lines of other versions and damaged lines make their intent open.
    pub(super) fn add(&mut self, offset: u64, parsed: Parsed, text: &[u8]) {
        match parsed {
            Parsed::Line(line) => self.add_line(offset, *line, text),
            Parsed::OtherVersion | Parsed::Invalid => self.add_unknown(offset, text),
        }
    }

    fn add_line(&mut self, offset: u64, line: Line, text: &[u8]) {
        if let (Some(number), Some(id)) = (line.number, &line.id) {
            if let Some(begin) = line.begin {
                self.add_begin(number, id, *begin);
            } else if self.entry(number).is_none() {
                return self.add_unknown(offset, text);
            } else if let Some(record) = line.record {
                self.add_record(number, &record);
            } else if let Some(owner) = line.claim {
                self.change(number, |entry| entry.owner = hash(&[&owner]));
            }
            self.add_offset(number, offset);
        } else if let Some(numbers) = line.purged {
            self.remove(&numbers);
        } else if let Some(budget) = line.budget {
            let hash = hash(&[&budget.namespace, &budget.name]);
            self.budgets.insert(hash, budget);
        } else if let Some(file) = line.file {
            self.last_number = self.last_number.max(file.last);
        } else if let Some(archived) = line.archived {
            archived.into_iter().for_each(|entry| self.insert(entry));
        }
    }

    fn add_begin(&mut self, number: u64, id: &str, begin: Begin) {
        let namespace = begin.namespace;
        let budget = begin.budget.map(|name| {
            let hash = hash(&[&namespace, &name]);
            let new = || Budget { namespace: namespace.clone(), name, ..Budget::default() };
            self.budgets.entry(hash).or_insert_with(new);
            hash
        });
        let submission = begin.submission.map(|submission_id| SubmissionKey {
            namespace,
            account: begin.account,
            submission_id,
        });
        self.insert(IndexEntry {
            is_permanent: begin.permanent,
            owner: hash(&[&begin.owner]),
            budget: budget.unwrap_or_default(),
            ..IndexEntry::new(number, id, submission, begin.at.as_microsecond())
        });
        let reserved = begin.reserved.unwrap_or_default();
        self.set_hold(number, Hold { reserved, ..Hold::default() });
    }

    fn add_record(&mut self, number: u64, record: &RecordLine) {
        let mut budget = 0;
        let mut resource = None;
        self.change(number, |entry| {
            entry.last_at = record.at.as_microsecond();
            entry.phase = entry.phase.max(record.phase.unwrap_or(Phase::Open));
            entry.was_accepted |= record.phase == Some(Phase::Accepted);
            resource = record.resource.as_ref().filter(|_| entry.resource == 0);
            if let Some(id) = resource {
                entry.resource = hash(&[id]);
            }
            budget = entry.budget;
        });
        self.hashes.extend(resource.map(|id| (hash(&[id]), number)));
        if let Some(hold) = record.hold {
            self.set_hold(number, hold);
        }
        if let Some(budget) = self.budgets.get_mut(&budget) {
            budget.stopped |= record.stops_budget;
        }
    }

    fn add_unknown(&mut self, offset: u64, text: &[u8]) {
        let id: Option<String> = line::field(text, "id");
        let number: Option<u64> = line::field(text, "number");
        let by_id = || self.get(id.as_deref()?);
        let known = number.and_then(|number| self.entry(number)).or_else(by_id);
        let number = match (known, &id) {
            (Some(entry), _) => entry.number,
            (None, Some(id)) => {
                let number = number.unwrap_or(self.last_number + 1);
                self.insert(IndexEntry::new(number, id, line::submission(text), i64::MAX));
                number
            }
            // A line without an intent has nothing to protect.
            (None, None) => return,
        };
        self.add_offset(number, offset);
        self.change(number, |entry| entry.phase = Phase::Open);
    }

    fn insert(&mut self, entry: IndexEntry) {
        let number = entry.number;
        self.last_number = self.last_number.max(number);
        let hashes = [entry.id, entry.submission, entry.resource];
        let hashes = hashes.into_iter().filter(|hash| *hash != 0);
        self.hashes.extend(hashes.map(|hash| (hash, number)));
        match self.position_of(number) {
            Ok(_) => {
                self.set_hold(number, Hold::default());
                self.change(number, |replaced| *replaced = entry);
            }
            Err(index) => self.entries.insert(index, entry),
        }
    }

    fn add_offset(&mut self, number: u64, offset: u64) {
        let line = u32::try_from(self.lines.len()).ok();
        let mut previous = None;
        self.change(number, |entry| previous = mem::replace(&mut entry.last_line, line));
        self.lines.push((offset, previous));
    }

    fn set_hold(&mut self, number: u64, hold: Hold) {
        let mut before = (Hold::default(), 0);
        self.change(number, |entry| before = (mem::replace(&mut entry.hold, hold), entry.budget));
        if let Some(budget) = self.budgets.get_mut(&before.1) {
            budget.hold.replace(before.0, hold);
        }
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut IndexEntry)) {
        let index = self.position_of(number).ok();
        if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
            change(entry);
        }
    }

    fn remove(&mut self, numbers: &[u64]) {
        let numbers: BTreeSet<_> = numbers.iter().copied().collect();
        let count = self.entries.len();
        self.entries.retain(|entry| !numbers.contains(&entry.number));
        self.purged += count - self.entries.len();
        self.hashes.retain(|(_, number)| !numbers.contains(number));
    }

    /// Returns the index of an entry, or else where to insert it.
    fn position_of(&self, number: u64) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&number, |it| it.number)
    }

    fn entry(&self, number: u64) -> Option<&IndexEntry> {
        self.entries.get(self.position_of(number).ok()?)
    }

    /// Returns the intents after a number that have a hash.
    fn with_hash(&self, hash: u64, number: u64) -> impl Iterator<Item = &IndexEntry> {
        let numbers = self.hashes.range((hash, number.saturating_add(1))..=(hash, u64::MAX));
        numbers.filter_map(|(_, number)| self.entry(*number))
    }

    pub(super) fn get(&self, id: &str) -> Option<&IndexEntry> {
        let hash = hash(&[id]);
        self.with_hash(hash, 0).find(|entry| entry.id == hash)
    }

    /// Returns the intents that may be of a submission, as their hashes are equal.
    pub(super) fn candidates(&self, submission: &SubmissionKey) -> Vec<IndexEntry> {
        let hash = submission_hash(submission);
        let candidates = self.with_hash(hash, 0).filter(|entry| entry.submission == hash);
        candidates.copied().collect()
    }

    /// Returns the intents in the order in which they were begun.
    pub(super) fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// Returns the first intent after a number, of those that made a resource if one is named.
    pub(super) fn next(&self, number: u64, resource: Option<&str>) -> Option<IndexEntry> {
        let next = match resource.map(|id| hash(&[id])) {
            Some(hash) => self.with_hash(hash, number).find(|entry| entry.resource == hash),
            None => self.entries.get(self.entries.partition_point(|entry| entry.number <= number)),
        };
        next.copied()
    }

    /// Returns where the lines of an intent are in the log.
    pub(super) fn offsets(&self, entry: &IndexEntry) -> Vec<u64> {
        let line = |number: Option<u32>| self.lines.get(usize::try_from(number?).ok()?);
        let lines = iter::successors(line(entry.last_line), |(_, previous)| line(*previous));
        let mut offsets: Vec<_> = lines.map(|(offset, _)| *offset).collect();
        offsets.reverse();
        offsets
    }

    pub(super) fn budget_name(&self, entry: &IndexEntry) -> Option<&str> {
        self.budgets.get(&entry.budget).map(|budget| budget.name.as_str())
    }

    pub(super) fn totals(&self, namespace: &str, name: &str) -> BudgetTotals {
        let budget = self.budgets.get(&hash(&[namespace, name]));
        budget.map(|it| BudgetTotals { hold: it.hold, is_stopped: it.stopped }).unwrap_or_default()
    }

    /// Returns the budgets by the hashes of their names.
    pub(super) fn budgets(&self) -> &BTreeMap<u64, Budget> {
        &self.budgets
    }

    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Returns how many intents the log has, how many of them have ended or were removed, and how many
    /// are in the archive only.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let in_log = self.entries.iter().filter(|entry| entry.is_in_log()).count();
        let ended = self.entries.iter().filter(|entry| entry.is_ended_in_log()).count();
        (in_log + self.purged, ended + self.purged, self.entries.len() - in_log)
    }

    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }
}

fn submission_hash(submission: &SubmissionKey) -> u64 {
    let SubmissionKey { namespace, account, submission_id } = submission;
    hash(&[namespace, account, submission_id])
}

/// Returns a hash that is the same in all versions, as it is stored.
fn hash(texts: &[&str]) -> u64 {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(text);
    }
    let bytes = digest.finalize().first_chunk().copied();
    bytes.map_or(0, u64::from_be_bytes)
}
