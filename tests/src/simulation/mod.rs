//! A deterministic simulation: a swarm of clients, a network that fails, and the mock, in virtual time.
//!
//! A seed determines everything: the plan, the faults, the moments at which clients crash, and with
//! them the trace, byte for byte. After each step the [oracles](Oracle) check what must always hold. A
//! failing plan is shrunk, and replayed by its seed:
//!
//! ```console
//! $ cargo run --release -p svc-tests --bin simulate -- --seeds 200
//! $ cargo run --release -p svc-tests --bin simulate -- --seed 17 --trace
//! ```
//!
//! [Defects](Defect) that are injected on purpose prove that the oracles notice.

mod actions;
mod books;
mod environment;
mod fault;
mod mock;
mod oracle;
mod orders;
mod plan;
mod recorder;
mod rng;
mod run;
mod session;
mod store;
mod submission;
mod submit;
mod tools;
mod transport;
mod world;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use self::oracle::{Defect, Oracle};
use self::plan::Plan;
pub use self::world::Violation;

/// The number of steps of each client, unless said otherwise.
pub const DEFAULT_STEPS: usize = 24;

/// What the simulation of a seed observed.
#[derive(Clone, Debug)]
pub struct Report {
    pub seed: u64,
    /// The properties that did not hold, in the order of time.
    pub violations: Vec<Violation>,
    /// What happened, a line each.
    pub trace: Vec<String>,
    pub counts: Counts,
}

/// How much happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// The calls of the SDK.
    pub operations: u64,
    pub requests: u64,
    pub lost_replies: u64,
    /// The crashes of clients.
    pub crashes: u64,
    /// How often the mock was replaced by a restored one.
    pub restores: u64,
}

/// Simulates a seed, with `steps` steps for each client.
pub fn simulate(seed: u64, steps: usize, defect: Option<Defect>) -> Report {
    run::run(&Plan::generate(seed, steps), defect)
}

/// Simulates the smallest plan that fails as the seed does, or the seed's own if it does not fail.
pub fn simulate_shrunk(seed: u64, steps: usize, defect: Option<Defect>) -> Report {
    let plan = Plan::generate(seed, steps);
    let report = run::run(&plan, defect);
    match report.violations.first() {
        Some(first) => run::run(&run::shrink(&plan, defect, first.oracle), defect),
        None => report,
    }
}

/// The sum of several reports.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    seeds: u64,
    counts: Counts,
    violations: BTreeMap<Oracle, u64>,
}

impl Summary {
    pub fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.counts.operations += report.counts.operations;
        self.counts.lost_replies += report.counts.lost_replies;
        self.counts.crashes += report.counts.crashes;
        self.counts.restores += report.counts.restores;
        for violation in &report.violations {
            *self.violations.entry(violation.oracle).or_default() += 1;
        }
    }

    /// Returns whether no property was violated.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the summary as JSON.
    pub fn to_json(&self, seconds: f64) -> Value {
        let count = |oracle: Oracle| self.violations.get(&oracle).copied().unwrap_or_default();
        let violations =
            Oracle::ALL.iter().map(|oracle| (oracle.name().to_owned(), json!(count(*oracle))));
        json!({
            "seeds": self.seeds,
            "operations": self.counts.operations,
            "lost_replies": self.counts.lost_replies,
            "crashes": self.counts.crashes,
            "restores": self.counts.restores,
            "violations": serde_json::Map::from_iter(violations),
            "seconds": (seconds * 10.0).round() / 10.0,
        })
    }
}
