//! The deterministic simulation: seeds that pass, defects that are detected, traces that repeat.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use svc_tests::simulation::{DEFAULT_STEPS, Defect, simulate, simulate_shrunk};

const SEEDS: u64 = 24;
/// The seeds within which a defect has to be detected.
const DEFECT_SEEDS: u64 = 200;

/// Calls a function with each item, on all processors.
fn for_each<T: Sync>(items: &[T], function: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    function(item);
                }
            });
        }
    });
}

#[test]
fn no_seed_violates_an_oracle() {
    let seeds: Vec<u64> = (1_000..1_000 + SEEDS).collect();
    for_each(&seeds, |seed| {
        let report = simulate(*seed, DEFAULT_STEPS, None);
        assert!(report.violations.is_empty(), "seed {seed}: {:?}", report.violations);
    });
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for_each(&[3, 7, 12], |seed| {
        let first = simulate(*seed, DEFAULT_STEPS, None).trace;
        assert!(first.len() > 50, "{} lines", first.len());
        assert_eq!(first, simulate(*seed, DEFAULT_STEPS, None).trace);
        assert_ne!(first, simulate(seed + 1, DEFAULT_STEPS, None).trace);
    });
}

#[test]
fn every_defect_is_detected_by_its_oracle() {
    let undetected = Mutex::new(Vec::new());
    for_each(Defect::ALL, |defect| {
        let is_detected = |seed: &u64| {
            let violations = simulate(*seed, DEFAULT_STEPS, Some(*defect)).violations;
            let mut oracles = violations.iter().map(|violation| violation.oracle);
            oracles.any(|oracle| oracle == defect.oracle())
        };
        let is_found = (0..DEFECT_SEEDS).any(|seed| is_detected(&seed));
        if !is_found {
            undetected.lock().unwrap().push(*defect);
        }
    });
    assert_eq!(undetected.into_inner().unwrap(), []);
}

#[test]
fn a_failing_seed_is_shrunk_to_what_it_fails_by() {
    let defect = Some(Defect::KeyDropped);
    let is_violated = |seed: &u64| {
        let report = simulate(*seed, DEFAULT_STEPS, defect);
        !report.violations.is_empty()
    };
    let seed = (0..DEFECT_SEEDS).find(is_violated).unwrap();
    let whole = simulate(seed, DEFAULT_STEPS, defect);
    let shrunk = simulate_shrunk(seed, DEFAULT_STEPS, defect);
    assert_eq!(shrunk.violations[0].oracle, whole.violations[0].oracle);
    assert!(
        shrunk.trace.len() < whole.trace.len(),
        "{} of {} lines",
        shrunk.trace.len(),
        whole.trace.len()
    );
}
