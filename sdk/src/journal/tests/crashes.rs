//! A process that crashes at each step of a submit, with others beside and after it, on a service that
//! keeps idempotency keys as the real one does. Deliberate defects are each noticed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt;

use super::super::file_store::{FileStore, SimulatedDisk};
use super::super::store::Store;
use super::super::{Journal, JournalError, MemoryStore, Recovered, Reuse, SpendLimit, lock};
use super::observed_store::{Crash, Defect, ObservedStore};
use super::{BUSY, Step, answer, clock, fox, price, receipt, refusal};
use crate::error::{Error, Result};
use crate::surface::{ClientSurface, Developer, Open};
use crate::transport::{ResponseFuture, Transport};
use crate::types::{Music1Generate, Usd, VideoGenerate};
use crate::{ApiKey, Client, RetryPolicy};

const HOUR: Duration = Duration::from_secs(60 * 60);
const LATENCY: Duration = Duration::from_millis(100);
/// What each job costs.
const PRICE: Usd = Usd::from_micros(200_000);
const LIMIT: Usd = Usd::from_micros(500_000);
/// More steps than a submit has.
const MAX_STEPS: usize = 40;

/// What the service does about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
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
struct Service {
    state: Mutex<ServiceState>,
}

#[derive(Debug, Default)]
struct ServiceState {
    answers: VecDeque<Answer>,
    /// The job of each key, the body, and when it was made.
    keys: HashMap<String, (String, Bytes, SystemTime)>,
    jobs: usize,
}

impl Service {
    fn new(answers: &[Answer]) -> Arc<Self> {
        let state =
            ServiceState { answers: answers.iter().copied().collect(), ..Default::default() };
        Arc::new(Self { state: Mutex::new(state) })
    }

    fn jobs(&self) -> usize {
        lock(&self.state).jobs
    }

