//! Waits: what one keeps in memory, how many calls it makes, and how late it ends.
//!
//! Time is virtual: the waits of a minute take as long as their processor time.

use std::sync::Arc;
use std::time::Duration;

use svc_sdk::transport::Transport;
use svc_sdk::{ApiKey, open};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::Outcome;
use crate::fleet::Fleet;
use crate::report::{Row, Unit};
use crate::svc_process::resident_memory;

/// The reads per minute of a key.
const FREE: u32 = 4_800;
const ENTERPRISE: u32 = 48_000;
const UNLIMITED: u32 = 1_000_000_000;
/// The time from a request to its response.
const LATENCY: Duration = Duration::from_millis(20);
const LONG_JOB: Duration = Duration::from_secs(105);
const SHORT_JOB: Duration = Duration::from_secs(15);

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    // The most first, as the others would use again what it has freed.
    for count in [100_000, 10_000, 1_000] {
        let resident = || resident_memory("/proc/self/status").map(|(now, _)| now);
        let (before, (memory, waits)) = (resident(), memory(count)?);
        let row = Row::new(format!("memory of a waiter, {count} at once"), Unit::Bytes, memory);
        rows.push(if count == 10_000 { row.goal("1000 B") } else { row });
        if let (100_000, Some(before), Some(now)) = (count, before, resident()) {
            let each = (now - before) / count as f64;
            let row = Row::new("… its resident memory", Unit::Bytes, each);
            rows.push(row.goal("1500 B"));
        }
        drop(waits);
    }
    let one = run(&[LONG_JOB], ENTERPRISE)?;
    rows.push(Row::new("a job of 105 s: calls", Unit::Calls, one.calls).goal("16 calls"));
    rows.push(
        Row::new("a job of 105 s: how late the wait ends", Unit::Seconds, one.worst).goal("0.2 s"),
    );
    // Jobs one after the other, each with another fraction of a second.
    let alone =
        (0..100).map(|number| run(&[LONG_JOB + Duration::from_millis(number * 37)], ENTERPRISE));
    let alone: Vec<Run> = alone.collect::<Outcome<_>>()?;
    let worst = alone.iter().map(|run| run.worst).fold(0.0, f64::max);
    rows.push(
        Row::new("worst of 100 such jobs, one at a time", Unit::Seconds, worst).goal("0.3 s"),
    );
    let together: Vec<_> =
        (0..100).map(|number| LONG_JOB + Duration::from_millis(number * 37)).collect();
    let worst = run(&together, ENTERPRISE)?.worst;
    rows.push(Row::new("worst of 100 such jobs at once", Unit::Seconds, worst).goal("0.3 s"));
    let run_of_many = run(&vec![LONG_JOB; 10_000], FREE)?;
    let work = |what: &str| format!("10,000 jobs that end at 105 s, Free: {what}");
    rows.push(Row::new(work("mean lateness"), Unit::Seconds, run_of_many.mean));
    rows.push(Row::new(work("worst lateness"), Unit::Seconds, run_of_many.worst).goal("2 s"));
    rows.push(Row::new(work("refused requests"), Unit::Refusals, run_of_many.refused).goal("0"));
    for count in [1_000, 10_000, 100_000] {
        let run = run(&vec![SHORT_JOB; count], ENTERPRISE)?;
        let work = |what: &str| format!("{count} jobs that end at 15 s, Enterprise: {what}");
        rows.push(Row::new(work("calls a waiter"), Unit::Calls, run.calls));
        rows.push(Row::new(work("worst lateness"), Unit::Seconds, run.worst));
    }
    Ok(rows)
}

fn runtime() -> Outcome<Runtime> {
    Ok(Builder::new_current_thread().enable_time().start_paused(true).build()?)
}

fn client(transport: impl Transport) -> Outcome<open::Client> {
    Ok(open::Client::builder()
        .base_url("https://api.example")
        .api_key(ApiKey::new("svc_open_demo")?)
        .transport(Arc::new(transport))
        .seed(7)
        .build()?)
}

/// Returns the bytes that a waiter keeps while it sleeps: its task, its future and its timers. The waits
/// go on sleeping.
fn memory(count: usize) -> Outcome<(f64, (JoinSet<bool>, Runtime))> {
    let runtime = runtime()?;
    let (fleet, client) = runtime.block_on(async {
        let fleet = Fleet::new(vec![Duration::from_secs(3_600); count], UNLIMITED, Duration::ZERO);
        let client = client(fleet.clone())?;
        // The window is known before the waits begin.
        client.jobs().handle(Fleet::id(0)).status().await?;
        Outcome::Ok((fleet, client))
    })?;
    let mut waits = JoinSet::new();
    let memory = allocation_counter::measure(|| {
        runtime.block_on(async {
            for number in 0..count {
                let wait = client.jobs().handle(Fleet::id(number)).wait();
                waits.spawn(async move { wait.await.is_ok() });
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        });
    });
    if fleet.calls().total < count as u64 / 10 && count < 100 {
        return Err("the waits were not polled".into());
    }
    Ok((memory.bytes_current as f64 / count as f64, (waits, runtime)))
}

struct Run {
    /// The calls of each waiter, on average.
    calls: f64,
    refused: f64,
    /// How late the waits ended, in seconds.
    mean: f64,
    worst: f64,
}

/// Waits for jobs that end at these times.
fn run(ends: &[Duration], reads: u32) -> Outcome<Run> {
    let count = ends.len();
    let (fleet, late) = runtime()?.block_on(async {
        let fleet = Fleet::new(ends.to_vec(), reads, LATENCY);
        let client = client(fleet.clone())?;
        let mut waits = JoinSet::new();
        for number in 0..count {
            let wait = client.jobs().handle(Fleet::id(number)).wait();
            let end = fleet.end(number);
            waits.spawn(async move {
                wait.await?;
                Outcome::Ok(now().saturating_duration_since(end).as_secs_f64())
            });
        }
        let mut late = Vec::with_capacity(count);
        while let Some(done) = waits.join_next().await {
            late.push(done??);
        }
        Outcome::Ok((fleet, late))
    })?;
    let calls = fleet.calls();
    Ok(Run {
        calls: calls.total as f64 / count as f64,
        refused: calls.refused as f64,
        mean: late.iter().sum::<f64>() / count as f64,
        worst: late.iter().copied().fold(0.0, f64::max),
    })
}

#[expect(clippy::disallowed_methods, reason = "the runtime's paused clock")]
fn now() -> Instant {
    Instant::now()
}
