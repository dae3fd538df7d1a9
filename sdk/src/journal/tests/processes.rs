//! Processes that submit orders, on a service that keeps idempotency keys as the real one does.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::super::file_store::FileStore;
use super::super::store::Store;
use super::super::{Journal, MemoryStore, SpendLimit, lock};
use super::observed_store::{Crash, Defect, ObservedStore};
use super::{BUSY, Step, answer, clock, fox, is_undecided, price, receipt, refusal};
use crate::error::Result;
use crate::handle::{Handle, Resource};
use crate::surface::{ClientSurface, Developer, Open};
use crate::transport::{ResponseFuture, Transport};
use crate::types::{Music1Generate, Usd, VideoGenerate};
use crate::{ApiKey, Call, Client, RetryPolicy};

pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
const LATENCY: Duration = Duration::from_millis(100);
/// What each job costs.
const PRICE: Usd = Usd::from_micros(200_000);
const LIMIT: Usd = Usd::from_micros(500_000);

/// What the service does about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmitAnswer {
    Receipt,
    /// It accepts the request, and the answer is lost.
    Lost,
    /// Nothing ran, and it can be tried again in five seconds.
    Busy,
    /// It is refused before the service looks for the key.
    NoFunds,
}

/// A service that keeps the keys of one of its operations for a day.
#[derive(Debug, Default)]
pub(super) struct SubmitService(Mutex<ServiceState>);

#[derive(Debug, Default)]
struct ServiceState {
    answers: VecDeque<SubmitAnswer>,
    /// The job of each key, the body, and when it was made.
    keys: HashMap<String, (String, Bytes, SystemTime)>,
    jobs: usize,
}

impl SubmitService {
    pub(super) fn new(answers: &[SubmitAnswer]) -> Arc<Self> {
        let state =
            ServiceState { answers: answers.iter().copied().collect(), ..Default::default() };
        Arc::new(Self(Mutex::new(state)))
    }

    pub(super) fn jobs(&self) -> usize {
        lock(&self.0).jobs
    }

    fn accept(&self, request: &http::Request<Bytes>) -> Step {
        let mut state = lock(&self.0);
        let is_documented = !request.uri().path().contains("music");
        let key = &request.headers()["idempotency-key"];
        let key = key.to_str().unwrap().to_owned();
        if let Some((job, body, made_at)) = state.keys.get(&key)
            && is_documented
            && clock::wall().duration_since(*made_at).unwrap() < 24 * HOUR
        {
            return match body == request.body() {
                true => receipt(job),
                false => refusal(409, "idempotency_conflict"),
            };
        }
        state.jobs += 1;
        let job = format!("job_{}", state.jobs);
        let made = (job.clone(), request.body().clone(), clock::wall());
        state.keys.insert(key, made);
        receipt(&job)
    }
}

/// A process that submits, up to a step at which it crashes.
pub(super) struct Process {
    service: Arc<SubmitService>,
    pub(super) journal: Journal,
    pub(super) crash: Arc<Crash>,
    /// Whether its submits run without tasks of their own, so that a drop ends them.
    is_direct: bool,
}

struct CrashingNetwork {
    service: Arc<SubmitService>,
    crash: Arc<Crash>,
}

