//! What the actors of a simulation share: the mock, virtual time, and what was observed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use svc_mock_server::engine::{Delivery, DeliveryOutcome, KeyKind, NewKey, Time};
use svc_mock_server::{InProcess, Setup, Speed};
use svc_sdk::contract::Operation;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::defect::Defect;
use super::journal::{Journal, ResourceKind};
use super::oracle::Oracle;
use super::plan::Plan;
use super::rng::Rng;
use super::signing_secrets::SigningSecrets;

/// The slots of virtual time. An actor acts only in milliseconds of its own slot, so that the order
/// of two actors never depends on which of them the runtime happens to poll first.
const SLOTS: u64 = 16;
/// The slot of the environment; client `n` has slot `n + 1`.
pub(super) const ENVIRONMENT_SLOT: u64 = 0;
/// How long a client that was misled about its rate limit may meet a 429.
const WINDOW_MS: u64 = 61_000;
/// The most violations that are recorded of one simulation.
const MAX_VIOLATIONS: usize = 20;
/// Where the service's clock starts.
const EPOCH: Time = Time::from_micros(1_760_000_000_000_000);

/// A property that did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The property.
    pub oracle: Oracle,
    /// Virtual time in milliseconds.
    pub at_ms: u64,
    /// What was observed.
    pub message: String,
}

/// A resource that the service created.
#[derive(Clone, Debug)]
pub(super) struct Creation {
    pub(super) intent: Option<String>,
    pub(super) is_top_up: bool,
}

/// What was observed of one call of the SDK, which may send several requests.
#[derive(Clone, Debug, Default)]
pub(super) struct CallRecord {
    /// Whether an attempt may have been carried out.
    pub(super) is_ambiguous: bool,
    /// Until when the service asked the client to wait.
    pub(super) closed_until_ms: u64,
}

/// How much happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) operations: u64,
    pub(super) requests: u64,
    pub(super) lost_replies: u64,
    pub(super) crashes: u64,
    pub(super) restores: u64,
}

/// The API keys of a client.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) open: String,
    pub(super) developer: String,
}

type Mailboxes = Arc<Mutex<BTreeMap<String, Vec<Delivery>>>>;

/// All that the actors share.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) defect: Option<Defect>,
    pub(super) credentials: Vec<Credentials>,
    pub(super) signing_secrets: SigningSecrets,
    pub(super) journals: Vec<Arc<Mutex<Journal>>>,
    started: Instant,
    pub(super) replaced: Notify,
    mailboxes: Mailboxes,
    state: Mutex<State>,
}

/// What changes.
pub(super) struct State {
    pub(super) mock: InProcess,
    pub(super) generation: u64,
    pub(super) outage_until_ms: u64,
    are_faults_cleared: bool,
    in_flight: u64,
    pub(super) older_snapshot: Option<Value>,
    trace: Vec<(u64, u64, usize, String)>,
    violations: Vec<Violation>,
    pub(super) counts: Counts,
    pub(super) created: BTreeMap<String, Creation>,
    intents: BTreeMap<String, BTreeSet<String>>,
    calls: BTreeMap<String, CallRecord>,
    used_keys: BTreeSet<(String, String)>,
    tainted_until_ms: BTreeMap<String, u64>,
    pub(super) runs_of_queues: BTreeMap<String, String>,
    pub(super) scheduled_runs: BTreeSet<String>,
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
        let signing_secrets = SigningSecrets::default();
        signing_secrets.note(&mock.snapshot());
        Arc::new(Self {
            credentials,
            signing_secrets,
            journals: plan.clients.iter().map(|_| Arc::default()).collect(),
            started: Instant::now(),
            replaced: Notify::new(),
            mailboxes,
            state: Mutex::new(State {
                mock,
                generation: 0,
                outage_until_ms: 0,
                are_faults_cleared: false,
                in_flight: 0,
                older_snapshot: None,
                trace: Vec::new(),
                violations: Vec::new(),
                counts: Counts::default(),
                created: BTreeMap::new(),
                intents: BTreeMap::new(),
                calls: BTreeMap::new(),
                used_keys: BTreeSet::new(),
                tainted_until_ms: BTreeMap::new(),
                runs_of_queues: BTreeMap::new(),
                scheduled_runs: BTreeSet::new(),
            }),
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

    pub(super) fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.lock().counts);
    }

    pub(super) fn counts(&self) -> Counts {
        self.lock().counts
    }

