//! The checks that every store passes: random operations against a naive model.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "these are tests, which other crates run on their stores"
)]

mod model;

use std::fmt::Debug;
use std::time::SystemTime;

use futures_util::FutureExt;
use futures_util::future::join_all;

use self::model::{ModelIntent, ModelStore};
use super::store::{
    Begun, Change, Hold, IntentId, ListFilter, NewIntent, Owner, Phase, Reservation, Store,
    StoredIntent, SubmissionKey,
};
use crate::types::Usd;

const NAMESPACES: [&str; 2] = ["shop", "shop-test"];
const ACCOUNTS: [&str; 2] = ["", "tenant \"1\"\n/é"];
const SUBMISSIONS: [&str; 4] = ["order-1", "order-2", "order 3", "4"];
const BUDGETS: [&str; 2] = ["images-2026-11", "video"];
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

/// Runs random operations from two handles, and compares everything that can be seen with a model.
///
/// # Panics
///
/// Panics if the store differs from the model.
pub async fn run_random_operations(source: &impl StoreSource, seed: u64) {
    let mut run = Run {
        random: fastrand::Rng::with_seed(seed),
        handles: [source.open().await, source.open().await],
        owners: [1, 2],
        last_owner: 2,
        model: ModelStore::default(),
        begun: 0,
    };
    for _ in 0..OPERATIONS {
        run.step(source).await;
        run.check_budgets().await;
    }
    run.check_all().await;
    let [first, second] = run.handles;
    source.close(first).await;
    source.close(second).await;
}

/// Begins intents from two handles at the same time.
///
/// # Panics
///
/// Panics if a budget is exceeded, or if not exactly one intent of a generation is written.
pub async fn run_concurrent_begins(source: &impl StoreSource) {
    let handles = [source.open().await, source.open().await];
    let intents: Vec<_> = (0..40).map(concurrent_intent).collect();
    let begins =
        intents.iter().zip(handles.iter().cycle()).map(|(intent, handle)| handle.begin(intent));
    let begun: Vec<_> = ok(join_all(begins).await.into_iter().collect());
    let count = |of: fn(&Begun) -> bool| begun.iter().filter(|begun| of(begun)).count();
    // Of the last 20, all of one submission, one is written.
    let limit = usize::try_from(LIMIT.as_micros() / 300).unwrap_or_default();
    assert_eq!(count(|it| matches!(it, Begun::OverBudget(_))), 20 - limit);
    assert_eq!(count(|it| *it == Begun::GenerationTaken), 19);
    for handle in &handles {
        let totals = ok(handle.budget(NAMESPACES[0], BUDGETS[0]).await);
        assert_eq!(totals.hold.reserved, Usd::from_micros(1_800));
        let filter = ListFilter { limit: 100, ..ListFilter::default() };
        assert_eq!(ok(handle.list(&filter).await).intents.len(), limit + 1);
    }
    let [first, second] = handles;
    source.close(first).await;
    source.close(second).await;
}

fn concurrent_intent(number: usize) -> NewIntent {
    let has_budget = number < 20;
    let submission_id = if has_budget { format!("order-{number}") } else { "message".to_owned() };
    NewIntent {
        id: intent_id(number),
        namespace: NAMESPACES[0].to_owned(),
        account: String::new(),
        submission_id: Some(submission_id),
        generation: 1,
        is_permanent: false,
        facts: "{}".to_owned(),
        reservation: has_budget.then(|| Reservation {
            budget: BUDGETS[0].to_owned(),
            amount: Usd::from_micros(300),
            limit: LIMIT,
        }),
    }
}

fn intent_id(number: usize) -> IntentId {
    IntentId::new(format!("{number:032x}"))
}

fn ok<T>(result: Result<T, impl Debug>) -> T {
    result.expect("the store failed")
}

