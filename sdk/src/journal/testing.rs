//! The checks that every store passes: random operations, compared with those of a [`MemoryStore`].

#![expect(clippy::expect_used, reason = "these are tests, which other crates run on their stores")]

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::join_all;

use super::MemoryStore;
use super::store::{
    Begun, Change, Hold, IntentId, ListFilter, NewIntent, Phase, Reservation, Store, StoreError,
    StoredIntent, SubmissionKey,
};
use crate::types::Usd;

const NAMESPACES: [&str; 2] = ["shop", "shop-test"];
const ACCOUNTS: [&str; 2] = ["", "tenant \"1\"\n/é"];
const SUBMISSIONS: [&str; 4] = ["order-1", "order-2", "order 3", "4"];
const BUDGETS: [&str; 2] = ["images-2026-11", "video"];
const RESOURCES: [&str; 3] = ["job_1", "job_2", "run \"3\""];
const PHASES: [Option<Phase>; 6] = [
    None,
    Some(Phase::Open),
    Some(Phase::Accepted),
    Some(Phase::Ended),
    Some(Phase::Acknowledged),
    Some(Phase::Released),
];
const LIMIT: Usd = Usd::from_micros(2_000);
const OPERATIONS: usize = 250;

/// Opens and closes stores on the same data.
pub trait StoreSource {
    /// The store.
    type Store: Store;

    /// Opens a store that is another owner than all before. The first call finds no intents.
    fn open(&self) -> impl Future<Output = Self::Store>;

    /// Closes a store, and returns when other stores see that this owner is gone.
    fn close(&self, store: Self::Store) -> impl Future<Output = ()>;
}

/// Runs random operations from two handles, and compares everything that can be seen with what a store in
/// memory shows.
///
/// # Panics
///
/// Panics if the stores differ.
pub async fn run_random_operations(source: &impl StoreSource, seed: u64) {
    // Times have an order and nothing else in common with those of the store.
    let ticks = AtomicU64::new(0);
    let clock = move || {
        let tick = ticks.fetch_add(1, Ordering::Relaxed);
        SystemTime::UNIX_EPOCH + Duration::from_secs(tick)
    };
    let model = MemoryStore::with_clock(Arc::new(clock));
    let mut run = Run {
        random: fastrand::Rng::with_seed(seed),
        pairs: [
            Pair { store: source.open().await, model: model.handle() },
            Pair { store: source.open().await, model },
        ],
        begun: Vec::new(),
        begun_at: HashMap::new(),
    };
    for _ in 0..OPERATIONS {
        run.step(source).await;
        run.check_budgets().await;
    }
    run.list_all().await;
    for pair in run.pairs {
        source.close(pair.store).await;
    }
}

