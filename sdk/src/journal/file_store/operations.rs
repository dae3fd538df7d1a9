//! What the methods of the store do with a log that is locked and up to date.

use std::time::SystemTime;

use jiff::Timestamp;

use super::index::{IndexEntry, LOG};
use super::line::{self, Begin, Line, Parsed, RecordLine};
use super::log::Log;
use super::owners::Ownership;
use crate::call::clock;
use crate::journal::store::{
    Begun, BudgetTotals, Change, IntentId, IntentPage, ListFilter, NewIntent, Owner, Phase,
    StoreError, StoredIntent, StoredRecord, SubmissionKey, found,
};

/// The log while it is locked.
#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) log: &'a mut Log,
    pub(super) ownership: &'a Ownership,
}

impl Session<'_> {
    pub(super) fn begin(&mut self, new: &NewIntent) -> Result<Begun, StoreError> {
        if let Some(entry) = self.log.index.get(new.id.as_str()) {
            return Ok(Begun::Written(self.stored(&entry)?.begun_at));
        }
        if let Some(submission) = new.submission() {
            let newest = self.of_submission(&submission)?.pop();
            if newest.is_some_and(|(newest, ..)| newest.generation >= new.generation) {
                return Ok(Begun::GenerationTaken);
            }
        }
        if let Some(reservation) = &new.reservation {
            let totals = self.budget(&new.namespace, &reservation.budget);
            if !totals.fits(reservation) {
                return Ok(Begun::OverBudget(totals));
            }
        }
        let at = now();
        let reservation = new.reservation.as_ref();
        let begin = Begin {
            namespace: new.namespace.clone(),
            account: new.account.clone(),
            submission: new.submission_id.clone(),
            generation: new.generation,
            at,
            owner: self.ownership.name().to_owned(),
            permanent: new.is_permanent,
            budget: reservation.map(|reservation| reservation.budget.clone()),
            reserved: reservation.map(|reservation| reservation.amount),
            facts: line::raw_json(&new.facts)?,
        };
        let number = self.log.index.last_number() + 1;
        self.log.stage(&Line {
            begin: Some(Box::new(begin)),
            ..Line::of_intent(number, new.id.as_str())
        })?;
        Ok(Begun::Written(at.into()))
    }

    pub(super) fn append(&mut self, id: &IntentId, change: &Change) -> Result<(), StoreError> {
        let entry = self.log.index.get(id.as_str());
        let entry = entry.ok_or_else(StoreError::not_found)?;
        let is_own = self.log.index.owner(&entry) == Some(self.ownership.name());
        if !change.is_allowed(entry.phase, is_own) {
            return Err(StoreError::not_owner());
        }
        let record = RecordLine {
            at: now(),
            phase: change.phase,
            hold: change.hold.map(|_| change.hold_after(entry.phase, entry.hold)),
            stops_budget: change.stops_budget,
            resource: change.resource.clone(),
            data: line::raw_json(&change.record)?,
        };
        self.stage_of(
            &entry,
            Line { record: Some(record), ..Line::of_intent(entry.number, id.as_str()) },
        )
    }

    pub(super) fn get(
        &mut self,
        submission: &SubmissionKey,
    ) -> Result<Vec<StoredIntent>, StoreError> {
        Ok(found(self.of_submission(submission)?))
    }

    pub(super) fn claim(&mut self, id: &IntentId) -> Result<Option<StoredIntent>, StoreError> {
        let Some(entry) = self.log.index.get(id.as_str()) else { return Ok(None) };
        let mut intent = self.stored(&entry)?;
        if intent.owner == Owner::Gone {
            let claim = Line {
                claim: Some(self.ownership.name().to_owned()),
                ..Line::of_intent(entry.number, id.as_str())
            };
            self.stage_of(&entry, claim)?;
            intent.owner = Owner::This;
        }
        Ok(Some(intent))
    }

    pub(super) fn list(&mut self, filter: &ListFilter) -> Result<IntentPage, StoreError> {
        let mut position = filter.position()?;
        let mut intents = Vec::new();
        let mut last = position;
        while let Some(entry) = self.log.index.next(position, filter.resource.as_deref()) {
            position = entry.number;
            if entry.phase.is_closed() && !filter.include_closed {
                continue;
            }
            let intent = self.stored(&entry)?;
            if !filter.includes(&intent.namespace, intent.phase) {
                continue;
            }
            if intents.len() == filter.limit {
                let next = Some(last.to_string());
                return Ok(IntentPage { intents, next });
            }
            last = position;
            intents.push(intent);
        }
        let next = None;
        Ok(IntentPage { intents, next })
    }

    pub(super) fn budget(&self, namespace: &str, name: &str) -> BudgetTotals {
        self.log.index.totals(namespace, name)
    }

    pub(super) fn purge(&mut self, older_than: SystemTime) -> Result<u64, StoreError> {
        let entries = self.log.index.after(0).iter();
        let numbers: Vec<_> = entries
            .filter(|entry| {
                let is_older = to_time(entry.last_at) < older_than;
                entry.phase >= Phase::Ended && !entry.is_permanent && is_older
            })
            .map(|entry| entry.number)
            .collect();
        let count = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
        if count > 0 {
            self.log.stage(&Line { purged: Some(numbers), ..Line::new() })?;
        }
        Ok(count)
    }

    pub(super) fn add_notes(&mut self, notes: &[String]) -> Result<(), StoreError> {
        for note in notes {
            self.log.stage(&Line { note: Some(line::raw_json(note)?), ..Line::new() })?;
        }
        Ok(())
    }

    /// Stages a line of an intent, which comes back from the archive if it is there.
    fn stage_of(&mut self, entry: &IndexEntry, line: Line) -> Result<(), StoreError> {
        if entry.file != LOG {
            let lines = self.log.lines(entry)?;
            let lines = lines.iter().map(|text| match std::str::from_utf8(text) {
                Ok(text) => line::raw_json(text),
                Err(error) => Err(StoreError::failed("a line is not text", error)),
            });
            self.log.stage(&Line {
                number: line.number,
                id: line.id.clone(),
                restored: Some(lines.collect::<Result<_, _>>()?),
                ..Line::new()
            })?;
        }
        self.log.stage(&line)
    }

    /// Returns the intents of a submission by ascending generation, with their phases and whether they
    /// were ever accepted.
    fn of_submission(
        &mut self,
        key: &SubmissionKey,
    ) -> Result<Vec<(StoredIntent, Phase, bool)>, StoreError> {
        let mut intents = Vec::new();
        for entry in self.log.index.candidates(key) {
            let intent = self.stored(&entry)?;
            let is_same = intent.namespace == key.namespace && intent.account == key.account;
            if is_same && intent.submission_id.as_ref() == Some(&key.submission_id) {
                intents.push((intent, entry.phase, entry.was_accepted));
            }
        }
        intents.sort_by_key(|(intent, ..)| intent.generation);
        Ok(intents)
    }

    fn stored(&mut self, entry: &IndexEntry) -> Result<StoredIntent, StoreError> {
        let mut intent = None;
        let mut records = Vec::new();
        let mut owner = String::new();
        for text in self.log.lines(entry)? {
            match Parsed::new(&text) {
                Parsed::Line(line) => {
                    if let Some(begin) = line.begin {
                        owner.clone_from(&begin.owner);
                        intent = Some(new_stored(line.id.unwrap_or_default(), *begin));
                    } else if let Some(record) = line.record {
                        records.push(StoredRecord {
                            record: record.data.get().to_owned(),
                            at: record.at.into(),
                        });
                    } else if let Some(claimant) = line.claim {
                        owner = claimant;
                    }
                }
                Parsed::OtherVersion | Parsed::Invalid => {
                    intent = intent.or_else(|| Some(unknown_intent(&text)));
                    records.push(StoredRecord {
                        record: String::from_utf8_lossy(&text).into_owned(),
                        at: line::field::<Timestamp>(&text, "at").unwrap_or_default().into(),
                    });
                }
            }
        }
        let intent = intent.ok_or_else(|| {
            StoreError::message("the journal's archive does not have one of its intents")
        })?;
        Ok(StoredIntent {
            records,
            phase: entry.phase,
            owner: self.ownership.of(&owner)?,
            budget: self.log.index.budget_name(entry).map(str::to_owned),
            hold: entry.hold,
            read_at: now().into(),
            ..intent
        })
    }
}

