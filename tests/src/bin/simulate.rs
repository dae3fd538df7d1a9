//! Runs the simulation over many seeds, or traces one of them.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test tool: it prints its report, and measures how long the simulations took"
)]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use svc_tests::simulation::{DEFAULT_STEPS, Report, Summary, simulate, simulate_shrunk};

const USAGE: &str = "\
Usage: simulate [--seeds N] [--from SEED] [--steps N]
       simulate --seed S [--steps N] [--trace]

Simulate clients on a bad network in virtual time, and check what must always hold.

  --seeds N   simulate N seeds (default 200)
  --from S    begin with this seed (default 0)
  --steps N   steps of each client (default 24)
  --seed S    simulate one seed
  --trace     print what happened

The last line is a JSON summary. The exit code is 1 if a property was violated.";

struct Options {
    from: u64,
    seeds: u64,
    steps: usize,
    is_trace: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options { from: 0, seeds: 200, steps: DEFAULT_STEPS, is_trace: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || {
            let value = arguments.next().ok_or_else(|| format!("{argument} needs a number"))?;
            let invalid = |_| format!("invalid number `{value}` of {argument}");
            value.parse::<u64>().map_err(invalid)
        };
        match argument.as_str() {
            "--seeds" => options.seeds = number()?,
            "--from" => options.from = number()?,
            "--steps" => options.steps = number()? as usize,
            "--seed" => (options.from, options.seeds) = (number()?, 1),
            "--trace" => options.is_trace = true,
            _ => return Err(format!("unexpected argument `{argument}`\n\n{USAGE}")),
        }
    }
    Ok(options)
}

/// Simulates the seeds on all processors, and returns the reports in the order of the seeds.
fn simulate_all(options: &Options) -> Vec<Report> {
    let next = AtomicU64::new(options.from);
    let reports = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= options.from + options.seeds {
                        return;
                    }
                    let mut report = simulate(seed, options.steps, None);
                    if !options.is_trace {
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
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
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
    match summary.is_clean() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
