//! What the actors of a simulation share: the mock, virtual time, and what was observed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use svc_mock_server::InProcess;
use svc_mock_server::engine::Delivery;
use svc_sdk::contract::Operation;
use svc_sdk::journal::{Journal, MemoryStore};
use svc_sdk::types::Usd;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Counts;
use super::books::{Books, client_of};
use super::mock::{Credentials, Mailboxes, SigningSecrets, add_keys, new_mock, wall_after};
use super::oracle::{Defect, Oracle};
use super::orders::Orders;
use super::plan::Plan;

/// The slots of virtual time. An actor acts only in milliseconds of its own slot, so that the order
/// of two actors never depends on which of them the runtime happens to poll first.
const SLOTS: u64 = 16;
/// The slot of the environment; client `n` has slot `n + 1`.
pub(super) const ENVIRONMENT_SLOT: u64 = 0;
/// How long a client that was misled about its rate limit may meet a 429.
const WINDOW_MS: u64 = 61_000;
/// The most violations that are recorded of one simulation.
const MAX_VIOLATIONS: usize = 20;

/// A property that did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    pub oracle: Oracle,
    /// Virtual time in milliseconds.
    pub at_ms: u64,
    pub message: String,
}

/// A resource that the service created.
#[derive(Clone, Debug)]
struct Creation {
    order: String,
    /// Whether the spend limit of its client applies to it.
    has_limit: bool,
}

/// What was observed of one call of the SDK, which may send several requests.
#[derive(Clone, Debug, Default)]
pub(super) struct CallRecord {
    /// Whether an attempt may have been carried out.
    pub(super) is_ambiguous: bool,
    /// Until when the service asked the client to wait.
    pub(super) closed_until_ms: u64,
}

/// All that the actors share.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) defect: Option<Defect>,
    pub(super) credentials: Vec<Credentials>,
    pub(super) signing_secrets: SigningSecrets,
    /// The orders of each client, the store of its journal, and the journal as others see it.
    pub(super) orders: Vec<Mutex<Orders>>,
    pub(super) stores: Vec<MemoryStore>,
    /// Whether the next process of each client that begins an intent is stopped before it sends.
    pub(super) is_stopped_at_begin: Vec<AtomicBool>,
    pub(super) journals: Vec<Journal>,
    pub(super) books: tokio::sync::Mutex<Books>,
    started: Instant,
    pub(super) replaced: Notify,
    mailboxes: Mailboxes,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) mock: InProcess,
    pub(super) generation: u64,
    pub(super) outage_until_ms: u64,
    pub(super) are_faults_cleared: bool,
    pub(super) in_flight: i64,
    pub(super) older_snapshot: Option<Value>,
    pub(super) requests_before_restore: u64,
    trace: Vec<(u64, u64, usize, String)>,
    violations: Vec<Violation>,
    pub(super) counts: Counts,
    created: BTreeMap<String, Creation>,
    /// What was created and is not known to be in a journal.
    pub(super) unconfirmed: BTreeSet<String>,
    /// What was made of each order.
    made: BTreeMap<String, BTreeSet<String>>,
    /// The top-ups that are to be paid.
    pub(super) top_ups: BTreeSet<String>,
    /// How many requests of each order are under way.
    under_way: BTreeMap<String, i64>,
    calls: BTreeMap<String, CallRecord>,
    /// The keys of the submits that were carried out.
    accepted_keys: BTreeSet<(String, String)>,
    tainted_until_ms: BTreeMap<String, u64>,
}

