//! What is known of each intent without reading it: less than 200 bytes.

use std::collections::{BTreeSet, HashMap};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::line::{self, Archived, Begin, Line, Parsed, RecordLine};
use crate::journal::store::{BudgetTotals, Hold, Phase, SubmissionKey};

/// The number of a line, an owner or a budget that there is not.
const NONE: u32 = u32::MAX;

/// The file of an [`IndexEntry`] that is in the log.
pub(super) const LOG: u32 = 0;

/// The index of a log and its archive.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By ascending number.
    entries: Vec<IndexEntry>,
    /// Hashes of ids, with the numbers of the intents.
    ids: BTreeSet<(u64, u64)>,
    /// Hashes of submissions, with the numbers of the intents.
    submissions: BTreeSet<(u64, u64)>,
    /// Hashes of the ids of what the service made, with the numbers of the intents.
    resources: BTreeSet<(u64, u64)>,
    lines: Lines,
    owners: Names<String>,
    budget_names: Names<(String, String)>,
    budgets: Vec<BudgetTotals>,
    last_number: u64,
    /// How many intents were removed from the log.
    purged: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct IndexEntry {
    pub(super) number: u64,
    /// The time of the last record, in microseconds since the Unix epoch.
    pub(super) last_at: i64,
    pub(super) hold: Hold,
    /// The number of its last line if it is in the log, or the offset in the archive's file.
    pub(super) position: u64,
    /// The number of the archive's file, or [`LOG`].
    pub(super) file: u32,
    owner: u32,
    budget: u32,
    pub(super) phase: Phase,
    pub(super) is_permanent: bool,
    /// Whether it was ever changed to [`Phase::Accepted`].
    pub(super) was_accepted: bool,
    has_resource: bool,
}

impl IndexEntry {
    pub(super) fn budget(&self) -> Option<u32> {
        (self.budget != NONE).then_some(self.budget)
    }
}

/// The offsets of the lines of all intents in the log, with the number of the intent's line before.
#[derive(Debug, Default)]
struct Lines {
    offsets: Vec<u64>,
    previous: Vec<u32>,
}