fn new_stored(id: String, begin: Begin) -> StoredIntent {
    StoredIntent {
        id: IntentId::new(id),
        namespace: begin.namespace,
        account: begin.account,
        submission_id: begin.submission,
        generation: begin.generation,
        facts: begin.facts.get().to_owned(),
        records: Vec::new(),
        begun_at: begin.at.into(),
        read_at: SystemTime::UNIX_EPOCH,
        phase: Phase::Open,
        owner: Owner::Gone,
        budget: None,
        hold: Default::default(),
    }
}

/// Returns what can be found of an intent whose first line cannot be read.
fn unknown_intent(text: &[u8]) -> StoredIntent {
    let submission = line::submission(text);
    let (namespace, account, submission_id) = match submission {
        Some(it) => (it.namespace, it.account, Some(it.submission_id)),
        None => Default::default(),
    };
    StoredIntent {
        id: IntentId::new(line::field::<String>(text, "id").unwrap_or_default()),
        namespace,
        account,
        submission_id,
        generation: line::field(text, "generation").unwrap_or(1),
        facts: String::new(),
        records: Vec::new(),
        begun_at: line::field::<Timestamp>(text, "at").unwrap_or_default().into(),
        read_at: SystemTime::UNIX_EPOCH,
        phase: Phase::Open,
        owner: Owner::Gone,
        budget: None,
        hold: Default::default(),
    }
}

fn now() -> Timestamp {
    let now = Timestamp::try_from(clock::wall()).unwrap_or_default();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or_default()
}

fn to_time(microseconds: i64) -> SystemTime {
    let timestamp = Timestamp::from_microsecond(microseconds);
    timestamp.unwrap_or(Timestamp::MAX).into()
}
