//! One process of a client: an application that uses the SDK and keeps a journal.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use svc_sdk::contract::{Operation, RetryClass};
use svc_sdk::handle::{Handle, JobResource, QueueResource, Resource, TopUpResource};
use svc_sdk::{ApiKey, Call, Client, Error, Result, RetryPolicy, Surface, WebhookNotifier};
use svc_sdk::{developer, open};
use tokio::task::JoinSet;

use super::defect::Defect;
use super::journal::{Intent, IntentState, Journal, ResourceKind};
use super::oracle::Oracle;
use super::plan::{ClientPlan, Step};
use super::rng::Rng;
use super::submit;
use super::transport::{CALL_HEADER, FaultyTransport, Network};
use super::world::World;

/// How much later than its time limit a call may end: timers have a resolution of a millisecond.
const TIMER_TOLERANCE_MS: u64 = 5;

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
    incarnation: u64,
    calls: Mutex<u64>,
}

impl Session {
    /// Starts a process. `incarnation` counts the processes of the client.
    pub(super) fn start(
        world: &Arc<World>,
        client: usize,
        incarnation: u64,
        folder: PathBuf,
    ) -> Arc<Self> {
        let seed = Rng::derive(world.plan.seed, 1_000 * (client as u64 + 1) + incarnation).next();
        let network = Arc::new(Network {
            world: Arc::clone(world),
            client,
            rng: Mutex::new(Rng::new(seed)),
            is_process_ended: AtomicBool::new(false),
        });
        let plan = world.plan.clients[client].clone();
        let keys = &world.credentials[client];
        let mock = world.mock();
        Arc::new(Self {
            open: sdk_client(mock.base_url(), &keys.open, &network, &plan, seed),
            developer: sdk_client(
                mock.developer_base_url(),
                &keys.developer,
                &network,
                &plan,
                !seed,
            ),
            world: Arc::clone(world),
            client,
            events: WebhookNotifier::new(),
            folder,
            network,
            plan,
            incarnation,
            calls: Mutex::new(0),
        })
    }

    /// Prepares a step: what goes wrong in it depends on its own seed alone.
    pub(super) fn begin(&self, step: &Step) {
        let mut rng = self
            .network
            .rng
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *rng = Rng::derive(step.seed, 2);
    }

    pub(super) fn slot(&self) -> u64 {
        self.client as u64 + 1
    }

    pub(super) fn workspace(&self) -> &str {
        &self.plan.workspace
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.world.journals[self.client]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn trace(&self, text: impl FnOnce() -> String) {
        self.world.trace(self.slot(), text);
    }

    pub(super) fn call_timeout_ms(&self) -> u64 {
        self.plan.call_timeout_ms
    }

    /// Names a call that submits nothing.
    fn call_name(&self) -> String {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls += 1;
        format!("c{}.{}-{}", self.client, self.incarnation, *calls)
    }

    /// Makes a call that submits nothing.
    pub(super) async fn call<T: Send + 'static>(&self, call: Call<T>) -> Option<Result<T>> {
        let name = self.call_name();
        self.named_call(&name, call).await
    }

    async fn named_call<T: Send + 'static>(&self, name: &str, call: Call<T>) -> Option<Result<T>> {
        let limit = self.call_timeout_ms();
        let set = match self.world.has(Defect::TimeoutIgnored) {
            true => limit * 10,
            false => limit,
        };
        let call = call
            .timeout(Duration::from_millis(set))
            .header(CALL_HEADER, name);
        let outcome = self.within(name, limit, call.into_future()).await?;
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
        self.world.count(|counts| counts.operations += 1);
        let guard = Duration::from_millis(limit_ms * 20 + 3_600_000);
        let output = tokio::time::timeout(guard, future).await.ok();
        let elapsed = self.world.now_ms() - started;
        if elapsed > limit_ms + TIMER_TOLERANCE_MS {
            self.world.violate(
                Oracle::Timeout,
                format!("{name} took {elapsed} ms of {limit_ms}"),
            );
        }
        output
    }

    /// Describes an error without what differs between two runs of the same seed.
    pub(super) fn describe(&self, error: &Error) -> String {
        let folder = self.folder.display().to_string();
        error
            .to_string()
            .replace(&folder, "<folder>")
            .replace('\n', " ")
    }
}

impl Drop for Session {
    /// Ends the process: tasks in its background send nothing any more.
    fn drop(&mut self) {
        self.network.is_process_ended.store(true, Ordering::Relaxed);
    }
}

