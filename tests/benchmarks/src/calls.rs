//! Typed calls of the SDK, beside reqwest and serde_json with types of their own.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_sdk::journal::Journal;
use svc_sdk::types::ImageGenerate;
use svc_sdk::{ApiKey, open};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::Outcome;
use crate::report::{Row, Unit};
use crate::server;
use crate::timing::{Costs, thread_time, wall_time};

/// The calls under way at the same time.
const IN_FLIGHT: u32 = 64;
/// The calls of each task in a round.
const CALLS: u32 = 40;
const ROUNDS: usize = 40;
/// The submits through a journal, with this many under way at the same time.
const JOURNALED: u32 = 10_000;
const JOURNALED_IN_FLIGHT: usize = 64;
const PEER: &str = "reqwest + serde_json";
const KEY: &str = "svc_open_demo";

#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded as a program with types of its own would")]
struct Status {
    job_id: String,
    status: String,
    terminal: bool,
    result_ready: bool,
    next_poll_after_seconds: Option<f64>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded as a program with types of its own would")]
struct WholeJob {
    id: String,
    status: String,
    #[serde(rename = "type")]
    job_type: String,
    model: String,
    price_usd: String,
    result: Option<Output>,
    metadata: Map<String, Value>,
    created_at: String,
    updated_at: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded as a program with types of its own would")]
struct Output {
    artifacts: Vec<Artifact>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded as a program with types of its own would")]
struct Artifact {
    id: String,
    url: String,
    media_type: String,
    content_type: String,
}

#[derive(Serialize)]
struct Submit<'a> {
    model: &'a str,
    prompt: &'a str,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded as a program with types of its own would")]
struct Receipt {
    request_id: String,
    job: Job,
    status_url: String,
    result_url: String,
    cancel_url: String,
    next_poll_after_seconds: Option<f64>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded as a program with types of its own would")]
struct Job {
    id: String,
    status: String,
    #[serde(rename = "type")]
    job_type: String,
    model: String,
    created_at: String,
    updated_at: String,
    price_usd: String,
}

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let server = server::axum()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let clients = Clients {
        own: open::Client::builder().base_url(server.url()).api_key(ApiKey::new(KEY)?).build()?,
        peer: reqwest::Client::builder()
            .pool_max_idle_per_host(IN_FLIGHT as usize)
            .no_proxy()
            .build()?,
        url: server.url(),
    };
    runtime.block_on(async {
        clients.own_get().await?;
        clients.peer_get().await?;
        clients.own_job().await?;
        clients.peer_job().await?;
        clients.own_submit().await?;
        clients.peer_submit().await
    })?;

