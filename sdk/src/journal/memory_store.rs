//! A store in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;

use super::lock;
use super::store::{
    Begun, BudgetTotals, Change, Hold, IntentId, IntentPage, ListFilter, NewIntent, Owner,
    OwnerCalls, Phase, Store, StoreError, StoreFuture, StoredIntent, StoredRecord, SubmissionKey,
    found,
};
use crate::call::clock;
use crate::debug_fields::debug_fields;

const MAX_PAUSE: Duration = Duration::from_secs(1);

type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// A [`Store`] in memory, for tests: it protects against nothing that ends the process.
///
/// Its clones are the same owner. [`handle`](Self::handle) creates another one, which is gone when
/// its last clone is dropped.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<SharedIntents>,
    owner: Arc<()>,
    calls: OwnerCalls,
}

struct SharedIntents {
    state: Mutex<MemoryIntents>,
    changed: Notify,
    clock: Clock,
}

#[derive(Default)]
struct MemoryIntents {
    /// The intents by their position in lists.
    intents: BTreeMap<u64, MemoryIntent>,
    ids: HashMap<IntentId, u64>,
    /// The positions of the intents of each submission, by ascending generation.
    submissions: HashMap<SubmissionKey, Vec<u64>>,
    /// The positions of the intents that made something, by its id.
    resources: HashMap<String, BTreeSet<u64>>,
    budgets: HashMap<(String, String), BudgetTotals>,
    last_position: u64,
}

struct MemoryIntent {
    begun: NewIntent,
    begun_at: SystemTime,
    owner: Weak<()>,
    records: Vec<StoredRecord>,
    phase: Phase,
    was_accepted: bool,
    resource: Option<String>,
    hold: Hold,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(clock::wall))
    }

    /// Creates an empty store with a clock of its own.
    #[doc(hidden)]
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Fn() -> SystemTime + Send + Sync>) -> Self {
        let shared = SharedIntents { state: Mutex::default(), changed: Notify::new(), clock };
        Self { shared: Arc::new(shared), owner: Arc::default(), calls: OwnerCalls::default() }
    }

    /// Returns a store of the same data that is another owner, like that of another process.
    #[must_use]
    pub fn handle(&self) -> Self {
        let shared = Arc::clone(&self.shared);
        Self { shared, owner: Arc::default(), calls: OwnerCalls::default() }
    }

    /// Takes an intent over although its owner may be running, as if it were taken for a dead one.
    #[doc(hidden)]
    pub fn take_over(&self, id: &IntentId) {
        let state = &mut *self.state();
        let intent = state.ids.get(id).and_then(|position| state.intents.get_mut(position));
        if let Some(intent) = intent {
            intent.owner = Arc::downgrade(&self.owner);
        }
    }

    /// Ends this owner as the end of its process does, also if a clone is left somewhere.
    #[doc(hidden)]
    pub fn end_owner(&self) {
        let state = &mut *self.state();
        for intent in state.intents.values_mut().filter(|intent| self.owns(intent)) {
            intent.owner = Weak::new();
        }
    }

    fn state(&self) -> MutexGuard<'_, MemoryIntents> {
        lock(&self.shared.state)
    }

    /// Returns the state, and tells those that wait for a change.
    fn state_to_change(&self) -> MutexGuard<'_, MemoryIntents> {
        let state = self.state();
        self.shared.changed.notify_waiters();
        state
    }

    fn now(&self) -> SystemTime {
        (self.shared.clock)()
    }

    fn owns(&self, intent: &MemoryIntent) -> bool {
        std::ptr::eq(intent.owner.as_ptr(), Arc::as_ptr(&self.owner))
    }

    fn stored(&self, intent: &MemoryIntent) -> StoredIntent {
        let owner = match intent.owner.strong_count() {
            _ if self.owns(intent) => Owner::This,
            0 => Owner::Gone,
            _ => Owner::Other,
        };
        let begun = intent.begun.clone();
        StoredIntent {
            id: begun.id,
            namespace: begun.namespace,
            account: begun.account,
            submission_id: begun.submission_id,
            generation: begun.generation,
            facts: begun.facts,
            records: intent.records.clone(),
            begun_at: intent.begun_at,
            read_at: self.now(),
            phase: intent.phase,
            owner,
            budget: begun.reservation.map(|reservation| reservation.budget),
            hold: intent.hold,
        }
    }
}

impl MemoryIntents {
    fn get(&self, id: &IntentId) -> Option<&MemoryIntent> {
        self.intents.get(self.ids.get(id)?)
    }