    fn accept(&self, request: &http::Request<Bytes>) -> Step {
        let mut state = lock(&self.state);
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
struct Process {
    service: Arc<Service>,
    journal: Journal,
    crash: Arc<Crash>,
}

struct Network {
    service: Arc<Service>,
    crash: Arc<Crash>,
}

impl Transport for Network {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let (service, crash) = (Arc::clone(&self.service), Arc::clone(&self.crash));
        Box::pin(async move {
            if request.uri().path().contains("estimate") {
                return price("0.2000").into_result().await;
            }
            crash.step().await;
            clock::sleep(LATENCY).await;
            let next = lock(&service.state).answers.pop_front();
            let step = match next.unwrap_or(Answer::Receipt) {
                Answer::Busy => answer(503, BUSY).header("retry-after", 5),
                Answer::NoFunds => refusal(402, "insufficient_funds"),
                Answer::Receipt => service.accept(&request),
                Answer::Lost => {
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
enum Order {
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
    fn start(world: &World, steps: usize) -> Self {
        let crash = Crash::after(steps);
        let store = ObservedStore::new(world.disk.handle(), &crash, world.defect);
        Self { service: Arc::clone(&world.service), journal: Journal::with_store(store), crash }
    }

    fn with_files(service: &Arc<Service>, store: FileStore) -> Self {
        let (service, crash) = (Arc::clone(service), Crash::after(usize::MAX));
        Self { service, journal: Journal::with_store(store), crash }
    }

    fn client<S: ClientSurface>(&self, has_limit: bool) -> Client<S> {
        let network =
            Network { service: Arc::clone(&self.service), crash: Arc::clone(&self.crash) };
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
    async fn submit(self, order: Order, id: &str) -> Result<String> {
        let has_limit = order == Order::VideoWithLimit;
        let video = |body: VideoGenerate| {
            let client = self.client::<Open>(has_limit);
            client.videos().generate(body).submission_id(id)
        };
        let result = match order {
            Order::Video | Order::VideoWithLimit => video(fox().duration(5)).await,
            Order::VideoInOtherBytes => {
                let body = VideoGenerate::new("video-f").duration(5);
                video(body.field("prompt", "a red fox")).await
            }
            Order::Music => {
                let body = Music1Generate::new("jazz");
                let client = self.client::<Developer>(false);
                let call = client.music().generate(body).submission_id(id);
                return call.await.map(|job| job.id().to_string());
            }
        };
        result.map(|job| job.id().to_string())
    }
}

/// The service and the disk, which outlive the processes.
struct World {
    service: Arc<Service>,
    disk: MemoryStore,
    defect: Option<Defect>,
}

impl World {
    fn new(defect: Option<Defect>, answers: &[Answer]) -> Self {
        Self { service: Service::new(answers), disk: MemoryStore::new(), defect }
    }

    /// Runs a process that does not crash.
    async fn submit(&self, order: Order, id: &str) -> Result<String> {
        Process::start(self, usize::MAX).submit(order, id).await
    }

    /// Checks what the last process of an order was told.
    async fn check(&self, order: Order, last: Result<String>) -> Result<(), String> {
        check(&self.service, &self.disk, order, last).await
    }
}

/// Checks what was made of an order, of what the last process was told of it, and of its budget.
async fn check(
    service: &Service,
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

async fn check_budget(service: &Service, store: &dyn Store) -> Result<(), String> {
    let totals = store.budget("", "orders").await.unwrap();
    let hold = totals.hold;
    let sum = hold.reserved.as_micros() + hold.captured.as_micros() + hold.undecided.as_micros();
    let charged = PRICE.as_micros() * i64::try_from(service.jobs()).unwrap();
    let is_kept = charged <= sum && sum <= LIMIT.as_micros();
    is_kept.then_some(()).ok_or_else(|| format!("{charged} charged, {totals:?}"))
}

/// When the second process submits the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    After,
    AtOnce,
    ASecondLater,
}

fn is_undecided(error: &Error) -> bool {
    matches!(error.journal(), Some(JournalError::Undecided(_)))
}

/// Runs two processes with one order, of which the first one crashes at that step, and others a day
/// later. Returns whether it crashed, and what is wrong.
async fn run(
    defect: Option<Defect>,
    answers: &[Answer],
    (first, later): (Order, Order),
    second: Second,
    steps: usize,
) -> (bool, Result<(), String>) {
    let world = World::new(defect, answers);
    let process = Process::start(&world, steps);
    let crash = Arc::clone(&process.crash);
    let first = tokio::spawn(process.submit(first, "order-1"));
    if second == Second::After {
        let _ = first.await.unwrap();
        let _ = world.submit(later, "order-1").await;
    } else {
        if second == Second::ASecondLater {
            clock::sleep(Duration::from_secs(1)).await;
        }
        let _ = world.submit(later, "order-1").await;
        let _ = first.await.unwrap();
    }
    // The last ones come when the key has almost expired, and when it has expired.
    let mut last = None;
    for pause in [20 * HOUR, 10 * HOUR] {
        clock::sleep_computer(pause);
        last = Some(world.submit(later, "order-1").await);
    }
    (crash.has_happened(), world.check(later, last.unwrap()).await)
}

/// Runs all combinations. Returns how many there were, and the first violation.
async fn explore(defect: Option<Defect>) -> (usize, Option<String>) {
    use Answer::{Busy, Lost, NoFunds};

    let orders = [
        (Order::Video, Order::Video),
        (Order::Video, Order::VideoInOtherBytes),
        (Order::VideoWithLimit, Order::VideoWithLimit),
        (Order::Music, Order::Music),
    ];
    let scripts: [&[Answer]; 7] = [
        &[],
        &[Lost],
        &[Busy],
        &[NoFunds],
        &[Busy, Lost],
        &[Lost, Busy],
        &[Lost, Lost, NoFunds, Lost],
    ];
    let mut runs = 0;
    for answers in scripts {
        for order in orders {
            for second in [Second::After, Second::AtOnce, Second::ASecondLater] {
                for steps in 1..=MAX_STEPS {
                    let (has_crashed, outcome) = run(defect, answers, order, second, steps).await;
                    runs += 1;
                    if let Err(violation) = outcome {
                        let case = format!("{answers:?} {order:?} {second:?}, step {steps}");
                        return (runs, Some(format!("{case}: {violation}")));
                    }
                    if !has_crashed {
                        break;
                    }
                }
            }
        }
    }
    (runs, None)
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_step_neither_pays_twice_nor_loses_anything() {
    let (runs, violation) = explore(None).await;
    assert_eq!(violation, None);
    assert!(runs > 500, "{runs}");
}

/// Submits on files whose disk crashes after so many operations, and thrice after that. Returns whether
/// it crashed, and what is wrong.
async fn run_on_files(
    answers: &[Answer],
    order: Order,
    operations: u32,
) -> (bool, Result<(), String>) {
    let service = Service::new(answers);
    let disk = SimulatedDisk::new(u64::from(operations));
    disk.crash_after(operations, Default::default());
    if let Ok(store) = FileStore::on_simulated_disk(&disk) {
        let _ = Process::with_files(&service, store).submit(order, "order-1").await;
    }
    let has_crashed = disk.has_crashed();
    let mut last = None;
    for pause in [Duration::ZERO, 20 * HOUR, 10 * HOUR] {
        clock::sleep_computer(pause);
        disk.restart();
        let store = FileStore::on_simulated_disk(&disk).unwrap();
        let submitted = Process::with_files(&service, store.clone()).submit(order, "order-1").await;
        last = Some((store, submitted));
    }
    let (store, submitted) = last.unwrap();
    (has_crashed, check(&service, &store, order, submitted).await)
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_operation_of_the_disk_neither_pays_twice_nor_loses_anything() {
    let scripts: [&[Answer]; 3] = [&[], &[Answer::Lost], &[Answer::Busy, Answer::Lost]];
    for answers in scripts {
        for order in [Order::Video, Order::VideoWithLimit, Order::Music] {
            let mut operations = 0;
            loop {
                let (has_crashed, outcome) = run_on_files(answers, order, operations).await;
                assert_eq!(outcome, Ok(()), "{answers:?} {order:?}, operation {operations}");
                if !has_crashed {
                    break;
                }
                operations += 1;
            }
            assert!(operations > 20, "{operations}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_the_store_does_not_make_a_sent_request_one_that_did_not_run() {
    let (_, violation) = explore(Some(Defect::AnswerLost)).await;
    assert_eq!(violation, None);
}

/// Two processes find what a third one left; the one that claims it later finds it submitted.
#[tokio::test(start_paused = true)]
async fn what_was_read_before_a_claim_is_read_again() {
    for steps in 1..=MAX_STEPS {
        let world = World::new(Some(Defect::PauseBeforeClaim), &[Answer::Busy]);
        let _ = Process::start(&world, steps).submit(Order::Music, "order-1").await;
        let mut processes = Vec::new();
        for _ in 0..2 {
            let process = Process::start(&world, usize::MAX);
            processes.push(tokio::spawn(process.submit(Order::Music, "order-1")));
            clock::sleep(Duration::from_secs(30)).await;
        }
        for process in processes {
            let _ = process.await.unwrap();
        }
        assert!(world.service.jobs() <= 1, "step {steps}");
    }
}

/// What another process acknowledged since it was read is neither recovered nor adopted.
#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_before_a_claim_is_left_alone() {
    for is_recovery in [true, false] {
        let world = World::new(Some(Defect::PauseBeforeClaim), &[]);
        world.submit(Order::Video, "order-1").await.unwrap();
        let take_over = async |pause| {
            clock::sleep(pause).await;
            let client = Process::start(&world, usize::MAX).client::<Open>(false);
            let job = match is_recovery {
                true => match client.recover().next().await? {
                    Ok(Recovered::Job(job)) => job,
                    other => panic!("{other:?}"),
                },
                false => {
                    let call = client.videos().generate(fox().duration(5));
                    let call = call.submission_id("order-1").reuse(Reuse::ContinueAbandoned);
                    call.await.unwrap()
                }
            };
            job.acknowledge().await.unwrap();
            Some(job.id().to_string())
        };
        let later = Duration::from_secs(4);
        let (first, second) = tokio::join!(take_over(Duration::ZERO), take_over(later));
        assert_eq!(first.as_deref(), Some("job_1"));
        let expected = (!is_recovery).then_some("job_2");
        assert_eq!(second.as_deref(), expected, "recovery: {is_recovery}");
    }
}

#[tokio::test(start_paused = true)]
async fn deliberate_defects_are_noticed() {
    for defect in [
        Defect::SentBeforeSync,
        Defect::GenerationNotCompared,
        Defect::OwnershipIgnored,
        Defect::ExpiryFromLastRecord,
        Defect::ConflictTakenAsRefused,
        Defect::UnknownTakenAsNothingRan,
        Defect::ReceiptLost,
    ] {
        let (_, violation) = explore(Some(defect)).await;
        assert!(violation.is_some(), "{defect:?} was not noticed");
    }
}

/// Submits ten orders from three processes at once, under a limit that two of them fit into.
async fn reserve_at_once(defect: Option<Defect>) -> (usize, Result<(), String>) {
    let world = World::new(defect, &[]);
    let processes = [(); 3].map(|()| Process::start(&world, usize::MAX));
    let clients = processes.each_ref().map(|it| it.client::<Open>(true));
    let submits = (0..10).map(|number: usize| {
        let id = format!("order-{number}");
        let client = &clients[number % clients.len()];
        client.videos().generate(fox()).submission_id(id).into_future()
    });
    let results = futures_util::future::join_all(submits).await;
    for error in results.iter().filter_map(|it| it.as_ref().err()) {
        let is_limit = matches!(error.journal(), Some(JournalError::OverBudget { .. }));
        assert!(is_limit, "{error}");
    }
    let submitted = results.iter().filter(|it| it.is_ok()).count();
    (submitted, check_budget(&world.service, &world.disk).await)
}

/// Another body under the same derived key proves that the order was submitted, even if no journal
/// tells.
#[tokio::test(start_paused = true)]
async fn an_order_of_a_journal_that_was_lost_is_not_paid_again_in_other_bytes() {
    let mut world = World::new(None, &[]);
    world.submit(Order::Video, "order-1").await.unwrap();
    world.disk = MemoryStore::new();
    let order = Order::VideoInOtherBytes;
    let error = world.submit(order, "order-1").await.unwrap_err();
    assert!(!is_undecided(&error), "{error}");
    let error = world.submit(order, "order-1").await.unwrap_err();
    assert!(is_undecided(&error), "{error}");
    assert_eq!(world.service.jobs(), 1);
}

#[tokio::test(start_paused = true)]
async fn three_processes_keep_one_limit() {
    assert_eq!(reserve_at_once(None).await, (2, Ok(())));
    let (_, outcome) = reserve_at_once(Some(Defect::ReservationNotAtomic)).await;
    outcome.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_submit_that_is_dropped_at_any_poll_goes_on_to_its_receipt() {
    for polls in 0..200 {
        let world = World::new(None, &[Answer::Busy]);
        let process = Process::start(&world, usize::MAX);
        let client = process.client::<Developer>(false);
        let body = Music1Generate::new("jazz");
        let call = client.music().generate(body).submission_id("order-1");
        let mut call = Box::pin(call.into_future());
        let mut is_ready = false;
        for _ in 0..polls {
            is_ready = (&mut call).now_or_never().is_some();
            if is_ready {
                break;
            }
            // Some polls come at once, and others after a pause.
            match polls % 2 {
                0 => tokio::task::yield_now().await,
                _ => clock::sleep(Duration::from_millis(90)).await,
            }
        }
        drop(call);
        client.drain().await;
        let entry = process.journal.find("", "order-1").await.unwrap();
        if polls == 0 {
            assert_eq!((entry, world.service.jobs()), (None, 0));
            continue;
        }
        assert_eq!(entry.unwrap().state, super::EntryState::Accepted, "{polls}");
        assert_eq!(world.service.jobs(), 1, "{polls}");
        if is_ready {
            return;
        }
    }
    panic!("the submit did not end");
}
