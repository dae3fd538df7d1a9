//! The SDK on the mock in virtual time: bad networks, long jobs, many waiters.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use svc_mock_server::engine::{Fault, FaultKind, Time};
use svc_mock_server::{InProcess, Setup};
use svc_sdk::contract::Plan;
use svc_sdk::download::DownloadedFile;
use svc_sdk::types::{ImageGenerate, Usd, VideoGenerate};
use svc_sdk::{JobHandle, Open, RetryPolicy, open};
use tokio::task::JoinSet;
use tokio::time::Instant;

fn client(mock: &InProcess, retry: RetryPolicy) -> open::Client {
    crate::open_client(mock).retry(retry).seed(11).build().unwrap()
}

fn fault(kind: FaultKind, probability: f64) -> Fault {
    serde_json::from_value(serde_json::json!({"kind": kind, "probability": probability})).unwrap()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn sum(ledger: &[Value], kind: &str) -> Usd {
    ledger
        .iter()
        .filter(|entry| text(entry, "kind") == kind)
        .map(|entry| text(entry, "amount_usd").parse::<Usd>().unwrap())
        .sum()
}

/// Submits until it is answered: what gave up is sent again with the key that its error names.
async fn submitted(client: &open::Client, image: &ImageGenerate) -> JobHandle<Open> {
    let mut submit = client.images().generate(image);
    loop {
        match submit.await {
            Ok(job) => return job,
            Err(error) => {
                let key = error.idempotency_key().cloned().unwrap();
                submit = client.images().generate(image).idempotency_key(key);
            }
        }
    }
}

/// Downloads until all is there: an error names the job, and what is on disk is gone on from.
async fn downloaded(job: &JobHandle<Open>, folder: &Path) -> Vec<DownloadedFile> {
    loop {
        match job.download(folder).await {
            Ok(files) => return files,
            Err(error) => assert_eq!(error.job_id(), Some(job.id())),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_runs_through_a_bad_network_are_a_thousand_jobs_charges_and_results() {
    const RUNS: usize = 1_000;
    let mock = InProcess::new(
        Setup::default()
            .plan(Plan::Scale)
            .balance_usd(1_000)
            // After the daily run of an Action, whose charge would be counted.
            .epoch(Time::from_micros(1_800_007_200_000_000))
            .seed(5),
    );
    let kinds = [
        FaultKind::DropAfter,
        FaultKind::DropBefore,
        FaultKind::Status503,
        FaultKind::Status429,
        FaultKind::Truncate,
        FaultKind::Status502Html,
    ];
    // Six rules, one after the other, that let seven in ten requests through.
    let each = 1.0 - 0.7_f64.powf(1.0 / 6.0);
    for kind in kinds {
        mock.add_fault(fault(kind, each)).unwrap();
    }
    let client = client(&mock, RetryPolicy::default());
    let folder = tempfile::tempdir().unwrap();

    let mut under_way = JoinSet::new();
    let (mut ids, mut files) = (HashSet::new(), 0);
    for number in 0..RUNS {
        if under_way.len() == 50 {
            let (id, count) = under_way.join_next().await.unwrap().unwrap();
            assert!(ids.insert(id));
            files += count;
        }
        let (client, folder) = (client.clone(), folder.path().to_owned());
        under_way.spawn(async move {
            let image = ImageGenerate::new("image-i").prompt(format!("fox {number}"));
            let job = submitted(&client, &image).await;
            job.wait().await.unwrap();
            let files = downloaded(&job, &folder).await;
            for file in &files {
                assert_eq!(std::fs::metadata(&file.path).unwrap().len(), file.bytes);
            }
            (job.id().clone(), files.len())
        });
    }
    while let Some(done) = under_way.join_next().await {
        let (id, count) = done.unwrap();
        assert!(ids.insert(id));
        files += count;
    }
    assert_eq!((ids.len(), files), (RUNS, RUNS));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), RUNS, "no partial file is left");

    mock.clear_faults();
    assert_eq!(mock.jobs().len(), RUNS);
    let ledger = mock.ledger();
    let entries = ledger["data"].as_array().unwrap();
    let price: Usd = "0.0050".parse().unwrap();
    let all = price.checked_mul(1_000).unwrap();
    assert_eq!(sum(entries, "reservation"), all);
    assert_eq!(sum(entries, "capture"), all);
    assert_eq!(sum(entries, "refund"), Usd::ZERO);
    let charged: HashSet<_> = entries
        .iter()
        .filter(|e| text(e, "kind") == "capture")
        .map(|e| text(e, "job_id"))
        .collect();
    assert_eq!(charged.len(), RUNS, "one charge a job");

    let balance = &ledger["workspaces"]["ws_demo"];
    assert_eq!(text(balance, "available_usd"), "995.0000");
    assert_eq!(text(balance, "reserved_usd"), "0.0000");
}

#[tokio::test(start_paused = true)]
async fn a_job_of_105_seconds_takes_at_most_25_calls_and_is_seen_within_a_second_on_average() {
    let mock = InProcess::new(Setup::default());
    let client = client(&mock, RetryPolicy::default());
    let video = VideoGenerate::new("video-f").prompt("a fox [mock:seconds=105]");
    let mut late = Duration::ZERO;
    const JOBS: u32 = 20;
    for offset in 0..JOBS {
        // Jobs begin at other fractions of a second each.
        tokio::time::sleep(Duration::from_millis(u64::from(offset) * 37)).await;
        let before = mock.requests(0).len();
        let job = client.videos().generate(&video).await.unwrap();
        #[expect(
            clippy::disallowed_methods,
            reason = "the runtime's paused clock, which the mock follows too"
        )]
        let began = Instant::now();
        job.wait().await.unwrap();
        late += began.elapsed() - Duration::from_secs(105);
        let calls = mock.requests(0).len() - before;
        assert!(calls <= 25, "{calls} calls");
    }
    let average = late / JOBS;
    assert!(average < Duration::from_secs(1), "{average:?} late on average");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_waiters_on_one_free_key_meet_no_429() {
    let mock = InProcess::new(Setup::default().balance_usd(1_000));
    let client = client(&mock, RetryPolicy::default());
    let mut jobs = Vec::new();
    for number in 0..100 {
        let video = VideoGenerate::new("video-f")
            .prompt(format!("fox {number} [mock:seconds={}]", 60 + number));
        jobs.push(client.videos().generate(&video).await.unwrap());
    }
    let mut waiters = JoinSet::new();
    for number in 0..1_000 {
        let job = client.jobs().handle(jobs[number % jobs.len()].id());
        waiters.spawn(async move { job.wait().await.map(drop) });
    }
    let mut done = 0;
    while let Some(waiter) = waiters.join_next().await {
        waiter.unwrap().unwrap();
        done += 1;
    }
    assert_eq!(done, 1_000);
    let refused = mock.requests(0).iter().filter(|request| request["status"] == 429).count();
    assert_eq!(refused, 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_believes_the_deployments_own_read_multiple() {
    let mock = InProcess::new(Setup::default().read_multiple(1));
    let client = client(&mock, RetryPolicy::default());
    let image = ImageGenerate::new("image-i").prompt("a fox");
    let job = client.images().generate(&image).await.unwrap();
    for _ in 0..300 {
        job.get().await.unwrap();
    }
    let requests = mock.requests(0);
    assert!(requests.iter().all(|request| request["status"] != 429));
}
