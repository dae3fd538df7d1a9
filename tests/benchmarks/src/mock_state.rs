//! The mock with a large state: export, import, pages of the ledger.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio::runtime::Builder;

use crate::Outcome;
use crate::http_client::requests_per_second;
use crate::mock::{SUBMIT_BODY, request};
use crate::report::{Row, Unit};
use crate::svc_process::{self, MockProcess};
use crate::timing::{median, wall_time};

const JOBS: f64 = 100_000.0;
const ROUNDS: usize = 5;

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let mock = MockProcess::start(&svc_process::build()?.join("svc"))?;
    fill(&mock)?;
    let folder = tempfile::tempdir()?;
    let (file, url) = (folder.path().join("state"), mock.variable("SVC_CONTROL_URL"));
    let url = format!("{url}/state");

    let export = measure(&mock, || curl(&url, "--output", &file))?;
    let import = measure(&mock, || curl(&url, "--upload-file", &file))?;
    let mut rows = vec![
        Row::new(
            "mock: state of 100,000 jobs, its size as a document",
            Unit::Mebibytes,
            std::fs::metadata(&file)?.len() as f64 / f64::from(1 << 20),
        ),
        Row::new("mock: export of it", Unit::Seconds, export.seconds).goal("0.5 s"),
        Row::new("mock: import of it", Unit::Seconds, import.seconds).goal("0.5 s"),
    ];
    for (work, cost) in [("export", export), ("import", import)] {
        if let Some(bytes) = cost.memory {
            let work = format!("mock: memory above the state during the {work}");
            let row = Row::new(work, Unit::Mebibytes, bytes / f64::from(1 << 20));
            rows.push(row.goal("95 MiB"));
        }
    }
    let page = ledger_page(mock.variable("SVC_CONTROL_URL"))?;
    let work = "mock: a page of 1,000 ledger entries of 100,000 jobs";
    rows.push(Row::new(work, Unit::Milliseconds, page).goal("5 ms"));
    Ok(rows)
}

/// Submits jobs until there are enough.
fn fill(mock: &MockProcess) -> Outcome<()> {
    const ROUND: Duration = Duration::from_secs(1);

    let address = mock.variable("SVC_BASE_URL");
    let address = address.trim_start_matches("http://").parse()?;
    let key = mock.variable("SVC_OPEN_API_KEY");
    let submit = |_| request("POST", "/v1/image-router/generate", key, SUBMIT_BODY);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut jobs = 0.0;
    while jobs < JOBS {
        let rate = runtime.block_on(requests_per_second(address, ROUND, submit))?;
        jobs += rate * ROUND.as_secs_f64();
    }
    Ok(())
}

struct Cost {
    seconds: f64,
    /// The bytes of memory beyond those before, at most.
    memory: Option<f64>,
}

/// Measures what work costs the mock: the median of the time, and the most memory.
fn measure(mock: &MockProcess, work: impl Fn() -> Outcome<()>) -> Outcome<Cost> {
    let mut seconds = Vec::new();
    let mut memory: Option<f64> = None;
    for _ in 0..ROUNDS {
        mock.reset_peak();
        let before = mock.memory();
        let began = wall_time();
        work()?;
        seconds.push(wall_time().saturating_sub(began).as_secs_f64());
        if let (Some((before, _)), Some((_, peak))) = (before, mock.memory()) {
            memory = Some(memory.unwrap_or_default().max(peak - before));
        }
    }
    Ok(Cost { seconds: median(seconds.into_iter()), memory })
}

fn curl(url: &str, option: &str, file: &Path) -> Outcome<()> {
    // Without `Expect: 100-continue`, whose answer curl waits for.
    let status = Command::new("curl")
        .args(["--silent", "--fail", "--header", "expect:", option])
        .arg(file)
        .arg(url)
        .stdout(std::process::Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err("curl failed".into()) }
}

/// Returns the milliseconds of a page.
fn ledger_page(control_url: &str) -> Outcome<f64> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{control_url}/ledger?limit=1000");
    let pages = (0..50).map(|_| {
        let began = wall_time();
        runtime.block_on(async {
            let response = client.get(&url).send().await?.error_for_status()?;
            response.bytes().await
        })?;
        Ok(wall_time().saturating_sub(began).as_secs_f64() * 1e3)
    });
    let pages: Vec<f64> = pages.collect::<Outcome<_>>()?;
    Ok(median(pages.into_iter()))
}