/// Submitting, and resolving what was submitted.
impl Session {
    /// Creates an intent and stores it. Returns `None` if the operation is not possible now.
    pub(super) fn new_intent(&self, rng: &mut Rng) -> Option<Intent> {
        let operation = *rng.pick(&submit::operations());
        let mut journal = self.journal();
        let previews: Vec<_> = journal
            .intents
            .iter()
            .filter_map(|it| it.preview.clone())
            .collect();
        let preview = (!previews.is_empty()).then(|| rng.pick(&previews).clone());
        let segments = submit::segments(operation, self.workspace(), preview.as_deref())?;
        let id = journal.next_id(self.client);
        let hook = format!("https://hooks.example.com/c{}/{id}", self.client);
        let intent = Intent {
            operation,
            tool: None,
            segments,
            body: submit::body(operation, &id, &hook, rng),
            is_key_honoured: operation.retry() == RetryClass::Key,
            key: format!("{id}-{:08x}", rng.next() >> 32),
            id,
            calls: 0,
            state: IntentState::Open,
            preview: None,
            ended: false,
        };
        drop(journal);
        self.store_intent(&intent);
        Some(intent)
    }

    /// Stores an intent before its first call.
    pub(super) fn store_intent(&self, intent: &Intent) {
        if !self.world.has(Defect::IntentStoredAfterCall) {
            self.journal().intents.push(intent.clone());
        }
    }

    /// Submits an intent, and stores what became of it.
    pub(super) async fn submit(&self, mut intent: Intent) {
        let Some(mut submitted) = self.submit_once(&mut intent).await else {
            return;
        };
        if matches!(&submitted, Submitted::Accepted(receipt) if receipt.is_replay) {
            self.trace(|| format!("  = {} is a replay", intent.id));
            if self.world.has(Defect::ReplayTakenAsStale) {
                intent.key.push_str("-again");
                let Some(again) = self.submit_once(&mut intent).await else {
                    return;
                };
                submitted = again;
            }
        }
        self.store(&intent, submitted);
    }

    async fn submit_once(&self, intent: &mut Intent) -> Option<Submitted> {
        intent.calls += 1;
        if let Some(stored) = self.journal().get_mut(&intent.id) {
            stored.calls = intent.calls;
        }
        let name = format!("{}#{}", intent.id, intent.calls);
        if let Some(tool) = intent.tool {
            return self.call_tool(tool, intent, &name).await;
        }
        let result = match intent.kind() {
            ResourceKind::OpenJob => {
                self.submit_to::<JobResource<svc_sdk::Open>>(&self.open, intent, &name)
                    .await
            }
            ResourceKind::TopUp => {
                self.submit_to::<TopUpResource>(&self.open, intent, &name)
                    .await
            }
            ResourceKind::ActionRun => {
                self.submit_to::<svc_sdk::ActionRun>(&self.developer, intent, &name)
                    .await
            }
            ResourceKind::FormatRun => {
                self.submit_to::<svc_sdk::FormatRun>(&self.developer, intent, &name)
                    .await
            }
            ResourceKind::AgentRun => {
                self.submit_to::<svc_sdk::AgentRun>(&self.developer, intent, &name)
                    .await
            }
            ResourceKind::Queue => {
                self.submit_to::<QueueResource>(&self.developer, intent, &name)
                    .await
            }
            ResourceKind::DeveloperJob => self.submit_developer_job(intent, &name).await,
        };
        Some(result?.map_or_else(Submitted::from, Submitted::Accepted))
    }

    async fn submit_developer_job(&self, intent: &Intent, name: &str) -> Option<Result<Receipt>> {
        let call = submit_call(&self.developer, intent);
        let handle: Result<svc_sdk::JobHandle<svc_sdk::Developer>> =
            self.named_call(name, call).await?;
        Some(handle.map(|handle| {
            let preview = handle
                .receipt()
                .and_then(|it| it.extra.get_as::<Value>("preview"));
            Receipt {
                id: handle.id().to_string(),
                is_replay: handle.is_replay(),
                preview: preview.and_then(|it| it["id"].as_str().map(str::to_owned)),
            }
        }))
    }

    async fn submit_to<R: Resource>(
        &self,
        client: &Client<R::Surface>,
        intent: &Intent,
        name: &str,
    ) -> Option<Result<Receipt>> {
        let call: Call<Handle<R>> = submit_call(client, intent);
        let result = self.named_call(name, call).await?;
        Some(result.map(|handle| Receipt {
            id: handle.id().to_string(),
            is_replay: handle.is_replay(),
            preview: None,
        }))
    }

    /// Stores the outcome of a submit.
    fn store(&self, intent: &Intent, submitted: Submitted) {
        let mut journal = self.journal();
        if journal.get(&intent.id).is_none() {
            journal.intents.push(intent.clone());
        }
        let Some(stored) = journal.get_mut(&intent.id) else {
            return;
        };
        stored.state = match submitted {
            Submitted::Accepted(receipt) => {
                stored.preview = receipt.preview;
                IntentState::Accepted(receipt.id)
            }
            Submitted::Ambiguous if self.world.has(Defect::AmbiguousErrorAsRejection) => {
                IntentState::Rejected
            }
            Submitted::Ambiguous if !intent.is_key_honoured => IntentState::Unknown,
            Submitted::Ambiguous => IntentState::Open,
            // An earlier call may have been carried out, which this error does not decide.
            Submitted::Rejected if intent.calls > 1 => IntentState::Open,
            Submitted::Rejected => IntentState::Rejected,
        };
        let state = stored.state.clone();
        drop(journal);
        self.trace(|| format!("  = {} {state:?}", intent.id));
    }