    pub(super) fn violate(&self, oracle: Oracle, message: String) {
        let at_ms = self.now_ms();
        let mut state = self.lock();
        let is_known = state
            .violations
            .iter()
            .any(|known| known.message == message);
        if !is_known && state.violations.len() < MAX_VIOLATIONS {
            let number = state.trace.len();
            state.trace.push((
                at_ms,
                SLOTS,
                number,
                format!("VIOLATION {oracle}: {message}"),
            ));
            state.violations.push(Violation {
                oracle,
                at_ms,
                message,
            });
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

/// The network.
impl World {
    pub(super) fn are_connections_refused(&self) -> bool {
        self.now_ms() < self.lock().outage_until_ms
    }

    pub(super) fn are_faults_cleared(&self) -> bool {
        self.lock().are_faults_cleared
    }

    pub(super) fn clear_faults(&self) {
        self.lock().are_faults_cleared = true;
    }

    pub(super) fn add_in_flight(&self) {
        self.lock().in_flight += 1;
    }

    pub(super) fn remove_in_flight(&self) {
        self.lock().in_flight -= 1;
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.lock().in_flight
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
        self.lock()
            .tainted_until_ms
            .insert(credential.to_owned(), until);
    }

    /// Notes the end of a process in the middle of a step.
    pub(super) fn note_crash(&self, client: usize) {
        self.count(|counts| counts.crashes += 1);
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
        is_shared
            || self
                .lock()
                .tainted_until_ms
                .get(credential)
                .is_some_and(|until| now < *until)
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

    /// Notes a key, and returns whether it was used before.
    pub(super) fn note_key(&self, operation: Operation, key: &str) -> bool {
        let entry = (operation.name().to_owned(), key.to_owned());
        !self.lock().used_keys.insert(entry)
    }

    /// Notes the resource that a submit was answered with.
    pub(super) fn note_receipt(&self, operation: Operation, intent: Option<&str>, id: &str) {
        let is_top_up = ResourceKind::of(operation) == ResourceKind::TopUp;
        self.note_creation(id, intent, is_top_up);
    }

    /// Notes the jobs that exist. A job whose submit is still to be answered names its intent.
    pub(super) fn note_jobs(&self, jobs: &[Value]) {
        for job in jobs {
            if let (Some(id), Some(intent)) =
                (job["id"].as_str(), job["metadata"]["intent"].as_str())
            {
                self.note_creation(id, Some(intent), false);
            }
        }
    }

    fn note_creation(&self, id: &str, intent: Option<&str>, is_top_up: bool) {
        let ids = {
            let mut state = self.lock();
            let created = state.created.entry(id.to_owned());
            created.or_insert_with(|| Creation {
                intent: intent.map(str::to_owned),
                is_top_up,
            });
            let Some(intent) = intent else { return };
            let ids = state.intents.entry(intent.to_owned()).or_default();
            ids.insert(id.to_owned());
            ids.clone()
        };
        if ids.len() > 1 {
            let intent = intent.unwrap_or_default();
            self.violate(
                Oracle::Once,
                format!("{intent} was carried out {} times: {ids:?}", ids.len()),
            );
        }
    }

    /// Takes the webhooks that a client received.
    pub(super) fn take_webhooks(&self, client: usize) -> Vec<Delivery> {
        let mut mailboxes = self
            .mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mailboxes.remove(&format!("c{client}")).unwrap_or_default()
    }
}

/// Creates the keys of a client, and its workspace.
fn add_keys(mock: &InProcess, workspace: &str) -> Credentials {
    let key = |kind| {
        let key = NewKey {
            kind,
            workspace: Some(workspace.to_owned()),
            plan: None,
            scopes: None,
        };
        mock.add_key(key).unwrap().key
    };
    Credentials {
        open: key(KeyKind::Open),
        developer: key(KeyKind::Developer),
    }
}

fn new_mock(plan: &Plan, mailboxes: &Mailboxes) -> InProcess {
    let mailboxes = Arc::clone(mailboxes);
    let seed = plan.seed;
    let setup = Setup::default()
        .seed(seed)
        .plan(plan.tier.clone())
        .balance_usd(plan.balance_usd)
        .read_multiple(plan.read_multiple)
        .speed(Speed::new(plan.speed).unwrap())
        .epoch(EPOCH);
    InProcess::new(setup).webhook_receiver(move |delivery| {
        let hash = delivery
            .body
            .iter()
            .fold(delivery.at.as_micros(), |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(u64::from(*byte))
            });
        let mut rng = Rng::derive(seed, hash);
        match rng.below(100) {
            0..15 => return DeliveryOutcome::answered(503),
            15..20 => return DeliveryOutcome::answered(500),
            20..25 => return DeliveryOutcome::failed("timeout"),
            _ => {}
        }
        let client = delivery
            .url
            .split('/')
            .nth(3)
            .unwrap_or_default()
            .to_owned();
        let mut mailboxes = mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        mailboxes.entry(client).or_default().push(delivery.clone());
        DeliveryOutcome::answered(204)
    })
}
