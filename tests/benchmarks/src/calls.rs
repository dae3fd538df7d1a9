//! Typed calls of the SDK, beside reqwest and serde_json with types of their own.

use serde::Serialize;
use serde::de::DeserializeOwned;
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
const JOB: &str = "job_v5t2wk75fhe7363ypmm2";
const PROMPT: &str = "a red fox in snow";

/// What is called.
#[derive(Clone, Copy)]
enum Work {
    Status,
    Job,
    Submit,
}

/// The types of a program that decodes with types of its own.
mod peer {
    #![expect(dead_code, reason = "what is decoded is not used")]

    use serde::Deserialize;
    use serde_json::{Map, Value};

    #[derive(Deserialize)]
    pub(super) struct Data<T> {
        data: T,
    }

    #[derive(Deserialize)]
    pub(super) struct Status {
        job_id: String,
        status: String,
        terminal: bool,
        result_ready: bool,
        next_poll_after_seconds: Option<f64>,
    }

    #[derive(Deserialize)]
    pub(super) struct Job {
        id: String,
        status: String,
        #[serde(rename = "type")]
        job_type: String,
        model: String,
        price_usd: String,
        result: Option<Output>,
        metadata: Option<Map<String, Value>>,
        created_at: String,
        updated_at: String,
    }

    #[derive(Deserialize)]
    struct Output {
        artifacts: Vec<Artifact>,
    }

    #[derive(Deserialize)]
    struct Artifact {
        id: String,
        url: String,
        media_type: String,
        content_type: String,
    }

    #[derive(Deserialize)]
    pub(super) struct Receipt {
        request_id: String,
        job: Job,
        status_url: String,
        result_url: String,
        cancel_url: String,
        next_poll_after_seconds: Option<f64>,
    }
}

#[derive(Serialize)]
struct Submit<'a> {
    model: &'a str,
    prompt: &'a str,
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
    let mut rows = Vec::new();
    for (work, name, [cpu_goal, goal]) in [
        (Work::Status, "typed GET of a job's status, processor time", ["1.10x", "+5"]),
        (Work::Job, "typed GET of a whole job, processor time", ["1.08x", "+5"]),
        (Work::Submit, "typed submit, processor time", ["1.12x", "+10"]),
    ] {
        for is_own in [true, false] {
            runtime.block_on(clients.call(is_own, work))?;
        }
        let cpu = |is_own| cpu_each(&runtime, &clients, is_own, work);
        let costs = Costs::measure(ROUNDS, [&mut || cpu(true), &mut || cpu(false)]);
        rows.push(Row::compared(name, Unit::Nanoseconds, PEER, &costs).goal(cpu_goal));
        let [own, other] =
            [true, false].map(|is_own| allocations_each(&runtime, &clients, is_own, work));
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
            let body = ImageGenerate::new("image-i").prompt(PROMPT);
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
    async fn call(&self, is_own: bool, work: Work) -> Outcome<()> {
        if is_own { self.own(work).await } else { self.peer(work).await }
    }

    async fn own(&self, work: Work) -> Outcome<()> {
        let job = || self.own.jobs().handle(JOB);
        match work {
            Work::Status => drop(job().status().await?),
            Work::Job => drop(job().get().await?),
            Work::Submit => {
                let body = ImageGenerate::new("image-i").prompt(PROMPT);
                drop(self.own.images().generate(body).await?);
            }
        }
        Ok(())
    }

    async fn peer(&self, work: Work) -> Outcome<()> {
        let url = &self.url;
        match work {
            Work::Status => {
                let request = self.peer.get(format!("{url}/v1/jobs/{JOB}/status"));
                read::<peer::Status>(request).await
            }
            Work::Job => {
                let request = self.peer.get(format!("{url}/v1/jobs/{JOB}"));
                read::<peer::Job>(request).await
            }
            Work::Submit => {
                let body = Submit { model: "image-i", prompt: PROMPT };
                let request = self
                    .peer
                    .post(format!("{url}/v1/image-router/generate"))
                    .header("content-type", "application/json")
                    .header("idempotency-key", "c2a8a1b4-5d4e-4c0a-9d51-6f1f6d9b7f10")
                    .body(serde_json::to_vec(&body)?);
                read::<peer::Receipt>(request).await
            }
        }
    }
}

/// Sends a request of the peer, and decodes the response.
async fn read<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Outcome<()> {
    let response = request.bearer_auth(KEY).send().await?.error_for_status()?;
    let decoded: peer::Data<T> = serde_json::from_slice(&response.bytes().await?)?;
    drop(decoded);
    Ok(())
}

/// Returns the processor time of a call in nanoseconds, with many calls under way. The server has
/// another thread.
fn cpu_each(runtime: &Runtime, clients: &Clients, is_own: bool, work: Work) -> f64 {
    let local = tokio::task::LocalSet::new();
    let began = thread_time();
    let result = local.block_on(runtime, async {
        let mut tasks = JoinSet::new();
        for _ in 0..IN_FLIGHT {
            let clients = clients.clone();
            tasks.spawn_local(async move {
                for _ in 0..CALLS {
                    clients.call(is_own, work).await?;
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

fn allocations_each(runtime: &Runtime, clients: &Clients, is_own: bool, work: Work) -> f64 {
    const COUNT: u32 = 500;
    let counted = allocation_counter::measure(|| {
        runtime.block_on(async {
            for _ in 0..COUNT {
                let _ = clients.call(is_own, work).await;
            }
        });
    });
    counted.count_total as f64 / f64::from(COUNT)
}
