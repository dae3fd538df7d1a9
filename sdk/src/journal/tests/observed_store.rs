//! A store that fails on demand and has deliberate defects, whose process crashes at one of its steps.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::super::store::{
    Begun, BudgetTotals, Change, IntentId, IntentPage, ListFilter, NewIntent, Owner, Phase, Store,
    StoreError, StoreFuture, StoredIntent, SubmissionKey,
};
use super::super::{MemoryStore, lock};
use super::clock;
use crate::call::task::TaskGroup;
use crate::debug_fields::debug_fields;

const OWNER_TIMEOUT: Duration = Duration::from_secs(30);
const STOPPED_OWNER_TIMEOUT: Duration = Duration::from_secs(3);
const STOP: Duration = Duration::from_secs(5);

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

/// What is wrong with a store, or with what is written to it. The simulation of `svc-tests` injects others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// What proves that nothing ran is recorded for what has no answer.
    UnknownTakenAsNothingRan,
    /// A receipt is not recorded.
    ReceiptLost,
    /// Not of the journal: the answer to the record that nothing ran is lost.
    AnswerLost,
    /// Not of the journal: a process pauses before it claims an intent.
    PauseBeforeClaim,
    /// Not of the journal: a process that was killed counts as running for half a minute.
    KilledTakenForRunning,
    /// Not of the journal: a process is stopped for five seconds when it has begun an intent, and counts as
    /// gone after three.
    StoppedAfterBegin,
    /// Not of the journal: the first answer to a begun intent is lost, after that time.
    BeginAnsweredLate,
}

/// How a store fails, and what was written to it.
#[derive(Debug, Default)]
pub(super) struct Writes {
    /// How many records can be added before the disk is full, if it can become full.
    pub(super) appends_left: Mutex<Option<usize>>,
    /// Whether it writes nothing and does not answer.
    pub(super) hangs: AtomicBool,
    at_once: AtomicUsize,
    /// The most records that were added at the same time.
    pub(super) most_at_once: AtomicUsize,
    /// The intents of the records that were added.
    pub(super) appended: Mutex<Vec<IntentId>>,
}

impl Writes {
    pub(super) fn set_hanging(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }

    async fn answer(&self) {
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Takes the time of a record, and fails if the disk is full.
    async fn append(&self, id: &IntentId) -> Result<(), StoreError> {
        self.answer().await;
        let at_once = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::Relaxed);
        clock::sleep(Duration::from_millis(10)).await;
        self.at_once.fetch_sub(1, Ordering::Relaxed);
        if let Some(left) = &mut *lock(&self.appends_left) {
            let one_less = left.checked_sub(1);
            *left = one_less.ok_or_else(|| StoreError::message("the disk is full"))?;
        }
        lock(&self.appended).push(id.clone());
        Ok(())
    }
}

/// A store that counts the steps of its process: each operation has one before and one after it.
pub(super) struct ObservedStore {
    store: MemoryStore,
    crash: Arc<Crash>,
    defect: Option<Defect>,
    opened_at: clock::Instant,
    has_begun: AtomicBool,
    writes: Arc<Writes>,
}

impl ObservedStore {
    pub(super) fn new(store: MemoryStore, crash: &Arc<Crash>, defect: Option<Defect>) -> Self {
        let (crash, opened_at) = (Arc::clone(crash), clock::now());
        let has_begun = AtomicBool::new(false);
        Self { store, crash, defect, opened_at, has_begun, writes: Arc::default() }
    }

    /// Creates a store whose process does not crash, and shows what is written to it.
    pub(super) fn with_writes(defect: Option<Defect>) -> (Self, Arc<Writes>) {
        let store = Self::new(MemoryStore::new(), &Crash::after(usize::MAX), defect);
        let writes = Arc::clone(&store.writes);
        (store, writes)
    }

    fn is_stopped(&self) -> bool {
        matches!(self.defect, Some(Defect::StoppedAfterBegin | Defect::BeginAnsweredLate))
    }

    fn hides_the_gone(&self) -> bool {
        self.defect == Some(Defect::KilledTakenForRunning)
            && clock::now() < self.opened_at + OWNER_TIMEOUT
    }

    fn changed_by_defect(&self, change: &Change) -> Option<Change> {
        let replaced = |record: &str, phase| {
            let record = format!(r#"{{"v":1,{record}}}"#);
            Some(Change { record, phase, ..change.clone() })
        };
        match self.defect {
            Some(Defect::UnknownTakenAsNothingRan) if change.record.contains("unknown") => {
                replaced(r#""event":"nothing_ran","attempt":9"#, None)
            }
            Some(Defect::ReceiptLost) if change.record.contains("\"accepted\"") => {
                replaced(r#""event":"released","reason":"refused""#, Some(Phase::Released))
            }
            _ => None,
        }
    }
}

fn answer_lost() -> StoreError {
    StoreError::message("the answer was lost")
}

debug_fields! { [] ObservedStore as "ObservedStore" {  } }

impl Store for ObservedStore {
    fn begin<'a>(&'a self, intent: &'a NewIntent) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            self.writes.answer().await;
            self.crash.step().await;
            // So that processes that begin at once read the same before.
            clock::sleep(Duration::from_millis(1)).await;
            let begun = self.store.begin(intent).await;
            self.crash.step().await;
            if !self.is_stopped() || self.has_begun.swap(true, Ordering::Relaxed) {
                return begun;
            }
            clock::sleep(STOP).await;
            match self.defect {
                Some(Defect::BeginAnsweredLate) => Err(answer_lost()),
                _ => begun,
            }
        })
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.crash.step().await;
            self.writes.append(id).await?;
            let replaced = self.changed_by_defect(change);
            let written = self.store.append(id, replaced.as_ref().unwrap_or(change)).await;
            self.crash.step().await;
            let is_answer_lost = self.defect == Some(Defect::AnswerLost);
            match is_answer_lost && change.record.contains("nothing_ran") {
                true => written.and(Err(answer_lost())),
                false => written,
            }
        })
    }

    fn get<'a>(&'a self, submission: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>> {
        self.store.get(submission)
    }

    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>> {
        Box::pin(async move {
            self.crash.step().await;
            if self.defect == Some(Defect::PauseBeforeClaim) {
                clock::sleep(Duration::from_secs(8)).await;
            }
            assert!(!self.hides_the_gone(), "what is running is not claimed");
            let claimed = self.store.claim(id).await;
            self.crash.step().await;
            claimed
        })
    }

    fn list<'a>(&'a self, filter: &'a ListFilter) -> StoreFuture<'a, IntentPage> {
        Box::pin(async move {
            let mut page = self.store.list(filter).await?;
            if self.hides_the_gone() {
                page.intents.iter_mut().for_each(|intent| intent.owner = Owner::Other);
            }
            Ok(page)
        })
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

    fn owner_timeout(&self) -> Duration {
        match self.defect {
            Some(Defect::KilledTakenForRunning) => OWNER_TIMEOUT,
            _ if self.is_stopped() => STOPPED_OWNER_TIMEOUT,
            _ => Duration::ZERO,
        }
    }
}