/// Begins intents, each thrice, and adds records from three handles at the same time.
///
/// # Panics
///
/// Panics if a budget is exceeded, if not exactly one intent of a generation is written, or if a record is
/// lost.
pub async fn run_concurrent_calls(source: &impl StoreSource) {
    let handles = [source.open().await, source.open().await, source.open().await];
    let intents: Vec<_> = (0..40).map(concurrent_intent).collect();
    let begins = intents.iter().flat_map(|intent| handles.iter().map(|it| it.begin(intent)));
    let answers: Vec<_> = ok(join_all(begins).await.into_iter().collect());
    let answers = answers.chunks(handles.len());
    assert!(answers.clone().all(|same| same.iter().all(|it| Some(it) == same.first())));
    let begun: Vec<_> = answers.filter_map(<[_]>::first).collect();
    let count = |of: fn(&Begun) -> bool| begun.iter().filter(|begun| of(begun)).count();
    // The first 20 compete for the budget; the other 20 are of one submission, of which one is written.
    let limit = usize::try_from(LIMIT.as_micros() / 300).unwrap_or_default();
    assert_eq!(count(|it| matches!(it, Begun::OverBudget(_))), 20 - limit);
    assert_eq!(count(|it| *it == Begun::GenerationTaken), 19);
    let listed = async |handle: &_| {
        let filter = ListFilter { limit: 100, ..ListFilter::default() };
        ok(Store::list(handle, &filter).await).intents
    };
    for handle in &handles {
        let totals = ok(handle.budget(NAMESPACES[0], BUDGETS[0]).await);
        assert_eq!(totals.hold.reserved, Usd::from_micros(1_800));
        // Those whose generation was taken reserve nothing.
        let totals = ok(handle.budget(NAMESPACES[0], BUDGETS[1]).await);
        assert_eq!(totals.hold.reserved, Usd::from_micros(300));
        assert_eq!(listed(handle).await.len(), limit + 1);
    }

    // Each costs more than was reserved for it. Each handle says so, and that it has ended.
    let hold = Hold { captured: Usd::from_micros(600), ..Hold::default() };
    let change = |phase, record: String| Change {
        record,
        phase: Some(phase),
        hold: Some(hold),
        ..Change::default()
    };
    let [first, ..] = &handles;
    let written = listed(first).await;
    for phase in [Phase::Accepted, Phase::Ended] {
        let changes: Vec<_> = (0..handles.len())
            .map(|number| change(phase, format!("{{\"{phase:?}\":{number}}}")))
            .collect();
        let appends = written.iter().flat_map(|intent| {
            handles.iter().zip(&changes).map(|(handle, change)| handle.append(&intent.id, change))
        });
        ok(join_all(appends).await.into_iter().collect::<Result<Vec<_>, _>>());
    }
    for intent in listed(first).await {
        let records: HashSet<_> = intent.records.into_iter().map(|it| it.record).collect();
        assert_eq!(records.len(), 2 * handles.len(), "{records:?}");
    }
    let totals = ok(first.budget(NAMESPACES[0], BUDGETS[0]).await);
    assert_eq!(totals.hold, Hold { captured: Usd::from_micros(3_600), ..Hold::default() });
    for handle in handles {
        source.close(handle).await;
    }
}

fn concurrent_intent(number: u32) -> NewIntent {
    let (submission_id, budget) = match number {
        0..20 => (format!("order-{number}"), BUDGETS[0]),
        _ => ("message".to_owned(), BUDGETS[1]),
    };
    let amount = Usd::from_micros(300);
    let reservation = Some(Reservation { budget: budget.to_owned(), amount, limit: LIMIT });
    NewIntent { reservation, ..intent(number, &submission_id) }
}

/// Returns the first intent of a submission, with a number as its id.
#[must_use]
pub fn intent(number: u32, submission_id: &str) -> NewIntent {
    NewIntent {
        id: IntentId::new(format!("{number:032x}")),
        namespace: NAMESPACES[0].to_owned(),
        account: String::new(),
        submission_id: Some(submission_id.to_owned()),
        generation: 1,
        is_permanent: false,
        facts: "{}".to_owned(),
        reservation: None,
    }
}

fn intent_id(number: usize) -> IntentId {
    IntentId::new(format!("{number:032x}"))
}

fn ok<T>(result: Result<T, impl Debug>) -> T {
    result.expect("the store failed")
}

/// The same owner in the store and in its model.
struct Pair<S> {
    store: S,
    model: MemoryStore,
}

struct Run<S> {
    random: fastrand::Rng,
    pairs: [Pair<S>; 2],
    /// The intents that were to be begun.
    begun: Vec<NewIntent>,
    /// The times of the store at which they were begun.
    begun_at: HashMap<IntentId, SystemTime>,
}

impl<S: Store> Run<S> {
    async fn step(&mut self, source: &impl StoreSource<Store = S>) {
        match self.random.u32(..100) {
            0..25 => self.begin().await,
            25..31 => self.begin_again().await,
            31..62 => self.append().await,
            62..72 => self.claim().await,
            72..84 => self.get().await,
            84..92 => self.list().await,
            92..95 => self.purge().await,
            95..98 => self.replace_owner(source).await,
            _ => drop(self.list_all().await),
        }
    }

    fn choose<T: Clone>(&mut self, of: &[T]) -> T {
        let index = self.random.usize(..of.len());
        of.get(index).expect("there is something to choose").clone()
    }

