//! The store on a disk that crashes at every operation, with flushes that fail and a full disk.
//!
//! What was acknowledged is there afterwards, and nothing that was not written.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;

use super::simulated_disk::{Faults, SimulatedDisk};
use super::*;
use crate::journal::store::{Hold, Owner, Phase, Reservation, StoredIntent};
use crate::journal::testing::intent;
use crate::types::Usd;

const BUDGET: &str = "images";
const LIMIT: Usd = Usd::from_micros(2_000);
const STEPS: usize = 12;

/// A `begin` that was called.
struct BegunIntent {
    new: NewIntent,
    is_acknowledged: bool,
    /// The changes, and whether they were acknowledged.
    changes: Vec<(Change, bool)>,
}

struct CrashRun {
    is_single_file: bool,
    disk: SimulatedDisk,
    random: fastrand::Rng,
    attempts: BTreeMap<IntentId, BegunIntent>,
    count: u32,
}

impl CrashRun {
    fn new(is_single_file: bool, seed: u64) -> Self {
        Self {
            is_single_file,
            disk: SimulatedDisk::new(seed),
            random: fastrand::Rng::with_seed(seed),
            attempts: BTreeMap::new(),
            count: 0,
        }
    }

    fn open(&self) -> Result<FileStore, StoreError> {
        match self.is_single_file {
            true => {
                FileStore::in_single_file(Arc::new(self.disk.clone()), "/manifest.jsonl".into())
            }
            false => FileStore::on_simulated_disk(&self.disk),
        }
    }

    /// Lets one or two processes work until they are done or killed.
    async fn work(&mut self) {
        let Ok(first) = self.open() else { return };
        let second = if self.is_single_file { Ok(first.clone()) } else { self.open() };
        let Ok(second) = second else { return };
        self.claim_all(&first).await;
        for _ in 0..STEPS {
            let store = if self.random.bool() { &first } else { &second };
            match self.random.u32(..5) {
                0 | 1 => self.begin_some(store).await,
                2 | 3 => self.append_some(store).await,
                _ => self.begin_again(store).await,
            }
            if self.disk.has_crashed() {
                return;
            }
        }
    }

    async fn claim_all(&mut self, store: &FileStore) {
        for id in self.attempts.keys() {
            let _ = store.claim(id).await;
        }
    }

    async fn begin_some(&mut self, store: &FileStore) {
        let new: Vec<_> = (0..self.random.u32(1..5)).map(|_| self.new_intent()).collect();
        for new in &new {
            let attempt =
                BegunIntent { new: new.clone(), is_acknowledged: false, changes: Vec::new() };
            self.attempts.insert(new.id.clone(), attempt);
        }
        let begun = join_all(new.iter().map(|new| store.begin(new))).await;
        for (new, begun) in new.iter().zip(begun) {
            self.note_begun(&new.id, begun);
        }
    }

    /// Repeats a call whose answer was lost.
    async fn begin_again(&mut self, store: &FileStore) {
        let unknown = self.attempts.values().find(|attempt| !attempt.is_acknowledged);
        let Some(new) = unknown.map(|attempt| attempt.new.clone()) else { return };
        let begun = store.begin(&new).await;
        self.note_begun(&new.id, begun);
    }

    fn note_begun(&mut self, id: &IntentId, begun: Result<Begun, StoreError>) {
        match begun {
            Ok(Begun::Written(_)) => {
                self.attempts.get_mut(id).unwrap().is_acknowledged = true;
            }
            Ok(Begun::GenerationTaken | Begun::OverBudget(_)) => {
                self.attempts.remove(id);
            }
            Err(_) => {}
        }
    }

    fn new_intent(&mut self) -> NewIntent {
        self.count += 1;
        let submission = format!("order-{}", self.random.u32(..12));
        let (budget, amount) = (BUDGET.to_owned(), Usd::from_micros(100));
        NewIntent {
            generation: self.random.u32(1..4),
            facts: "{\"operation\":\"image_generate\"}".to_owned(),
            reservation: Some(Reservation { budget, amount, limit: LIMIT }),
            ..intent(self.count, &submission)
        }
    }

    async fn append_some(&mut self, store: &FileStore) {
        const PHASES: [Phase; 5] =
            [Phase::Accepted, Phase::Ended, Phase::Ended, Phase::Acknowledged, Phase::Released];
        let mut ids: Vec<_> = self.attempts.keys().cloned().collect();
        self.random.shuffle(&mut ids);
        ids.truncate(self.random.usize(1..4));
        let mut changes = Vec::new();
        for id in ids {
            self.count += 1;
            let captured = Usd::from_micros(self.random.i64(0..100));
            let change = Change {
                record: format!("{{\"number\":{}}}", self.count),
                phase: Some(PHASES[self.random.usize(..PHASES.len())]),
                hold: Some(Hold { captured, ..Hold::default() }),
                ..Change::default()
            };
            let attempt = self.attempts.get_mut(&id).unwrap();
            attempt.changes.push((change.clone(), false));
            changes.push((id, change));
        }
        let appended = changes.iter().map(|(id, change)| store.append(id, change));
        for ((id, _), appended) in changes.iter().zip(join_all(appended).await) {
            let changes = &mut self.attempts.get_mut(id).unwrap().changes;
            match appended {
                Ok(()) => changes.last_mut().unwrap().1 = true,
                Err(error) if error.is_not_owner() || error.is_not_found() => {
                    changes.pop();
                }
                Err(_) => {}
            }
        }
    }

