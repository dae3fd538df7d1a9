//! A store with deliberate defects, whose process crashes at one of its steps.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::super::store::{
    Begun, BudgetTotals, Change, IntentId, IntentPage, ListFilter, NewIntent, Owner, Phase, Store,
    StoreError, StoreFuture, StoredIntent, SubmissionKey,
};
use super::super::{MemoryStore, lock};
use super::clock;
use crate::call::task::TaskGroup;
use crate::error::Result;
use crate::types::Usd;

/// Counts the steps of a process, and ends it at one of them.
#[derive(Debug)]
pub(super) struct Crash {
    steps_left: AtomicUsize,
    pub(super) group: TaskGroup,
}

impl Crash {
    pub(super) fn after(steps: usize) -> Arc<Self> {
        Arc::new(Self { steps_left: AtomicUsize::new(steps), group: TaskGroup::default() })
    }

    pub(super) fn has_happened(&self) -> bool {
        self.steps_left.load(Ordering::Relaxed) == 0
    }

    pub(super) async fn step(&self) {
        let left = self.steps_left.load(Ordering::Relaxed).saturating_sub(1);
        self.steps_left.store(left, Ordering::Relaxed);
        if left == 0 {
            self.group.end();
            std::future::pending::<()>().await;
        }
    }
}

/// What is wrong with a store, or with what is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// A new intent is in memory when the request is sent, and is lost by a crash.
    SentBeforeSync,
    /// An intent is begun whatever other generations there are.
    GenerationNotCompared,
    /// Everybody has every intent.
    OwnershipIgnored,
    /// What is reserved is compared with the limit before it is written.
    ReservationNotAtomic,
    /// The age of a key is counted from the last record.
    ExpiryFromLastRecord,
    /// A conflict with the body of an earlier attempt is recorded as a refusal.
    ConflictTakenAsRefused,
    /// What proves that nothing ran is recorded for what has no answer.
    UnknownTakenAsNothingRan,
    /// A receipt is not recorded.
    ReceiptLost,
    /// Not of the journal: the answer to the record that nothing ran is lost.
    AnswerLost,
    /// Not of the journal: a process pauses before it claims an intent.
    PauseBeforeClaim,
}

/// A store that counts the steps of its process: each operation has one before and one after it.
pub(super) struct ObservedStore {
    store: MemoryStore,
    crash: Arc<Crash>,
    defect: Option<Defect>,
    /// What a crash loses.
    unsynced: Mutex<Option<NewIntent>>,
}

impl ObservedStore {
    pub(super) fn new(store: MemoryStore, crash: &Arc<Crash>, defect: Option<Defect>) -> Self {
        Self { store, crash: Arc::clone(crash), defect, unsynced: Mutex::default() }
    }

    async fn sync(&self) -> Result<(), StoreError> {
        let unsynced = lock(&self.unsynced).take();
        match unsynced {
            Some(intent) => self.store.begin(&intent).await.map(drop),
            None => Ok(()),
        }
    }

    async fn begin_now(&self, intent: &NewIntent) -> Result<Begun, StoreError> {
        match self.defect {
            Some(Defect::SentBeforeSync) => {
                *lock(&self.unsynced) = Some(intent.clone());
                Ok(Begun::Written(clock::wall()))
            }
            Some(Defect::GenerationNotCompared) => {
                let mut intent = intent.clone();
                loop {
                    match self.store.begin(&intent).await? {
                        Begun::GenerationTaken => intent.generation += 1,
                        begun => return Ok(begun),
                    }
                }
            }
            Some(Defect::ReservationNotAtomic) => {
                let mut intent = intent.clone();
                if let Some(reservation) = &mut intent.reservation {
                    let name = &reservation.budget;
                    let totals = self.store.budget(&intent.namespace, name).await?;
                    if !totals.fits(reservation) {
                        return Ok(Begun::OverBudget(totals));
                    }
                    reservation.limit = Usd::from_micros(i64::MAX);
                    clock::sleep(Duration::from_millis(1)).await;
                }
                self.store.begin(&intent).await
            }
            _ => self.store.begin(intent).await,
        }
    }

    fn changed_by_defect(&self, change: &Change) -> Option<Change> {
        let replaced = |record: &str, phase| {
            let record = format!(r#"{{"v":1,{record}}}"#);
            Some(Change { record, phase, ..change.clone() })
        };
        match self.defect {
            Some(Defect::ConflictTakenAsRefused)
                if change.record.contains("accepted_without_id") =>
            {
                replaced(r#""event":"released","reason":"refused""#, Some(Phase::Released))
            }
            Some(Defect::UnknownTakenAsNothingRan) if change.record.contains("unknown") => {
                replaced(r#""event":"nothing_ran""#, None)
            }
            Some(Defect::ReceiptLost) if change.record.contains("\"accepted\"") => {
                replaced(r#""event":"released","reason":"refused""#, Some(Phase::Released))
            }
            _ => None,
        }
    }
}

impl fmt::Debug for ObservedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObservedStore")
    }
}

impl Store for ObservedStore {
    fn begin<'a>(&'a self, intent: &'a NewIntent) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            self.crash.step().await;
            // So that processes that begin at once read the same before.
            clock::sleep(Duration::from_millis(1)).await;
            let begun = self.begin_now(intent).await;
            self.crash.step().await;
            begun
        })
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.crash.step().await;
            self.sync().await?;
            let replaced = self.changed_by_defect(change);
            let written = self.store.append(id, replaced.as_ref().unwrap_or(change));
            let written = match written.await {
                Err(error)
                    if error.is_not_owner() && self.defect == Some(Defect::OwnershipIgnored) =>
                {
                    Ok(())
                }
                Ok(())
                    if change.record.contains("nothing_ran")
                        && self.defect == Some(Defect::AnswerLost) =>
                {
                    Err(StoreError::message("the answer was lost"))
                }
                written => written,
            };
            self.crash.step().await;
            written
        })
    }

    fn get<'a>(&'a self, submission: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>> {
        Box::pin(async move {
            let mut found = self.store.get(submission).await?;
            for intent in &mut found {
                match self.defect {
                    Some(Defect::OwnershipIgnored) => intent.owner = Owner::Gone,
                    Some(Defect::ExpiryFromLastRecord) => {
                        let last = intent.records.last();
                        intent.begun_at = last.map_or(intent.begun_at, |it| it.at);
                    }
                    _ => {}
                }
            }
            Ok(found)
        })
    }

    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>> {
        Box::pin(async move {
            self.crash.step().await;
            if self.defect == Some(Defect::PauseBeforeClaim) {
                clock::sleep(Duration::from_secs(8)).await;
            }
            let mut claimed = self.store.claim(id).await?;
            self.crash.step().await;
            if let Some(intent) = &mut claimed
                && self.defect == Some(Defect::OwnershipIgnored)
            {
                intent.owner = Owner::This;
            }
            Ok(claimed)
        })
    }

    fn list<'a>(&'a self, filter: &'a ListFilter) -> StoreFuture<'a, IntentPage> {
        self.store.list(filter)
    }

    fn budget<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, BudgetTotals> {
        self.store.budget(namespace, name)
    }

    fn purge(&self, older_than: SystemTime) -> StoreFuture<'_, u64> {
        self.store.purge(older_than)
    }

    fn changed(&self) -> StoreFuture<'_, ()> {
        self.store.changed()
    }
}