    /// Chooses the number of a pair.
    fn any(&mut self) -> usize {
        self.random.usize(..2)
    }

    fn pair(&self, number: usize) -> &Pair<S> {
        self.pairs.get(number).expect("there are two")
    }

    /// Chooses an intent that may have been begun, or now and then one that was not.
    fn any_id(&mut self) -> IntentId {
        match self.random.usize(..20) {
            0 => intent_id(1_000_000),
            _ => intent_id(self.random.usize(1..=self.begun.len().max(1))),
        }
    }

    fn submission(&mut self) -> SubmissionKey {
        SubmissionKey {
            namespace: self.choose(&NAMESPACES).to_owned(),
            account: self.choose(&ACCOUNTS).to_owned(),
            submission_id: self.choose(&SUBMISSIONS).to_owned(),
        }
    }

    fn amount(&mut self) -> Usd {
        Usd::from_micros(self.random.i64(0..300))
    }

    async fn new_intent(&mut self) -> NewIntent {
        let submission = self.submission();
        let newest = ok(self.pair(0).model.get(&submission).await).pop();
        let generation = match self.random.bool() || self.random.bool() {
            true => newest.map_or(1, |it| it.generation + 1),
            false => self.random.u32(1..4),
        };
        let reservation = self.random.bool().then(|| Reservation {
            budget: self.choose(&BUDGETS).to_owned(),
            amount: self.amount(),
            limit: LIMIT,
        });
        let is_named = self.random.u32(..5) > 0;
        let number = self.begun.len() + 1;
        NewIntent {
            id: intent_id(number),
            namespace: submission.namespace,
            account: submission.account,
            submission_id: is_named.then_some(submission.submission_id),
            generation: if is_named { generation } else { 1 },
            is_permanent: self.random.u32(..5) == 0,
            facts: format!("{{\"number\":{number},\"text\":\"\\n é\"}}"),
            reservation,
        }
    }

    async fn begin(&mut self) {
        let new = self.new_intent().await;
        self.begun.push(new.clone());
        let number = self.any();
        if self.random.u32(..4) == 0 {
            // The answer is lost, whether the intent has been written or not.
            let _ = self.pair(number).store.begin(&new).now_or_never();
        }
        self.begin_both(number, &new).await;
    }

    /// Begins an intent that may be there, or may have been refused or removed.
    async fn begin_again(&mut self) {
        let Some(new) = self.random.choice(&self.begun).cloned() else { return };
        let number = self.any();
        self.begin_both(number, &new).await;
    }

    async fn begin_both(&mut self, number: usize, new: &NewIntent) {
        let Pair { store, model } = self.pair(number);
        let (begun, expected) = (ok(store.begin(new).await), ok(model.begin(new).await));
        match (begun, expected) {
            (Begun::Written(at), Begun::Written(_)) => {
                assert_eq!(*self.begun_at.entry(new.id.clone()).or_insert(at), at);
            }
            (begun, expected) => assert_eq!(begun, expected, "{new:?}"),
        }
    }

    async fn append(&mut self) {
        let hold = self.random.bool().then(|| Hold {
            reserved: self.amount(),
            captured: self.amount(),
            undecided: self.amount(),
        });
        let change = Change {
            record: format!("{{\"number\":{}}}", self.random.u32(..)),
            phase: self.choose(&PHASES),
            hold,
            stops_budget: self.random.u32(..100) == 0,
            resource: self.random.bool().then(|| self.choose(&RESOURCES).to_owned()),
        };
        let (number, id) = (self.any(), self.any_id());
        let Pair { store, model } = self.pair(number);
        let kind = |error: &StoreError| (error.is_not_owner(), error.is_not_found());
        let appended = store.append(&id, &change).await.map_err(|error| kind(&error));
        let expected = model.append(&id, &change).await.map_err(|error| kind(&error));
        assert_eq!(appended, expected, "{id} {change:?}");
        assert_ne!(appended, Err((false, false)));
    }

    async fn claim(&mut self) {
        let (number, id) = (self.any(), self.any_id());
        let Pair { store, model } = self.pair(number);
        let (claimed, expected) = (ok(store.claim(&id).await), ok(model.claim(&id).await));
        self.compare(claimed.as_slice(), expected.as_slice());
    }