    /// Compares what the store has after a restart with what was tried and acknowledged.
    async fn check(&mut self) {
        let store = self.open().expect("the store can be opened");
        let filter =
            ListFilter { include_closed: true, limit: usize::MAX, ..ListFilter::default() };
        let stored = store.list(&filter).await.unwrap().intents;
        let ids: BTreeSet<_> = stored.iter().map(|intent| intent.id.clone()).collect();
        assert_eq!(ids.len(), stored.len(), "no intent is there twice");
        let generation = |intent: &StoredIntent| (intent.submission_id.clone(), intent.generation);
        let generations: BTreeSet<_> = stored.iter().map(generation).collect();
        assert_eq!(generations.len(), stored.len(), "no generation is there twice");
        for (id, attempt) in &self.attempts {
            assert!(!attempt.is_acknowledged || ids.contains(id), "{id} was lost");
        }
        let mut sum = Hold::default();
        for intent in &stored {
            let attempt = self.attempts.get(&intent.id).expect("it was tried");
            check_intent(intent, attempt);
            sum.reserved = sum.reserved.checked_add(intent.hold.reserved).unwrap();
            sum.captured = sum.captured.checked_add(intent.hold.captured).unwrap();
        }
        let totals = store.budget("shop", BUDGET).await.unwrap();
        assert_eq!(totals.hold, sum);
        assert!(sum.reserved.checked_add(sum.captured).unwrap() <= LIMIT);
        for attempt in self.attempts.values() {
            let found = store.get(&attempt.new.submission().unwrap()).await.unwrap();
            let is_found = |intent: &StoredIntent| intent.id == attempt.new.id;
            let listed = stored.iter().find(|intent| is_found(intent));
            if listed.is_some_and(|intent| intent.phase < Phase::Acknowledged) {
                assert!(found.iter().any(is_found));
            }
        }
    }
}

fn check_intent(intent: &StoredIntent, attempt: &BegunIntent) {
    assert_eq!(intent.owner, Owner::Gone);
    let mut phase = Phase::Open;
    let mut hold = Hold::of(attempt.new.reservation.as_ref());
    let mut records = intent.records.iter().peekable();
    let mut is_damaged = false;
    if intent.facts != attempt.new.facts {
        // Its first line was written in part, which is only possible if that was not acknowledged.
        assert!(!attempt.is_acknowledged);
        return;
    }
    for (change, is_acknowledged) in &attempt.changes {
        match records.peek() {
            Some(record) if record.record == change.record => {
                records.next();
                hold = change.hold_after(phase, hold);
                phase = phase.max(change.phase.unwrap());
            }
            Some(record) if !is_acknowledged && record.record.contains("\"v\"") => {
                records.next();
                is_damaged = true;
            }
            _ => assert!(!is_acknowledged, "{change:?} was lost in {intent:?}"),
        }
    }
    assert_eq!(records.next(), None, "all records were tried");
    if !is_damaged {
        assert_eq!((intent.phase, intent.hold), (phase, hold));
    }
}

/// Crashes at every operation, and works on afterwards with another crash.
async fn crash_at_every_operation(is_single_file: bool, seed: u64, faults: Faults) {
    let mut crash_at = 0;
    loop {
        let mut run = CrashRun::new(is_single_file, seed);
        run.disk.crash_after(crash_at, faults);
        run.work().await;
        let has_crashed = run.disk.has_crashed();
        for _ in 0..2 {
            run.disk.restart();
            run.check().await;
            let operations = run.random.u32(..200);
            run.disk.crash_after(operations, faults);
            run.work().await;
        }
        run.disk.restart();
        run.check().await;
        if !has_crashed {
            return;
        }
        crash_at += 1;
    }
}

/// Flushes that fail and a disk that is full, apart and together.
#[tokio::test]
async fn keeps_what_was_acknowledged_at_a_crash() {
    let seeds_and_faults = [
        (false, 0, Faults::default()),
        (false, 1, Faults::default()),
        (false, 2, Faults::default()),
        (true, 3, Faults::default()),
        (false, 4, Faults { sync: 6, full: 0 }),
        (true, 5, Faults { sync: 6, full: 0 }),
        (false, 6, Faults { sync: 0, full: 6 }),
        (true, 7, Faults { sync: 0, full: 6 }),
        (false, 8, Faults { sync: 8, full: 8 }),
        (true, 9, Faults { sync: 8, full: 8 }),
    ];
    for (is_single_file, seed, faults) in seeds_and_faults {
        crash_at_every_operation(is_single_file, seed, faults).await;
    }
}