    let mut rows = Vec::new();
    let gets = Costs::measure(
        ROUNDS,
        [
            &mut || cpu_each(&runtime, &clients, async |clients| clients.own_get().await),
            &mut || cpu_each(&runtime, &clients, async |clients| clients.peer_get().await),
        ],
    );
    let jobs = Costs::measure(
        ROUNDS,
        [
            &mut || cpu_each(&runtime, &clients, async |clients| clients.own_job().await),
            &mut || cpu_each(&runtime, &clients, async |clients| clients.peer_job().await),
        ],
    );
    let submits = Costs::measure(
        ROUNDS,
        [
            &mut || cpu_each(&runtime, &clients, async |clients| clients.own_submit().await),
            &mut || cpu_each(&runtime, &clients, async |clients| clients.peer_submit().await),
        ],
    );
    let get_allocations = [
        allocations_each(&runtime, || clients.own_get()),
        allocations_each(&runtime, || clients.peer_get()),
    ];
    let job_allocations = [
        allocations_each(&runtime, || clients.own_job()),
        allocations_each(&runtime, || clients.peer_job()),
    ];
    let submit_allocations = [
        allocations_each(&runtime, || clients.own_submit()),
        allocations_each(&runtime, || clients.peer_submit()),
    ];
    for (work, costs, allocations, goals) in [
        ("typed GET of a job's status, processor time", gets, get_allocations, ["1.10x", "+5"]),
        ("typed GET of a whole job, processor time", jobs, job_allocations, ["1.08x", "+5"]),
        ("typed submit, processor time", submits, submit_allocations, ["1.12x", "+10"]),
    ] {
        let [own, other] = costs.medians();
        let [cpu_goal, goal] = goals;
        rows.push(
            Row::new(work, Unit::Nanoseconds, own)
                .beside(PEER, other, costs.ratio(1))
                .goal(cpu_goal),
        );
        let [own, other] = allocations;
        rows.push(
            Row::new("… its allocations", Unit::Allocations, own)
                .beside(PEER, other, own / other)
                .goal(goal),
        );
    }
    rows.push(journaled_submits(&clients.url)?);
    Ok(rows)
}

/// Measures submits that a journal in files records, begin and receipt, before they return.
fn journaled_submits(url: &str) -> Outcome<Row> {
    let folder = tempfile::tempdir()?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let rate = runtime.block_on(async {
        let client = open::Client::builder()
            .base_url(url)
            .api_key(ApiKey::new(KEY)?)
            .journal(Journal::create(folder.path().join("journal")).await?)
            .max_in_flight(JOURNALED_IN_FLIGHT)
            .build()?;
        let mut tasks = JoinSet::new();
        let began = wall_time();
        for number in 0..JOURNALED {
            if tasks.len() >= JOURNALED_IN_FLIGHT
                && let Some(done) = tasks.join_next().await
            {
                done??;
            }
            let body = ImageGenerate::new("image-i").prompt("a red fox in snow");
            let call = client.images().generate(body);
            let call = call.submission_id(format!("order-{number}"));
            tasks.spawn(async move { call.await.map(drop) });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        let spent = wall_time().saturating_sub(began);
        Outcome::Ok(f64::from(JOURNALED) / spent.as_secs_f64())
    })?;
    Ok(Row::new("submits with a journal in files", Unit::PerSecond, rate).goal("1000 /s"))
}

#[derive(Clone)]
struct Clients {
    own: open::Client,
    peer: reqwest::Client,
    url: String,
}

impl Clients {
    async fn own_get(&self) -> Outcome<()> {
        self.own.jobs().handle("job_v5t2wk75fhe7363ypmm2").status().await?;
        Ok(())
    }

    async fn peer_get(&self) -> Outcome<()> {
        let id = "job_v5t2wk75fhe7363ypmm2";
        let request = self.peer.get(format!("{}/v1/jobs/{id}/status", self.url)).bearer_auth(KEY);
        let body = request.send().await?.error_for_status()?.bytes().await?;
        let status: Data<Status> = serde_json::from_slice(&body)?;
        drop(status.data);
        Ok(())
    }

    async fn own_job(&self) -> Outcome<()> {
        self.own.jobs().handle("job_v5t2wk75fhe7363ypmm2").get().await?;
        Ok(())
    }

    async fn peer_job(&self) -> Outcome<()> {
        let id = "job_v5t2wk75fhe7363ypmm2";
        let request = self.peer.get(format!("{}/v1/jobs/{id}", self.url)).bearer_auth(KEY);
        let body = request.send().await?.error_for_status()?.bytes().await?;
        let job: Data<WholeJob> = serde_json::from_slice(&body)?;
        drop(job.data);
        Ok(())
    }

    async fn own_submit(&self) -> Outcome<()> {
        let body = ImageGenerate::new("image-i").prompt("a red fox in snow");
        self.own.images().generate(body).await?;
        Ok(())
    }

    async fn peer_submit(&self) -> Outcome<()> {
        let body = Submit { model: "image-i", prompt: "a red fox in snow" };
        let request = self
            .peer
            .post(format!("{}/v1/image-router/generate", self.url))
            .bearer_auth(KEY)
            .header("content-type", "application/json")
            .header("idempotency-key", "c2a8a1b4-5d4e-4c0a-9d51-6f1f6d9b7f10")
            .body(serde_json::to_vec(&body)?);
        let body = request.send().await?.error_for_status()?.bytes().await?;
        let receipt: Data<Receipt> = serde_json::from_slice(&body)?;
        drop(receipt.data);
        Ok(())
    }
}

/// Returns the processor time of a call in nanoseconds, with many calls under way. The server has
/// another thread.
fn cpu_each<F>(runtime: &Runtime, clients: &Clients, call: F) -> f64
where
    F: AsyncFn(&Clients) -> Outcome<()> + Copy + 'static,
{
    let local = tokio::task::LocalSet::new();
    let began = thread_time();
    let result = local.block_on(runtime, async {
        let mut tasks = JoinSet::new();
        for _ in 0..IN_FLIGHT {
            let clients = clients.clone();
            tasks.spawn_local(async move {
                for _ in 0..CALLS {
                    call(&clients).await?;
                }
                Outcome::Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Outcome::Ok(())
    });
    let spent = thread_time().saturating_sub(began);
    match result {
        Ok(()) => spent.as_secs_f64() * 1e9 / f64::from(IN_FLIGHT * CALLS),
        Err(_) => f64::NAN,
    }
}

fn allocations_each<F: Future<Output = Outcome<()>>>(
    runtime: &Runtime,
    call: impl Fn() -> F,
) -> f64 {
    const COUNT: u32 = 500;
    let counted = allocation_counter::measure(|| {
        runtime.block_on(async {
            for _ in 0..COUNT {
                let _ = call().await;
            }
        });
    });
    counted.count_total as f64 / f64::from(COUNT)
}
