//! The store of a client's journal, as one of its processes sees it.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use svc_sdk::journal::MemoryStore;
use svc_sdk::journal::store::{
    Begun, BudgetTotals, Change, Hold, IntentId, IntentPage, ListFilter, NewIntent, Owner, Phase,
    Store, StoreFuture, StoredIntent, SubmissionKey,
};
use svc_sdk::types::Usd;

use super::oracle::Defect;
use super::world::World;

/// How long a process is stopped, and the owner timeout of the store: after a write, no other process may take
/// this one for a dead one before half of it has passed.
const STOP_MS: u64 = 8_000;
const OWNER_TIMEOUT: Duration = Duration::from_secs(9);

/// A handle of the store, whose owner is gone when the process ends, and what is wrong with it.
pub(super) struct ProcessStore {
    world: Arc<World>,
    client: usize,
    slot: u64,
    store: MemoryStore,
    /// Whether it takes running processes for dead ones as early as a store may.
    is_impatient: bool,
    /// What is lost when the process ends.
    unsynced: Mutex<Option<NewIntent>>,
}

impl ProcessStore {
    pub(super) fn new(world: &Arc<World>, client: usize, is_impatient: bool) -> Self {
        Self {
            world: Arc::clone(world),
            client,
            slot: client as u64 + 1,
            store: match world.has(Defect::OwnershipIgnored) {
                true => world.stores[client].clone(),
                false => world.stores[client].handle(),
            },
            is_impatient,
            unsynced: Mutex::default(),
        }
    }

    /// Returns the store by which the end of the process is noted.
    pub(super) fn store(&self) -> MemoryStore {
        self.store.clone()
    }

    fn has(&self, defect: Defect) -> bool {
        self.world.has(defect)
    }

    /// Takes the time of a write, which other tasks act in.
    async fn write(&self) {
        self.world.sleep(self.slot, 1).await;
    }

    fn unsynced(&self) -> std::sync::MutexGuard<'_, Option<NewIntent>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the change that is written in place of another one.
    fn replaced(&self, change: &Change) -> Change {
        let mut change = change.clone();
        match self.world.defect {
            Some(Defect::ConflictTakenAsRefused)
                if change.record.contains("accepted_without_id") =>
            {
                change.record = r#"{"v":1,"event":"released","reason":"refused"}"#.to_owned();
                change.phase = Some(Phase::Released);
                change.hold = change.hold.map(|_| Hold::default());
            }
            Some(Defect::HoldNotReleased) if change.phase == Some(Phase::Ended) => {
                change.hold = None;
            }
            _ => {}
        }
        change
    }

    /// Returns whether the owner of an intent has written nothing for so long that it may be gone.
    fn takes_for_gone(&self, intent: &StoredIntent) -> bool {
        let written_at = intent.records.last().map_or(intent.begun_at, |it| it.at);
        let silence = intent.read_at.duration_since(written_at).unwrap_or_default();
        self.is_impatient && intent.owner == Owner::Other && silence >= OWNER_TIMEOUT / 2
    }

    /// Shows an intent as this process sees it.
    fn show(&self, intent: &mut StoredIntent) {
        if self.takes_for_gone(intent) {
            intent.owner = Owner::Gone;
        }
        if self.has(Defect::ExpiryFromLastAttempt)
            && let Some(last) = intent.records.last()
        {
            intent.begun_at = last.at;
        }
    }
}

impl Store for ProcessStore {
    fn begin<'a>(&'a self, intent: &'a NewIntent) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            let mut intent = intent.clone();
            if self.has(Defect::SentBeforeSync) {
                *self.unsynced() = Some(intent);
                return Ok(Begun::Written(SystemTime::UNIX_EPOCH));
            }
            if self.has(Defect::ReservationNotAtomic)
                && let Some(reservation) = &mut intent.reservation
            {
                let totals = self.store.budget(&intent.namespace, &reservation.budget);
                let totals = totals.await?;
                if !totals.fits(reservation) {
                    return Ok(Begun::OverBudget(totals));
                }
                reservation.limit = Usd::from_micros(i64::MAX);
            }
            self.write().await;
            loop {
                match self.store.begin(&intent).await? {
                    Begun::GenerationTaken if self.has(Defect::GenerationNotCompared) => {
                        intent.generation += 1;
                    }
                    begun => {
                        let is_stopped = &self.world.is_stopped_at_begin[self.client];
                        if !self.is_impatient && is_stopped.swap(false, Ordering::Relaxed) {
                            self.world
                                .trace(self.slot, || "  . stopped before it sends".to_owned());
                            self.world.sleep(self.slot, STOP_MS).await;
                        }
                        return Ok(begun);
                    }
                }
            }
        })
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let unsynced = self.unsynced().take();
            if let Some(intent) = unsynced {
                self.store.begin(&intent).await?;
            }
            self.write().await;
            self.store.append(id, &self.replaced(change)).await
        })
    }

    fn get<'a>(&'a self, submission: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>> {
        Box::pin(async move {
            let mut found = self.store.get(submission).await?;
            found.iter_mut().for_each(|intent| self.show(intent));
            Ok(found)
        })
    }

    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>> {
        Box::pin(async move {
            self.write().await;
            let mut claimed = self.store.claim(id).await?;
            if claimed.as_ref().is_some_and(|intent| self.takes_for_gone(intent)) {
                self.store.take_over(id);
                claimed = self.store.claim(id).await?;
            }
            claimed.iter_mut().for_each(|intent| self.show(intent));
            let is_own_open = claimed
                .as_ref()
                .is_some_and(|it| it.owner == Owner::This && it.phase == Phase::Open);
            if is_own_open && self.has(Defect::ExpiryFromLastAttempt) {
                let record = r#"{"v":1,"event":"sending"}"#.to_owned();
                self.store.append(id, &Change { record, ..Change::default() }).await?;
            }
            if is_own_open && self.is_impatient && self.has(Defect::TakeoverBeginsAnew) {
                let released = Change {
                    record: r#"{"v":1,"event":"released","reason":"not_sent"}"#.to_owned(),
                    phase: Some(Phase::Released),
                    ..Change::default()
                };
                self.store.append(id, &released).await?;
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

    fn owner_timeout(&self) -> Duration {
        match self.has(Defect::StopNotNoticed) {
            true => Duration::ZERO,
            false => OWNER_TIMEOUT,
        }
    }
}

impl fmt::Debug for ProcessStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessStore").finish_non_exhaustive()
    }
}