struct Run<S> {
    random: fastrand::Rng,
    handles: [S; 2],
    owners: [u32; 2],
    last_owner: u32,
    model: ModelStore,
    begun: usize,
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
            95..98 => self.replace_handle(source).await,
            _ => self.check_all().await,
        }
    }

    fn choose<T: Clone>(&mut self, of: &[T]) -> T {
        let index = self.random.usize(..of.len());
        of.get(index).expect("there is something to choose").clone()
    }

    /// Chooses the place of an intent of the model.
    fn any_intent(&mut self) -> Option<usize> {
        let count = self.model.intents.len();
        (count > 0).then(|| self.random.usize(..count))
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

    fn new_intent(&mut self) -> NewIntent {
        let submission = self.submission();
        let generation = match self.random.bool() || self.random.bool() {
            true => self.model.newest_generation(&submission) + 1,
            false => self.random.u32(1..4),
        };
        let reservation = self.random.bool().then(|| Reservation {
            budget: self.choose(&BUDGETS).to_owned(),
            amount: self.amount(),
            limit: LIMIT,
        });
        self.begun += 1;
        let is_named = self.random.u32(..5) > 0;
        NewIntent {
            id: intent_id(self.begun),
            namespace: submission.namespace,
            account: submission.account,
            submission_id: is_named.then_some(submission.submission_id),
            generation: if is_named { generation } else { 1 },
            is_permanent: self.random.u32(..5) == 0,
            facts: format!("{{\"number\":{},\"text\":\"\\n é\"}}", self.begun),
            reservation,
        }
    }

    async fn begin(&mut self) {
        let new = self.new_intent();
        let handle = self.random.usize(..2);
        if self.random.u32(..4) == 0 {
            // The answer is lost, whether the intent has been written or not.
            let _ = self.handle(handle).begin(&new).now_or_never();
        }
        let begun = ok(self.handle(handle).begin(&new).await);
        let at = match begun {
            Begun::Written(at) => at,
            _ => SystemTime::UNIX_EPOCH,
        };
        let owner = self.owner(handle);
        assert_eq!(begun, self.model.begin(&new, owner, at), "{new:?}");
    }

    async fn begin_again(&mut self) {
        let Some(index) = self.any_intent() else { return };
        let intent = self.model_intent(index).clone();
        let handle = self.random.usize(..2);
        let begun = ok(self.handle(handle).begin(&intent.new).await);
        assert_eq!(begun, Begun::Written(intent.begun_at));
    }

    async fn append(&mut self) {
        const PHASES: [Option<Phase>; 6] = [
            None,
            Some(Phase::Open),
            Some(Phase::Accepted),
            Some(Phase::Ended),
            Some(Phase::Acknowledged),
            Some(Phase::Released),
        ];
        let handle = self.random.usize(..2);
        let hold = self.random.bool().then(|| Hold {
            reserved: self.amount(),
            captured: self.amount(),
            undecided: self.amount(),
        });
        let number = self.random.u32(..);
        let change = Change {
            record: format!("{{\"number\":{number}}}"),
            phase: self.choose(&PHASES),
            hold,
            stops_budget: self.random.u32(..100) == 0,
        };
        let Some(index) = self.any_intent().filter(|_| !number.is_multiple_of(20)) else {
            let unknown = intent_id(1_000_000);
            let result = self.handle(handle).append(&unknown, &change).await;
            assert!(result.is_err_and(|error| error.is_not_found()));
            return;
        };
        let intent = self.model_intent(index).clone();
        let result = self.handle(handle).append(&intent.new.id, &change).await;
        let is_owner = intent.owner == self.owner(handle);
        let is_allowed = match change.phase {
            Some(Phase::Accepted) => true,
            Some(Phase::Ended | Phase::Acknowledged) => is_owner || intent.phase != Phase::Open,
            _ => is_owner && intent.phase == Phase::Open,
        };
        if !is_allowed {
            assert!(result.is_err_and(|error| error.is_not_owner()), "{intent:?}");
            return;
        }
        ok(result);
        let has_ended = matches!(intent.phase, Phase::Ended | Phase::Acknowledged);
        let hold = match change.hold {
            Some(hold) if change.phase != Some(Phase::Accepted) || !has_ended => hold,
            _ => intent.hold,
        };
        self.model.change_budget(&intent.new, intent.hold, hold);
        if let Some(totals) = self.model.budget(&intent.new) {
            totals.is_stopped |= change.stops_budget;
        }
        let appended = self.model.intents.get_mut(index).expect("it exists");
        appended.records.push(change.record);
        appended.last_at = None;
        appended.hold = hold;
        appended.was_accepted |= change.phase == Some(Phase::Accepted);
        if let Some(phase) = change.phase
            && phase > intent.phase
        {
            appended.phase = phase;
        }
    }

    async fn claim(&mut self) {
        let handle = self.random.usize(..2);
        let Some(index) = self.any_intent() else {
            let claimed = self.handle(handle).claim(&intent_id(1_000_000)).await;
            assert_eq!(ok(claimed), None);
            return;
        };
        let claimant = self.owner(handle);
        let intent = self.model_intent(index).clone();
        if !self.owners.contains(&intent.owner) {
            let claimed = self.model.intents.get_mut(index).expect("it exists");
            claimed.owner = claimant;
        }
        let claimed = ok(self.handle(handle).claim(&intent.new.id).await);
        self.compare(handle, &[index], claimed.into_iter().collect());
    }

    async fn get(&mut self) {
        let submission = self.submission();
        let handle = self.random.usize(..2);
        let found = ok(self.handle(handle).get(&submission).await);
        let newest = self.model.newest_generation(&submission);
        let newest_executed = self.model.newest_executed_generation(&submission);
        let mut expected: Vec<_> = (0..self.model.intents.len())
            .filter(|index| {
                let intent = self.model_intent(*index);
                let is_closed = matches!(intent.phase, Phase::Acknowledged | Phase::Released);
                let is_newest = [newest, newest_executed].contains(&intent.new.generation);
                intent.is_of(&submission) && (!is_closed || is_newest)
            })
            .collect();
        expected.sort_by_key(|index| self.model_intent(*index).new.generation);
        self.compare(handle, &expected, found);
    }

    async fn list(&mut self) {
        let namespace = self.random.bool().then(|| self.choose(&NAMESPACES).to_owned());
        let filter = ListFilter {
            namespace,
            include_closed: self.random.bool(),
            after: None,
            limit: self.random.usize(1..6),
        };
        let handle = self.random.usize(..2);
        self.check_list(handle, filter).await;
    }

    async fn check_list(&mut self, handle: usize, mut filter: ListFilter) {
        let expected: Vec<_> = (0..self.model.intents.len())
            .filter(|index| {
                let intent = self.model_intent(*index);
                let is_closed = matches!(intent.phase, Phase::Acknowledged | Phase::Released);
                let namespace = filter.namespace.as_ref();
                namespace.is_none_or(|it| *it == intent.new.namespace)
                    && (filter.include_closed || !is_closed)
            })
            .collect();
        let mut pages = expected.chunks(filter.limit).peekable();
        loop {
            let page = ok(self.handle(handle).list(&filter).await);
            self.compare(handle, pages.next().unwrap_or_default(), page.intents);
            assert_eq!(page.next.is_some(), pages.peek().is_some());
            filter.after = page.next;
            if filter.after.is_none() {
                return;
            }
        }
    }

    /// Compares all intents, and reads the times of their last records.
    async fn check_all(&mut self) {
        let handle = self.random.usize(..2);
        let filter = ListFilter { include_closed: true, limit: 7, ..ListFilter::default() };
        self.check_list(handle, filter).await;
    }

    async fn check_budgets(&mut self) {
        let handle = self.random.usize(..2);
        for namespace in NAMESPACES {
            for name in BUDGETS {
                let totals = ok(self.handle(handle).budget(namespace, name).await);
                let key = (namespace.to_owned(), name.to_owned());
                let expected = self.model.budgets.get(&key).copied().unwrap_or_default();
                assert_eq!(totals, expected, "{namespace} {name}");
            }
        }
    }

    async fn purge(&mut self) {
        self.check_all().await;
        let Some(index) = self.any_intent() else { return };
        let last_at = |intent: &ModelIntent| intent.last_at.expect("all times have been read");
        let older_than = last_at(self.model_intent(index));
        let count = self.model.intents.len();
        self.model.intents.retain(|intent| {
            intent.new.is_permanent
                || matches!(intent.phase, Phase::Open | Phase::Accepted)
                || last_at(intent) >= older_than
        });
        let handle = self.random.usize(..2);
        let purged = ok(self.handle(handle).purge(older_than).await);
        assert_eq!(usize::try_from(purged), Ok(count - self.model.intents.len()));
    }

    async fn replace_handle(&mut self, source: &impl StoreSource<Store = S>) {
        self.last_owner += 1;
        let owner = self.last_owner;
        let handle = self.random.usize(..2);
        let old = std::mem::replace(
            self.handles.get_mut(handle).expect("there are two"),
            source.open().await,
        );
        source.close(old).await;
        *self.owners.get_mut(handle).expect("there are two") = owner;
    }

    fn handle(&self, index: usize) -> &S {
        self.handles.get(index).expect("there are two")
    }

    fn owner(&self, index: usize) -> u32 {
        *self.owners.get(index).expect("there are two")
    }

    fn model_intent(&self, index: usize) -> &ModelIntent {
        self.model.intents.get(index).expect("it exists")
    }

    fn compare(&mut self, handle: usize, expected: &[usize], stored: Vec<StoredIntent>) {
        let ids = |intents: &[StoredIntent]| -> Vec<_> {
            intents.iter().map(|intent| intent.id.clone()).collect()
        };
        let expected_ids: Vec<_> =
            expected.iter().map(|index| self.model_intent(*index).new.id.clone()).collect();
        assert_eq!(ids(&stored), expected_ids);
        let reader = self.owner(handle);
        for (index, stored) in expected.iter().zip(stored) {
            let owners = self.owners;
            let Some(intent) = self.model.intents.get_mut(*index) else {
                panic!("the model has no intent {index}");
            };
            let owner = match intent.owner {
                owner if owner == reader => Owner::This,
                owner if owners.contains(&owner) => Owner::Other,
                _ => Owner::Gone,
            };
            let last_at = stored.records.last().map_or(stored.begun_at, |it| it.at);
            assert_eq!(last_at, *intent.last_at.get_or_insert(last_at));
            let records: Vec<_> = stored.records.iter().map(|it| it.record.clone()).collect();
            assert_eq!(records, intent.records, "{intent:?}", intent = intent.new);
            let new = intent.new.clone();
            let expected = StoredIntent {
                id: new.id,
                namespace: new.namespace,
                account: new.account,
                submission_id: new.submission_id,
                generation: new.generation,
                facts: new.facts,
                records: stored.records.clone(),
                begun_at: intent.begun_at,
                read_at: stored.read_at,
                phase: intent.phase,
                owner,
                budget: new.reservation.map(|reservation| reservation.budget),
                hold: intent.hold,
            };
            assert_eq!(stored, expected);
            assert!(stored.read_at >= last_at, "{stored:?}");
        }
    }
}