impl Transport for CrashingNetwork {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let (service, crash) = (Arc::clone(&self.service), Arc::clone(&self.crash));
        Box::pin(async move {
            if request.uri().path().contains("estimate") {
                return price("0.2000").into_result().await;
            }
            crash.step().await;
            clock::sleep(LATENCY).await;
            let next = lock(&service.0).answers.pop_front();
            let step = match next.unwrap_or(SubmitAnswer::Receipt) {
                SubmitAnswer::Busy => answer(503, BUSY).header("retry-after", 5),
                SubmitAnswer::NoFunds => refusal(402, "insufficient_funds"),
                SubmitAnswer::Receipt => service.accept(&request),
                SubmitAnswer::Lost => {
                    service.accept(&request);
                    Step::ConnectionReset
                }
            };
            crash.step().await;
            clock::sleep(LATENCY).await;
            step.into_result().await
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The service documents that it recognizes its key.
    Video,
    /// The same request, from a version of the SDK that writes other bytes.
    VideoInOtherBytes,
    /// A budget applies to it.
    VideoWithLimit,
    /// The service does not document that it recognizes its key.
    Music,
}

impl Process {
    pub(super) fn start(world: &World, steps: usize) -> Self {
        let crash = Crash::after(steps);
        let store = ObservedStore::new(world.disk.handle(), &crash, world.defect);
        Self {
            service: Arc::clone(&world.service),
            journal: Journal::with_store(store),
            crash,
            is_direct: false,
        }
    }

    pub(super) fn with_files(service: &Arc<SubmitService>, store: FileStore) -> Self {
        let (service, crash) = (Arc::clone(service), Crash::after(usize::MAX));
        Self { service, journal: Journal::with_store(store), crash, is_direct: true }
    }

    pub(super) fn client<S: ClientSurface>(&self, has_limit: bool) -> Client<S> {
        let network =
            CrashingNetwork { service: Arc::clone(&self.service), crash: Arc::clone(&self.crash) };
        let mut builder = Client::<S>::builder()
            .base_url("https://api.example")
            .api_key(ApiKey::new("canary-key").unwrap())
            .transport(Arc::new(network))
            .retry(RetryPolicy::default().max_retries(1))
            .journal(self.journal.clone())
            .task_group(&self.crash.group);
        if has_limit {
            builder = builder.spend_limit(SpendLimit::new("orders", LIMIT));
        }
        builder.build().unwrap()
    }

    /// Submits the order, until the end of the process. Returns the id of its job.
    pub(super) async fn submit(self, order: Order, id: &str) -> Result<String> {
        let has_limit = order == Order::VideoWithLimit;
        let body = match order {
            Order::Video | Order::VideoWithLimit => fox().duration(5),
            Order::VideoInOtherBytes => {
                VideoGenerate::new("video-f").duration(5).field("prompt", "a red fox")
            }
            Order::Music => {
                let client = self.client::<Developer>(false);
                return self.send(client.music().generate(Music1Generate::new("jazz")), id).await;
            }
        };
        self.send(self.client::<Open>(has_limit).videos().generate(body), id).await
    }

    async fn send<R: Resource>(&self, call: Call<Handle<R>>, id: &str) -> Result<String> {
        let mut call = call.submission_id(id);
        let handle = match self.is_direct {
            true => call.send(|handle, _| handle)?.await?,
            false => call.await?,
        };
        Ok(handle.id().as_ref().to_owned())
    }
}

/// The service and the disk, which outlive the processes.
pub(super) struct World {
    pub(super) service: Arc<SubmitService>,
    pub(super) disk: MemoryStore,
    defect: Option<Defect>,
}

impl World {
    pub(super) fn new(defect: Option<Defect>, answers: &[SubmitAnswer]) -> Self {
        Self { service: SubmitService::new(answers), disk: MemoryStore::new(), defect }
    }

    /// Runs a process that does not crash.
    pub(super) async fn submit(&self, order: Order, id: &str) -> Result<String> {
        Process::start(self, usize::MAX).submit(order, id).await
    }
}

/// Checks what was made of an order, of what the last process was told of it, and of its budget.
pub(super) async fn check(
    service: &SubmitService,
    store: &dyn Store,
    order: Order,
    last: Result<String>,
) -> Result<(), String> {
    let jobs = service.jobs();
    match last {
        _ if jobs > 1 => Err(format!("{jobs} jobs")),
        Ok(job) if job != "job_1" => Err(format!("{job} in place of job_1")),
        Err(error) if !is_undecided(&error) => Err(error.to_string()),
        _ if order == Order::VideoWithLimit => check_budget(service, store).await,
        _ => Ok(()),
    }
}

async fn check_budget(service: &SubmitService, store: &dyn Store) -> Result<(), String> {
    let totals = store.budget("", "orders").await.unwrap();
    let hold = totals.hold;
    let sum = hold.reserved.as_micros() + hold.captured.as_micros() + hold.undecided.as_micros();
    let charged = PRICE.as_micros() * i64::try_from(service.jobs()).unwrap();
    let is_kept = charged <= sum && sum <= LIMIT.as_micros();
    is_kept.then_some(()).ok_or_else(|| format!("{charged} charged, {totals:?}"))
}