/// Numbers for names that occur often.
#[derive(Debug)]
struct Names<T> {
    names: Vec<T>,
    numbers: HashMap<T, u32>,
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
                return self.add_begin(Some(offset), number, id, *begin);
            }
            if let Some(lines) = line.restored {
                return self.add_restored(offset, number, &lines);
            }
            let Some(index) = self.position_of(number) else {
                return self.add_unknown(offset, text);
            };
            if self.is_archived(index) {
                // The line before, which brought the intent back, was not written: neither was
                // acknowledged.
                return;
            }
            self.add_offset(index, offset);
            if let Some(record) = line.record {
                self.add_record(index, &record);
            } else if let Some(owner) = line.claim {
                let owner = self.owners.number(owner);
                self.change(index, |entry| entry.owner = owner);
            }
        } else if let Some(numbers) = line.purged {
            self.remove(&numbers);
        } else if let Some(budget) = line.budget {
            let number = self.budget_number((budget.namespace, budget.name));
            if let Some(totals) = self.totals_mut(number) {
                totals.hold.replace(Hold::default(), budget.hold);
                totals.is_stopped |= budget.stopped;
            }
        } else if let Some(file) = line.file {
            self.last_number = self.last_number.max(file.last);
        } else if let Some(archived) = line.archived {
            for intent in archived {
                self.add_archived(&intent);
            }
        }
    }

    /// Adds an intent that comes back from the archive, with all its lines in one.
    fn add_restored(&mut self, offset: u64, number: u64, lines: &[Box<RawValue>]) {
        for line in lines {
            let text = line.get().as_bytes();
            match (Parsed::new(text), self.position_of(number)) {
                (Parsed::Line(line), found) => match (*line, found) {
                    (Line { begin: Some(begin), id: Some(id), .. }, _) => {
                        self.add_begin(None, number, &id, *begin);
                    }
                    (Line { record: Some(record), .. }, Some(index)) => {
                        self.add_record(index, &record);
                    }
                    (Line { claim: Some(owner), .. }, Some(index)) => {
                        let owner = self.owners.number(owner);
                        self.change(index, |entry| entry.owner = owner);
                    }
                    _ => {}
                },
                (_, Some(index)) => self.change(index, |entry| entry.phase = Phase::Open),
                (_, None) => {}
            }
        }
        if let Some(index) = self.position_of(number) {
            self.change(index, |entry| {
                (entry.file, entry.position) = (LOG, NONE.into());
            });
            self.add_offset(index, offset);
        }
    }

    fn is_archived(&self, index: usize) -> bool {
        let entry = self.entries.get(index);
        entry.is_some_and(|entry| entry.file != LOG)
    }

    fn add_begin(&mut self, offset: Option<u64>, number: u64, id: &str, begin: Begin) {
        let last_at = begin.at.as_microsecond();
        let hold = Hold { reserved: begin.reserved.unwrap_or_default(), ..Hold::default() };
        let submission = begin.submission.map(|submission_id| SubmissionKey {
            namespace: begin.namespace.clone(),
            account: begin.account,
            submission_id,
        });
        let budget = begin.budget.map(|name| (begin.namespace, name));
        let budget = budget.map_or(NONE, |name| self.budget_number(name));
        let entry = IndexEntry {
            number,
            last_at,
            hold: Hold::default(),
            position: NONE.into(),
            file: LOG,
            owner: self.owners.number(begin.owner),
            budget,
            phase: Phase::Open,
            is_permanent: begin.permanent,
            was_accepted: false,
            has_resource: false,
        };
        let submission = submission.as_ref().map(submission_hash);
        let index = self.insert(entry, id_hash(id), submission);
        if let Some(offset) = offset {
            self.add_offset(index, offset);
        }
        self.set_hold(index, hold);
    }

    fn add_record(&mut self, index: usize, record: &RecordLine) {
        if let Some(hold) = record.hold {
            self.set_hold(index, hold);
        }
        // Lines of an earlier version have it only in what the journal wrote.
        let is_accepted = record.phase == Some(Phase::Accepted);
        let resource = record.resource.clone().or_else(|| {
            is_accepted.then(|| line::field(record.data.get().as_bytes(), "id")).flatten()
        });
        let mut budget = NONE;
        let mut first_of = None;
        self.change(index, |entry| {
            if resource.is_some() && !std::mem::replace(&mut entry.has_resource, true) {
                first_of = Some(entry.number);
            }
            entry.last_at = record.at.as_microsecond();
            entry.phase = entry.phase.max(record.phase.unwrap_or(Phase::Open));
            entry.was_accepted |= is_accepted;
            budget = entry.budget;
        });
        if let (Some(number), Some(resource)) = (first_of, resource) {
            self.resources.insert((id_hash(&resource), number));
        }
        if let Some(totals) = self.totals_mut(budget) {
            totals.is_stopped |= record.stops_budget;
        }
    }

    fn add_unknown(&mut self, offset: u64, text: &[u8]) {
        let id: Option<String> = line::field(text, "id");
        let number: Option<u64> = line::field(text, "number");
        let by_number = number.and_then(|number| self.position_of(number));
        let by_id = || self.find(id.as_deref()?);
        let index = match by_number.or_else(by_id) {
            Some(index) if self.is_archived(index) => {
                if serde_json::from_slice::<IgnoredAny>(text).is_err() {
                    // It was not written completely, and not acknowledged.
                    return;
                }
                self.change(index, |entry| {
                    (entry.file, entry.position) = (LOG, NONE.into());
                });
                index
            }
            Some(index) => index,
            None => {
                // A line without an intent has nothing to protect.
                let Some(id) = &id else { return };
                let entry = IndexEntry {
                    number: number.unwrap_or(self.last_number + 1),
                    last_at: i64::MAX,
                    hold: Hold::default(),
                    position: NONE.into(),
                    file: LOG,
                    owner: NONE,
                    budget: NONE,
                    phase: Phase::Open,
                    is_permanent: false,
                    was_accepted: false,
                    has_resource: false,
                };
                let submission = line::submission(text).as_ref().map(submission_hash);
                self.insert(entry, id_hash(id), submission)
            }
        };
        self.add_offset(index, offset);
        self.change(index, |entry| entry.phase = Phase::Open);
    }

    fn add_archived(&mut self, archived: &Archived) {
        let (file, position) = archived.place;
        let entry = IndexEntry {
            number: archived.number,
            last_at: archived.last_at,
            hold: archived.hold,
            position,
            file,
            owner: NONE,
            budget: archived.budget.unwrap_or(NONE),
            phase: archived.phase,
            is_permanent: archived.permanent,
            was_accepted: archived.accepted,
            has_resource: archived.resource_hash.is_some(),
        };
        if let Some(resource) = archived.resource_hash {
            self.resources.insert((resource, archived.number));
        }
        self.insert(entry, archived.id_hash, archived.submission_hash);
    }

    /// Adds an entry, or replaces the one of an archived intent that is in the log again.
    fn insert(&mut self, entry: IndexEntry, id: u64, submission: Option<u64>) -> usize {
        self.last_number = self.last_number.max(entry.number);
        self.ids.insert((id, entry.number));
        if let Some(submission) = submission {
            self.submissions.insert((submission, entry.number));
        }
        match self.entries.binary_search_by_key(&entry.number, |it| it.number) {
            Ok(index) => {
                self.set_hold(index, Hold::default());
                self.change(index, |replaced| *replaced = entry);
                index
            }
            Err(index) => {
                self.entries.insert(index, entry);
                index
            }
        }
    }

    fn add_offset(&mut self, index: usize, offset: u64) {
        let line = u64::try_from(self.lines.offsets.len()).unwrap_or(u64::MAX);
        let mut previous = NONE;
        self.change(index, |entry| {
            previous = u32::try_from(entry.position).unwrap_or(NONE);
            entry.position = line;
        });
        self.lines.offsets.push(offset);
        self.lines.previous.push(previous);
    }

    fn set_hold(&mut self, index: usize, hold: Hold) {
        let mut before = (Hold::default(), NONE);
        self.change(index, |entry| {
            before = (entry.hold, entry.budget);
            entry.hold = hold;
        });
        if let Some(totals) = self.totals_mut(before.1) {
            totals.hold.replace(before.0, hold);
        }
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut IndexEntry)) {
        if let Some(entry) = self.entries.get_mut(index) {
            change(entry);
        }
    }

    fn remove(&mut self, numbers: &[u64]) {
        let numbers: BTreeSet<_> = numbers.iter().copied().collect();
        let count = self.entries.len();
        self.entries.retain(|entry| !numbers.contains(&entry.number));
        self.purged += count - self.entries.len();
        self.ids.retain(|(_, number)| !numbers.contains(number));
        self.submissions.retain(|(_, number)| !numbers.contains(number));
        self.resources.retain(|(_, number)| !numbers.contains(number));
    }

    fn position_of(&self, number: u64) -> Option<usize> {
        self.entries.binary_search_by_key(&number, |it| it.number).ok()
    }

    fn find(&self, id: &str) -> Option<usize> {
        let hash = id_hash(id);
        let (_, number) = self.ids.range((hash, 0)..=(hash, u64::MAX)).next()?;
        self.position_of(*number)
    }

    fn budget_number(&mut self, name: (String, String)) -> u32 {
        let number = self.budget_names.number(name);
        self.budgets.resize(self.budget_names.names.len(), BudgetTotals::default());
        number
    }

    fn totals_mut(&mut self, budget: u32) -> Option<&mut BudgetTotals> {
        self.budgets.get_mut(usize::try_from(budget).ok()?)
    }

    pub(super) fn get(&self, id: &str) -> Option<IndexEntry> {
        self.entries.get(self.find(id)?).copied()
    }

    /// Returns the intents that may be of a submission, as their hashes are equal.
    pub(super) fn candidates(&self, submission: &SubmissionKey) -> Vec<IndexEntry> {
        let hash = submission_hash(submission);
        let numbers = self.submissions.range((hash, 0)..=(hash, u64::MAX));
        let entry = |(_, number): &(u64, u64)| self.entries.get(self.position_of(*number)?);
        numbers.filter_map(entry).copied().collect()
    }

    /// Returns the intents after a number, in the order in which they were begun.
    pub(super) fn after(&self, number: u64) -> &[IndexEntry] {
        let start = self.entries.partition_point(|entry| entry.number <= number);
        self.entries.get(start..).unwrap_or_default()
    }

    /// Returns the first intent after a number, of those that made a resource if one is named.
    pub(super) fn next(&self, number: u64, resource: Option<&str>) -> Option<IndexEntry> {
        let Some(resource) = resource else { return self.after(number).first().copied() };
        let hash = id_hash(resource);
        let mut numbers = self.resources.range((hash, number.checked_add(1)?)..=(hash, u64::MAX));
        let (_, next) = numbers.next()?;
        self.entries.get(self.position_of(*next)?).copied()
    }

    pub(super) fn offsets(&self, entry: &IndexEntry) -> Vec<u64> {
        let mut offsets = Vec::new();
        let mut line = usize::try_from(entry.position).ok();
        while let Some(number) = line
            && let Some(offset) = self.lines.offsets.get(number)
        {
            offsets.push(*offset);
            let previous = self.lines.previous.get(number);
            line = previous.and_then(|previous| usize::try_from(*previous).ok());
        }
        offsets.reverse();
        offsets
    }

    /// Returns who has the intent, if it is in the log.
    pub(super) fn owner(&self, entry: &IndexEntry) -> Option<&str> {
        self.owners.name(entry.owner).map(String::as_str)
    }

    pub(super) fn budget_name(&self, entry: &IndexEntry) -> Option<&str> {
        self.budget_names.name(entry.budget).map(|(_, name)| name.as_str())
    }

    pub(super) fn totals(&self, namespace: &str, name: &str) -> BudgetTotals {
        let number = self.budget_names.numbers.get(&(namespace.to_owned(), name.to_owned()));
        let number = number.and_then(|number| usize::try_from(*number).ok());
        let totals = number.and_then(|number| self.budgets.get(number));
        totals.copied().unwrap_or_default()
    }

    pub(super) fn line_count(&self) -> usize {
        self.lines.offsets.len()
    }

    /// Returns how many intents the log has, how many of them have ended or were removed, and how many
    /// are in the archive.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let in_log = self.entries.iter().filter(|entry| entry.file == LOG);
        let ended = in_log.clone().filter(|entry| entry.phase >= Phase::Ended);
        let (in_log, ended) = (in_log.count(), ended.count());
        let archived = self.entries.len() - in_log;
        (in_log + self.purged, ended + self.purged, archived)
    }

    /// Returns the hashes of the ids, the submissions and the resources by the numbers of the intents.
    pub(super) fn hashes(&self) -> HashMap<u64, (u64, Option<u64>, Option<u64>)> {
        let ids = self.ids.iter().map(|(hash, number)| (*number, (*hash, None, None)));
        let mut hashes: HashMap<_, _> = ids.collect();
        for (hash, number) in &self.submissions {
            hashes.entry(*number).or_default().1 = Some(*hash);
        }
        for (hash, number) in &self.resources {
            hashes.entry(*number).or_default().2 = Some(*hash);
        }
        hashes
    }

    /// Returns the budgets by ascending number, with their namespaces and names.
    pub(super) fn budgets(&self) -> impl Iterator<Item = (u32, &(String, String), BudgetTotals)> {
        let names = self.budget_names.names.iter().zip(&self.budgets);
        (0..).zip(names).map(|(number, (name, totals))| (number, name, *totals))
    }

    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { names: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Names<T> {
    fn number(&mut self, name: T) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(NONE);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    fn name(&self, number: u32) -> Option<&T> {
        self.names.get(usize::try_from(number).ok()?)
    }
}

fn id_hash(id: &str) -> u64 {
    hash(&[id])
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