    /// Resolves what an earlier call, or an earlier process, left open.
    pub(super) async fn resolve(&self) {
        let open: Vec<_> = {
            let journal = self.journal();
            let open = journal
                .intents
                .iter()
                .filter(|it| it.state == IntentState::Open);
            open.cloned().collect()
        };
        for mut intent in open {
            if intent.is_key_honoured || self.world.has(Defect::UnsentResubmitted) {
                if self.world.has(Defect::NewKeyOnResubmit) {
                    intent.key.push_str(&format!("-{}", intent.calls));
                }
                self.submit(intent).await;
            } else if let Some(stored) = self.journal().get_mut(&intent.id) {
                stored.state = IntentState::Unknown;
            }
        }
        let is_unknown = |it: &Intent| it.state == IntentState::Unknown;
        if self.journal().intents.iter().any(is_unknown) {
            self.find_unknown().await;
        }
    }

    /// Looks for unknown submits in the list of jobs.
    async fn find_unknown(&self) {
        let name = self.call_name();
        let limit = Duration::from_millis(self.call_timeout_ms());
        let list = self.developer.jobs().list().limit(100).timeout(limit);
        let mut pages = list.header(CALL_HEADER, &name).pages();
        loop {
            let limit = self.call_timeout_ms();
            let Some(Some(Ok(page))) = self.within(&name, limit, pages.next()).await else {
                return;
            };
            for job in &page.items {
                let intent = job
                    .metadata
                    .as_ref()
                    .and_then(|it| it.get_as::<String>("intent"));
                let Some(intent) = intent else { continue };
                let mut journal = self.journal();
                if let Some(stored) = journal.get_mut(&intent)
                    && stored.state == IntentState::Unknown
                {
                    stored.state = IntentState::Accepted(job.id.to_string());
                    drop(journal);
                    self.trace(|| format!("  = {intent} found in the list"));
                }
            }
        }
    }

    /// Submits several things at once.
    pub(super) async fn submit_many(self: &Arc<Self>, intents: Vec<Intent>) {
        let mut tasks = JoinSet::new();
        for intent in intents {
            let session = Arc::clone(self);
            tasks.spawn(async move { session.submit(intent).await });
        }
        while let Some(result) = tasks.join_next().await {
            result.unwrap();
        }
    }
}

/// What became of a submit.
pub(super) enum Submitted {
    Accepted(Receipt),
    /// It may have been carried out.
    Ambiguous,
    /// Nothing was carried out by this call.
    Rejected,
}

/// What a submit was answered with.
pub(super) struct Receipt {
    pub(super) id: String,
    pub(super) is_replay: bool,
    pub(super) preview: Option<String>,
}

impl From<Error> for Submitted {
    fn from(error: Error) -> Self {
        match id_of(&error) {
            Some(id) => Self::Accepted(Receipt {
                id,
                is_replay: false,
                preview: None,
            }),
            None if error.is_ambiguous() => Self::Ambiguous,
            None => Self::Rejected,
        }
    }
}

fn submit_call<R: Resource>(client: &Client<R::Surface>, intent: &Intent) -> Call<Handle<R>> {
    let segments: Vec<_> = intent.segments.iter().map(String::as_str).collect();
    let call = client.submit_json(intent.operation, &segments, &intent.body);
    call.idempotency_key(intent.key.parse().unwrap())
}

fn id_of(error: &Error) -> Option<String> {
    let job = error.job_id().map(ToString::to_string);
    let run = error.run_id().map(ToString::to_string);
    let top_up = error.top_up_id().map(ToString::to_string);
    job.or(run)
        .or(top_up)
        .or_else(|| error.queue_id().map(|id| id.to_string()))
}

fn sdk_client<S: Surface>(
    base_url: &str,
    key: &str,
    network: &Arc<Network>,
    plan: &ClientPlan,
    seed: u64,
) -> Client<S> {
    Client::builder()
        .base_url(base_url)
        .api_key(ApiKey::new(key).unwrap())
        .transport(Arc::new(FaultyTransport(Arc::clone(network))))
        .retry(RetryPolicy::default().max_retries(plan.max_retries))
        .timeout(Duration::from_millis(plan.call_timeout_ms))
        .attempt_timeout(Duration::from_millis(plan.attempt_timeout_ms))
        .seed(seed)
        .build()
        .unwrap()
}

/// Returns all operations that read something.
pub(super) fn reads() -> impl Iterator<Item = Operation> {
    let all = Operation::ALL.iter().copied();
    all.filter(|operation| operation.method() == svc_sdk::contract::Method::Get)
}