impl World {
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's paused clock, which the mock follows"
    )]
    pub(super) fn new(plan: Plan, defect: Option<Defect>) -> Arc<Self> {
        let mailboxes = Mailboxes::default();
        let mock = new_mock(&plan, &mailboxes);
        let mut credentials: Vec<Credentials> = Vec::new();
        for client in &plan.clients {
            let shared = credentials.first().filter(|_| client.has_shared_key);
            let keys = shared.cloned();
            credentials.push(keys.unwrap_or_else(|| add_keys(&mock, &client.workspace)));
        }
        let signing_secrets = SigningSecrets::of(&mock.snapshot());
        let (started, speed) = (Instant::now(), plan.speed);
        let wall = move || wall_after(Instant::now() - started, speed);
        let clients = plan.clients.iter();
        let stores = clients.map(|_| MemoryStore::with_clock(Arc::new(wall)));
        let stores: Vec<_> = stores.collect();
        let journals = stores.iter().map(|it| Journal::with_store(it.handle()));
        Arc::new(Self {
            orders: plan.clients.iter().map(|_| Mutex::default()).collect(),
            journals: journals.collect(),
            is_stopped_at_begin: stores.iter().map(|_| AtomicBool::new(false)).collect(),
            stores,
            books: tokio::sync::Mutex::default(),
            credentials,
            signing_secrets,
            started,
            replaced: Notify::new(),
            mailboxes,
            state: Mutex::new(State { mock, ..State::default() }),
            plan,
            defect,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    pub(super) fn spend_limit(&self) -> Option<Usd> {
        self.plan.spend_limit_usd.map(|usd| Usd::from_micros(i64::from(usd) * 1_000_000))
    }

    /// Creates a mock without any state.
    pub(super) fn new_mock(&self) -> InProcess {
        new_mock(&self.plan, &self.mailboxes)
    }

    pub(super) fn mock(&self) -> InProcess {
        self.lock().mock.clone()
    }
}

/// Virtual time, the trace and the counts.
impl World {
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's paused clock, which the mock follows"
    )]
    pub(super) fn now_ms(&self) -> u64 {
        (Instant::now() - self.started).as_millis() as u64
    }

    /// Waits for at least `delay_ms`, until the next millisecond of the slot.
    pub(super) async fn sleep(&self, slot: u64, delay_ms: u64) {
        let earliest = self.now_ms() + delay_ms;
        let at = earliest + (slot + SLOTS - earliest % SLOTS) % SLOTS;
        tokio::time::sleep_until(self.started + Duration::from_millis(at)).await;
    }

    pub(super) fn trace(&self, slot: u64, text: impl FnOnce() -> String) {
        let now = self.now_ms();
        let mut state = self.lock();
        let number = state.trace.len();
        state.trace.push((now, slot, number, text()));
    }

    /// Returns the lines of the trace in the order of time, then of the slots.
    pub(super) fn trace_lines(&self) -> Vec<String> {
        let mut trace = std::mem::take(&mut self.lock().trace);
        trace.sort();
        let line = |(at, slot, _, text): (u64, u64, usize, String)| {
            let actor = match slot {
                ENVIRONMENT_SLOT => "env".to_owned(),
                SLOTS => "!".to_owned(),
                slot => format!("c{}", slot - 1),
            };
            format!("{:>9}.{:03} {actor:<3} {text}", at / 1_000, at % 1_000)
        };
        trace.into_iter().map(line).collect()
    }

    pub(super) fn violate(&self, oracle: Oracle, message: String) {
        let at_ms = self.now_ms();
        let mut state = self.lock();
        let is_known = state.violations.iter().any(|known| known.message == message);
        if !is_known && state.violations.len() < MAX_VIOLATIONS {
            let number = state.trace.len();
            state.trace.push((at_ms, SLOTS, number, format!("VIOLATION {oracle}: {message}")));
            state.violations.push(Violation { oracle, at_ms, message });
        }
    }

    pub(super) fn violations(&self) -> Vec<Violation> {
        let mut violations = self.lock().violations.clone();
        violations.sort_by_key(|violation| violation.at_ms);
        violations
    }

    pub(super) fn is_violated(&self) -> bool {
        !self.lock().violations.is_empty()
    }
}

impl World {
    pub(super) fn are_connections_refused(&self) -> bool {
        self.now_ms() < self.lock().outage_until_ms
    }

    /// Notes that so many more requests are under way, which may be those of an order.
    pub(super) fn change_in_flight(&self, order: Option<&str>, change: i64) {
        let mut state = self.lock();
        state.in_flight += change;
        if let Some(order) = order {
            *state.under_way.entry(order.to_owned()).or_default() += change;
        }
    }

    /// Returns whether a request of an order is under way.
    pub(super) fn is_under_way(&self, order: &str) -> bool {
        self.lock().under_way.get(order).is_some_and(|count| *count > 0)
    }

    /// Returns whether a request of an order was ever sent.
    pub(super) fn was_sent(&self, order: &str) -> bool {
        self.lock().under_way.contains_key(order)
    }

    /// Waits until the mock was replaced by a restored one.
    pub(super) async fn mock_replaced(&self, generation: u64) {
        loop {
            let replaced = self.replaced.notified();
            if self.lock().generation != generation {
                return;
            }
            replaced.await;
        }
    }

    pub(super) fn mock_and_generation(&self) -> (InProcess, u64) {
        let state = self.lock();
        (state.mock.clone(), state.generation)
    }

    /// Marks a key whose client cannot know how many of its requests were counted.
    pub(super) fn taint(&self, credential: &str) {
        let until = self.now_ms() + WINDOW_MS;
        self.lock().tainted_until_ms.insert(credential.to_owned(), until);
    }