    fn of_submission(&self, submission: &SubmissionKey) -> impl Iterator<Item = &MemoryIntent> {
        let positions = self.submissions.get(submission).into_iter().flatten();
        positions.filter_map(|position| self.intents.get(position))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

debug_fields! { [] MemoryStore as "MemoryStore" {  } }

// Each future does its work when it is polled first.
impl Store for MemoryStore {
    fn begin<'a>(&'a self, new: &'a NewIntent) -> StoreFuture<'a, Begun> {
        Box::pin(async {
            let mut state = self.state_to_change();
            if let Some(intent) = state.get(&new.id) {
                return Ok(Begun::Written(intent.begun_at));
            }
            let submission = new.submission();
            if let Some(submission) = &submission
                && let Some(newest) = state.of_submission(submission).last()
                && newest.begun.generation >= new.generation
            {
                return Ok(Begun::GenerationTaken);
            }
            let hold = Hold::of(new.reservation.as_ref());
            if let Some(reservation) = &new.reservation {
                let name = (new.namespace.clone(), reservation.budget.clone());
                let totals = state.budgets.entry(name).or_default();
                if !totals.fits(reservation) {
                    return Ok(Begun::OverBudget(*totals));
                }
                totals.hold.replace(Hold::default(), hold);
            }
            let begun_at = self.now();
            let intent = MemoryIntent {
                begun: new.clone(),
                begun_at,
                owner: Arc::downgrade(&self.owner),
                records: Vec::new(),
                phase: Phase::Open,
                was_accepted: false,
                resource: None,
                hold,
            };
            state.last_position += 1;
            let position = state.last_position;
            state.intents.insert(position, intent);
            state.ids.insert(new.id.clone(), position);
            if let Some(submission) = submission {
                state.submissions.entry(submission).or_default().push(position);
            }
            Ok(Begun::Written(begun_at))
        })
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        Box::pin(async {
            let state = &mut *self.state_to_change();
            let position = *state.ids.get(id).ok_or_else(StoreError::not_found)?;
            let intent = state.intents.get_mut(&position).ok_or_else(StoreError::not_found)?;
            if !change.is_allowed(intent.phase, self.owns(intent)) {
                return Err(StoreError::not_owner());
            }
            let before = intent.hold;
            intent.hold = change.hold_after(intent.phase, before);
            intent.records.push(StoredRecord { record: change.record.clone(), at: self.now() });
            intent.phase = intent.phase.max(change.phase.unwrap_or(Phase::Open));
            intent.was_accepted |= change.phase == Some(Phase::Accepted);
            if let (None, Some(resource)) = (&intent.resource, &change.resource) {
                intent.resource = Some(resource.clone());
                state.resources.entry(resource.clone()).or_default().insert(position);
            }
            if let Some(reservation) = &intent.begun.reservation {
                let name = (intent.begun.namespace.clone(), reservation.budget.clone());
                let totals = state.budgets.entry(name).or_default();
                totals.hold.replace(before, intent.hold);
                totals.is_stopped |= change.stops_budget;
            }
            Ok(())
        })
    }

    fn get<'a>(&'a self, submission: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>> {
        Box::pin(async {
            let state = self.state();
            let intents = state.of_submission(submission);
            let intents = intents.map(|it| (it, it.phase, it.was_accepted)).collect();
            Ok(found(intents).into_iter().map(|it| self.stored(it)).collect())
        })
    }

    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>> {
        Box::pin(async {
            let state = &mut *self.state_to_change();
            let intent = state.ids.get(id).and_then(|position| state.intents.get_mut(position));
            Ok(intent.map(|intent| {
                if intent.owner.strong_count() == 0 {
                    intent.owner = Arc::downgrade(&self.owner);
                }
                self.stored(intent)
            }))
        })
    }

    fn list<'a>(&'a self, filter: &'a ListFilter) -> StoreFuture<'a, IntentPage> {
        Box::pin(async {
            let after = filter.position()?;
            let state = self.state();
            let positions: Box<dyn Iterator<Item = &u64> + Send> = match &filter.resource {
                Some(id) => {
                    let of_resource = state.resources.get(id).into_iter();
                    Box::new(of_resource.flat_map(|positions| positions.range(after + 1..)))
                }
                None => Box::new(state.intents.range(after + 1..).map(|(position, _)| position)),
            };
            let mut matching = positions
                .filter_map(|position| Some((*position, state.intents.get(position)?)))
                .filter(|(_, intent)| filter.includes(&intent.begun.namespace, intent.phase));
            let page: Vec<_> = matching.by_ref().take(filter.limit).collect();
            let last = page.last().map_or(after, |(position, _)| *position);
            Ok(IntentPage {
                intents: page.iter().map(|(_, intent)| self.stored(intent)).collect(),
                next: matching.next().map(|_| last.to_string()),
            })
        })
    }

    fn budget<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, BudgetTotals> {
        Box::pin(async {
            let name = (namespace.to_owned(), name.to_owned());
            Ok(self.state().budgets.get(&name).copied().unwrap_or_default())
        })
    }

    fn purge(&self, older_than: SystemTime) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let state = &mut *self.state_to_change();
            let count = state.intents.len();
            state.intents.retain(|_, intent| {
                let last_at = intent.records.last().map_or(intent.begun_at, |it| it.at);
                let is_kept = intent.begun.is_permanent || intent.phase < Phase::Ended;
                is_kept || last_at >= older_than
            });
            let intents = &state.intents;
            state.ids.retain(|_, position| intents.contains_key(position));
            state.submissions.retain(|_, positions| {
                positions.retain(|position| intents.contains_key(position));
                !positions.is_empty()
            });
            state.resources.retain(|_, positions| {
                positions.retain(|position| intents.contains_key(position));
                !positions.is_empty()
            });
            Ok((count - state.intents.len()) as u64)
        })
    }

    fn changed(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            let notified = self.shared.changed.notified();
            // The pause bounds the wait for a change that was made before this future was polled, or that
            // this one is told of a moment too early.
            let _ = clock::before(clock::after(MAX_PAUSE), notified).await;
            Ok(())
        })
    }

    fn owner_calls(&self) -> OwnerCalls {
        self.calls.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::testing::{StoreSource, run_concurrent_calls};

    impl StoreSource for MemoryStore {
        type Store = Self;

        async fn open(&self) -> Self {
            self.handle()
        }

        async fn close(&self, store: Self) {
            drop(store);
        }
    }

    #[tokio::test]
    async fn decides_between_concurrent_calls() {
        run_concurrent_calls(&MemoryStore::new()).await;
    }
}
