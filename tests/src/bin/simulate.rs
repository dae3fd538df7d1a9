//! Runs the simulation over many seeds, or traces one of them.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test tool: it prints its report, and measures how long the simulations took"
)]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use svc_tests::simulation::{DEFAULT_STEPS, Report, Summary, simulate, simulate_shrunk};

/// Simulate clients on a bad network in virtual time, and check what must always hold
///
/// The last line is a JSON summary. The exit code is 1 if a property was violated.
#[derive(Parser)]
struct Options {
    /// Simulate this many seeds
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// Begin with this seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Steps of each client
    #[arg(long, default_value_t = DEFAULT_STEPS)]
    steps: usize,
    /// Simulate one seed
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Print what happened
    #[arg(long)]
    trace: bool,
}

/// Simulates the seeds on all processors, and returns the reports in the order of the seeds.
fn simulate_all(options: &Options) -> Vec<Report> {
    let (from, seeds) = options.seed.map_or((options.from, options.seeds), |seed| (seed, 1));
    let next = AtomicU64::new(from);
    let reports = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + seeds {
                        return;
                    }
                    let mut report = simulate(seed, options.steps, None);
                    if !options.trace {
                        report.trace.clear();
                    }
                    reports.lock().unwrap().push(report);
                }
            });
        }
    });
    let mut reports = reports.into_inner().unwrap();
    reports.sort_by_key(|report| report.seed);
    reports
}

fn print_failure(report: &Report, steps: usize) {
    println!("seed {} fails:", report.seed);
    for violation in &report.violations {
        println!("  {} at {} ms: {}", violation.oracle, violation.at_ms, violation.message);
    }
    println!("the shrunken trace:");
    for line in simulate_shrunk(report.seed, steps, None).trace {
        println!("{line}");
    }
    println!(
        "replay: cargo run --release -p svc-tests --bin simulate -- --seed {} --steps {steps} --trace",
        report.seed
    );
}

fn main() -> ExitCode {
    let options = Options::parse();
    let started = std::time::Instant::now();
    let mut summary = Summary::default();
    let mut shown = 0;
    for report in simulate_all(&options) {
        summary.add(&report);
        for line in &report.trace {
            println!("{line}");
        }
        // The first failures are enough to begin with: shrinking takes its time.
        if !report.violations.is_empty() && shown < 3 {
            shown += 1;
            print_failure(&report, options.steps);
        } else if !report.violations.is_empty() {
            println!("seed {} fails: {}", report.seed, report.violations[0].message);
        }
    }
    println!("{}", summary.to_json(started.elapsed().as_secs_f64()));
    if summary.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