    async fn get(&mut self) {
        let (number, submission) = (self.any(), self.submission());
        let Pair { store, model } = self.pair(number);
        let (found, expected) =
            (ok(store.get(&submission).await), ok(model.get(&submission).await));
        self.compare(&found, &expected);
    }

    async fn list(&mut self) {
        let filter = ListFilter {
            namespace: self.random.bool().then(|| self.choose(&NAMESPACES).to_owned()),
            include_closed: self.random.bool(),
            resource: self.random.bool().then(|| self.choose(&RESOURCES).to_owned()),
            after: None,
            limit: self.random.usize(1..6),
        };
        self.list_pages(filter).await;
    }

    /// Lists all intents, as they are in the store and in the model.
    async fn list_all(&mut self) -> Vec<(StoredIntent, StoredIntent)> {
        self.list_pages(ListFilter { include_closed: true, limit: 7, ..ListFilter::default() })
            .await
    }

    async fn list_pages(&mut self, filter: ListFilter) -> Vec<(StoredIntent, StoredIntent)> {
        let number = self.any();
        let Pair { store, model } = self.pair(number);
        let (mut of_store, mut of_model) = (filter.clone(), filter);
        let mut listed = Vec::new();
        loop {
            let (page, expected) =
                (ok(store.list(&of_store).await), ok(model.list(&of_model).await));
            self.compare(&page.intents, &expected.intents);
            assert_eq!(page.next.is_some(), expected.next.is_some());
            listed.extend(page.intents.into_iter().zip(expected.intents));
            (of_store.after, of_model.after) = (page.next, expected.next);
            if of_store.after.is_none() {
                return listed;
            }
        }
    }

    async fn check_budgets(&mut self) {
        let number = self.any();
        let Pair { store, model } = self.pair(number);
        for namespace in NAMESPACES {
            for name in BUDGETS {
                let expected = ok(model.budget(namespace, name).await);
                assert_eq!(ok(store.budget(namespace, name).await), expected);
            }
        }
    }

    async fn purge(&mut self) {
        let all = self.list_all().await;
        let Some((intent, expected)) = self.random.choice(&all) else { return };
        let older_than = last_at(intent);
        if all.iter().filter(|(other, _)| last_at(other) == older_than).count() > 1 {
            // The times of the model have another order.
            return;
        }
        let older_in_model = last_at(expected);
        let number = self.any();
        let Pair { store, model } = self.pair(number);
        let (purged, expected) =
            (ok(store.purge(older_than).await), ok(model.purge(older_in_model).await));
        assert_eq!(purged, expected);
        let ids: Vec<_> = self.list_all().await.into_iter().map(|(intent, _)| intent.id).collect();
        self.begun_at.retain(|id, _| ids.contains(id));
    }

    async fn replace_owner(&mut self, source: &impl StoreSource<Store = S>) {
        let number = self.any();
        let pair = self.pairs.get_mut(number).expect("there are two");
        let model = pair.model.handle();
        let new = Pair { store: source.open().await, model };
        let old = std::mem::replace(pair, new);
        source.close(old.store).await;
    }

    fn compare(&self, stored: &[StoredIntent], expected: &[StoredIntent]) {
        let all = |intents: &[StoredIntent]| -> Vec<_> {
            intents.iter().cloned().map(without_times).collect()
        };
        assert_eq!(all(stored), all(expected));
        for intent in stored {
            assert_eq!(self.begun_at.get(&intent.id), Some(&intent.begun_at));
            assert!(intent.read_at >= last_at(intent), "{intent:?}");
        }
    }
}

fn last_at(intent: &StoredIntent) -> SystemTime {
    intent.records.last().map_or(intent.begun_at, |it| it.at)
}

fn without_times(mut intent: StoredIntent) -> StoredIntent {
    (intent.begun_at, intent.read_at) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH);
    intent.records.iter_mut().for_each(|record| record.at = SystemTime::UNIX_EPOCH);
    intent
}
