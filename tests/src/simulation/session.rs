//! One process of a client: an application that uses the SDK and its journal.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use svc_sdk::journal::{Journal, MemoryStore, SpendLimit};
use svc_sdk::{
    ApiKey, Call, Client, ClientBuilder, ClientSurface, Error, Result, RetryPolicy, TaskGroup,
    WebhookNotifier,
};
use svc_sdk::{developer, open};
use tokio::sync::watch;

use super::books::BUDGET;
use super::oracle::{Defect, Oracle};
use super::orders::Orders;
use super::plan::{ClientPlan, Step};
use super::rng::Rng;
use super::store::ProcessStore;
use super::transport::{CALL_HEADER, FaultyTransport, Network};
use super::world::World;

/// How much later than its time limit a call may end: what became of it is written to the journal.
const WRITE_TOLERANCE_MS: u64 = 100;
/// What the number of a process that runs beside another one begins with.
const SECOND_PROCESS: u64 = 1 << 40;

/// A running process of a client.
pub(super) struct Session {
    pub(super) world: Arc<World>,
    pub(super) client: usize,
    pub(super) open: open::Client,
    pub(super) developer: developer::Client,
    pub(super) events: WebhookNotifier,
    pub(super) folder: PathBuf,
    pub(super) network: Arc<Network>,
    pub(super) plan: ClientPlan,
    pub(super) tasks: TaskGroup,
    pub(super) journal: Journal,
    owner: MemoryStore,
    incarnation: u64,
    calls: AtomicU64,
}

impl Session {
    /// Starts a process. `incarnation` counts the processes of the client.
    pub(super) fn start(
        world: &Arc<World>,
        client: usize,
        incarnation: u64,
        folder: PathBuf,
        is_impatient: bool,
    ) -> Arc<Self> {
        let seed = Rng::derive(world.plan.seed, 1_000 * (client as u64 + 1) + incarnation).next();
        let network = Arc::new(Network {
            world: Arc::clone(world),
            client,
            rng: Mutex::new(Rng::new(seed)),
            process_end: watch::Sender::new(false),
            is_beside_another: AtomicBool::new(false),
        });
        let plan = world.plan.clients[client].clone();
        let keys = &world.credentials[client];
        let mock = world.mock();
        let tasks = TaskGroup::default();
        let store = ProcessStore::new(world, client, is_impatient);
        let owner = store.store();
        let journal = Journal::with_store(store);
        let searches_jobs = client % 2 == 1;
        let journal = if searches_jobs { journal.search_jobs() } else { journal };
        let open = client_builder(mock.base_url(), &keys.open, &network, &journal);
        let developer =
            client_builder(mock.developer_base_url(), &keys.developer, &network, &journal);
        Arc::new(Self {
            open: open.task_group(&tasks).seed(seed).build().unwrap(),
            developer: developer.task_group(&tasks).seed(!seed).build().unwrap(),
            journal,
            owner,
            world: Arc::clone(world),
            client,
            events: WebhookNotifier::new(),
            folder,
            network,
            plan,
            tasks,
            incarnation,
            calls: AtomicU64::new(1),
        })
    }

    /// Prepares a step: what goes wrong in it depends on its own seed alone.
    pub(super) fn begin(&self, step: &Step) {
        *self.network.rng() = Rng::derive(step.seed, 2);
        let is_beside_another = &self.network.is_beside_another;
        is_beside_another.store(false, Ordering::Relaxed);
    }

    pub(super) fn slot(&self) -> u64 {
        self.client as u64 + 1
    }

    pub(super) fn workspace(&self) -> &str {
        &self.plan.workspace
    }

    /// Starts another process of the client, beside this one, which may take this one for a dead one.
    pub(super) fn start_another(&self, step: &Step, is_impatient: bool) -> Arc<Self> {
        let (number, folder) = (SECOND_PROCESS + self.incarnation, self.folder.clone());
        let another = Self::start(&self.world, self.client, number, folder, is_impatient);
        *another.network.rng() = Rng::derive(step.seed, 4);
        for network in [&self.network, &another.network] {
            network.is_beside_another.store(true, Ordering::Relaxed);
        }
        another
    }

    pub(super) fn orders(&self) -> MutexGuard<'_, Orders> {
        let orders = self.world.orders[self.client].lock();
        orders.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn trace(&self, text: impl FnOnce() -> String) {
        self.world.trace(self.slot(), text);
    }

    pub(super) fn call_timeout_ms(&self) -> u64 {
        self.plan.call_timeout_ms
    }

    /// Names a call that submits nothing.
    fn call_name(&self) -> String {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        format!("c{}.{}-{number}", self.client, self.incarnation)
    }

    /// Makes a call that submits nothing.
    pub(super) async fn call<T: Send + 'static>(&self, call: Call<T>) -> Option<Result<T>> {
        let name = self.call_name();
        self.named_call(&name, call).await
    }

    pub(super) async fn named_call<T: Send + 'static>(
        &self,
        name: &str,
        call: Call<T>,
    ) -> Option<Result<T>> {
        let limit = self.call_timeout_ms();
        let set = if self.world.has(Defect::TimeoutIgnored) { limit * 10 } else { limit };
        let call = call.timeout(Duration::from_millis(set)).header(CALL_HEADER, name);
        let outcome = self.within(name, limit, call).await?;
        if let Err(error) = &outcome {
            self.trace(|| format!("  ! {name} {}", self.describe(error)));
        }
        Some(outcome)
    }

    /// Awaits what has to end within `limit_ms`. Returns `None` if it does not end at all.
    pub(super) async fn within<F: Future>(
        &self,
        name: &str,
        limit_ms: u64,
        future: F,
    ) -> Option<F::Output> {
        let started = self.world.now_ms();
        self.world.lock().counts.operations += 1;
        let guard = Duration::from_millis(limit_ms * 20 + 3_600_000);
        let output = tokio::time::timeout(guard, future).await.ok();
        let elapsed = self.world.now_ms() - started;
        if elapsed > limit_ms + WRITE_TOLERANCE_MS {
            self.world.violate(Oracle::Timeout, format!("{name} took {elapsed} ms of {limit_ms}"));
        }
        output
    }

    /// Describes an error without what differs between two runs of the same seed.
    pub(super) fn describe(&self, error: &Error) -> String {
        let folder = self.folder.display().to_string();
        error.to_string().replace(&folder, "<folder>").replace('\n', " ")
    }
}

impl Drop for Session {
    /// Ends the process with all its tasks. Those of the MCP client neither send nor wait any more, and own
    /// nothing.
    fn drop(&mut self) {
        self.tasks.end();
        self.network.process_end.send_replace(true);
        self.owner.end_owner();
    }
}

pub(super) fn client_builder<S: ClientSurface>(
    base_url: &str,
    key: &str,
    network: &Arc<Network>,
    journal: &Journal,
) -> ClientBuilder<S> {
    let world = &network.world;
    let plan = &world.plan.clients[network.client];
    let builder = Client::builder()
        .base_url(base_url)
        .api_key(ApiKey::new(key).unwrap())
        .transport(Arc::new(FaultyTransport(Arc::clone(network))))
        .retry(RetryPolicy::default().max_retries(plan.max_retries))
        .timeout(Duration::from_millis(plan.call_timeout_ms))
        .attempt_timeout(Duration::from_millis(plan.attempt_timeout_ms))
        .journal(journal.clone());
    match world.spend_limit() {
        Some(limit) => builder.spend_limit(SpendLimit::new(BUDGET, limit)),
        None => builder,
    }
}