    /// Notes the end of a process in the middle of a step.
    pub(super) fn note_crash(&self, client: usize) {
        self.lock().counts.crashes += 1;
        self.note_process_end(client);
    }

    /// Notes the end of a process. The next one does not know what this one spent, so that the first
    /// window of its keys may be overdrawn.
    pub(super) fn note_process_end(&self, client: usize) {
        let keys = &self.credentials[client];
        for key in [&keys.open, &keys.developer] {
            self.taint(&format!("Bearer {key}"));
        }
    }

    /// Returns whether a 429 of a key can be the doing of another client, or of a request that its
    /// client could not count.
    pub(super) fn is_tainted(&self, credential: &str) -> bool {
        let now = self.now_ms();
        let has_key = |keys: &Credentials| {
            credential.ends_with(&keys.open) || credential.ends_with(&keys.developer)
        };
        let is_shared = self.credentials.iter().filter(|keys| has_key(keys)).count() > 1;
        is_shared || self.lock().tainted_until_ms.get(credential).is_some_and(|until| now < *until)
    }

    /// Changes the record of a call and returns it as it was before.
    pub(super) fn update_call(
        &self,
        call: &str,
        change: impl FnOnce(&mut CallRecord),
    ) -> CallRecord {
        let mut state = self.lock();
        let record = state.calls.entry(call.to_owned()).or_default();
        let before = record.clone();
        change(record);
        before
    }

    /// Notes the key of a submit that was carried out.
    pub(super) fn note_accepted_key(&self, operation: Operation, key: &str) {
        let entry = (operation.name().to_owned(), key.to_owned());
        self.lock().accepted_keys.insert(entry);
    }

    /// Returns whether a submit with that key was carried out.
    pub(super) fn is_accepted_key(&self, operation: Operation, key: &str) -> bool {
        let entry = (operation.name().to_owned(), key.to_owned());
        self.lock().accepted_keys.contains(&entry)
    }

    /// Notes the resource that a submit was answered with.
    pub(super) fn note_receipt(&self, operation: Operation, order: Option<&str>, id: &str) {
        let is_top_up = operation == Operation::TopUpsCreate;
        let is_outside_limit = is_top_up || operation == Operation::Mcp;
        if is_top_up && !self.was_created(id) {
            self.lock().top_ups.insert(id.to_owned());
        }
        self.note_creation(id, order.unwrap_or_default(), !is_outside_limit);
    }

    /// Notes what was made of an order, whose submit may still be to be answered.
    pub(super) fn note_creation(&self, id: &str, order: &str, has_limit: bool) {
        let has_limit = has_limit && self.spend_limit().is_some();
        let mut state = self.lock();
        if state.created.contains_key(id) {
            return;
        }
        let creation = Creation { order: order.to_owned(), has_limit };
        state.created.insert(id.to_owned(), creation);
        state.unconfirmed.insert(id.to_owned());
        let made = state.made.entry(order.to_owned()).or_default();
        made.insert(id.to_owned());
        let made = made.clone();
        drop(state);
        if made.len() > 1 {
            let message = format!("{order} was carried out {} times: {made:?}", made.len());
            self.violate(Oracle::Once, message);
        }
    }

    /// Returns whether a request created the resource.
    pub(super) fn was_created(&self, id: &str) -> bool {
        self.lock().created.contains_key(id)
    }

    pub(super) fn created_jobs(&self) -> Vec<String> {
        let state = self.lock();
        let ids = state.created.keys();
        ids.filter(|id| id.starts_with("job_")).cloned().collect()
    }

    /// Takes the webhooks that a client received.
    pub(super) fn take_webhooks(&self, client: usize) -> Vec<Delivery> {
        let mut mailboxes = self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        mailboxes.remove(&format!("c{client}")).unwrap_or_default()
    }
}

impl State {
    /// Returns what was created and is not known to be in a journal, with its order.
    pub(super) fn unconfirmed(&self) -> Vec<(String, String)> {
        let ids = self.unconfirmed.iter();
        let creations =
            ids.filter_map(|id| Some((id.clone(), self.created.get(id)?.order.clone())));
        creations.collect()
    }

    /// Forgets which journal has what.
    pub(super) fn forget_confirmations(&mut self) {
        self.unconfirmed = self.created.keys().cloned().collect();
    }

    pub(super) fn made_of(&self, order: &str) -> Option<String> {
        self.made.get(order)?.first().cloned()
    }

    /// Returns the client whose spend limit applies to what was created.
    pub(super) fn client_with_limit(&self, id: &str) -> Result<Option<usize>, ()> {
        let creation = self.created.get(id).ok_or(())?;
        Ok(client_of(&creation.order).filter(|_| creation.has_limit))
    }
}
