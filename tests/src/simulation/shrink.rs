//! Shrinking of a failing plan: what it fails without is removed.

use super::defect::Defect;
use super::oracle::Oracle;
use super::plan::Plan;
use super::run::run;

/// The most simulations that one shrinking runs.
const MAX_RUNS: usize = 250;

/// Returns a smaller plan that violates the same oracle.
pub(super) fn shrink(plan: &Plan, defect: Option<Defect>, oracle: Oracle) -> Plan {
    let mut runs = 0;
    let mut fails = |plan: &Plan| {
        runs += 1;
        let violations = run(plan, defect).violations;
        (runs <= MAX_RUNS, violations.first().is_some_and(|first| first.oracle == oracle))
    };
    let mut smallest = plan.clone();
    let mut size = smallest.steps.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < smallest.steps.len() {
            let mut candidate = smallest.clone();
            let end = (start + size).min(candidate.steps.len());
            candidate.steps.drain(start..end);
            match fails(&candidate) {
                (false, _) => return smallest,
                (true, true) => smallest = candidate,
                (true, false) => start = end,
            }
        }
        size /= 2;
    }
    for fault in 0..smallest.faults.0.len() {
        let mut candidate = smallest.clone();
        candidate.faults.0[fault] = 0;
        if fails(&candidate) == (true, true) {
            smallest = candidate;
        }
    }
    for step in 0..smallest.steps.len() {
        let mut candidate = smallest.clone();
        if candidate.steps[step].crash.take().is_some() && fails(&candidate) == (true, true) {
            smallest = candidate;
        }
    }
    smallest
}
