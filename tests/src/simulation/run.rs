//! Carrying out a plan, and shrinking one that fails: what it fails without is removed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Report;
use super::oracle::{Defect, Oracle};
use super::orders::ResourceKind;
use super::plan::{Action, Actor, LONG_PAUSE_MS, Plan, Step};
use super::rng::Rng;
use super::session::Session;
use super::world::{ENVIRONMENT_SLOT, World};

/// How long a simulation may take, in virtual time.
const SIMULATION_LIMIT: Duration = Duration::from_secs(2_000 * 3_600);
/// How long what was submitted may take to end, in virtual time.
pub(super) const FINAL_WAIT_MS: u64 = 3_600_000;
/// How often what is open is resolved at the end.
const FINAL_ROUNDS: usize = 3;
/// The most simulations that one shrinking runs.
const MAX_SHRINKING_RUNS: usize = 250;

/// Carries out a plan in virtual time.
pub(super) fn run(plan: &Plan, defect: Option<Defect>) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let world = World::new(plan.clone(), defect);
        let simulation = Box::pin(simulate(&world, folder.path()));
        if tokio::time::timeout(SIMULATION_LIMIT, simulation).await.is_err() {
            world.violate(Oracle::Timeout, "the simulation did not end".to_owned());
        }
        let counts = world.lock().counts;
        Report {
            seed: plan.seed,
            violations: world.violations(),
            counts,
            trace: world.trace_lines(),
        }
    })
}

async fn simulate(world: &Arc<World>, folder: &Path) {
    world.trace(ENVIRONMENT_SLOT, || world.plan.to_string());
    let mut actors = Vec::new();
    for client in 0..world.plan.clients.len() {
        let (world, folder) = (Arc::clone(world), folder.join(client.to_string()));
        actors.push(tokio::spawn(async move {
            run_client(&world, client, &folder).await;
        }));
    }
    let environment = Arc::clone(world);
    actors.push(tokio::spawn(async move { run_environment(&environment).await }));
    for actor in actors {
        actor.await.unwrap();
    }
    drain(world, folder).await;
}

fn steps(plan: &Plan, actor: Actor) -> Vec<Step> {
    let steps = plan.steps.iter().filter(|step| step.actor == actor);
    steps.cloned().collect()
}

async fn run_client(world: &Arc<World>, client: usize, folder: &Path) {
    let mut incarnation = 0;
    let mut session = Session::start(world, client, incarnation, folder.to_owned(), false);
    for step in steps(&world.plan, Actor::Client(client)) {
        world.sleep(session.slot(), step.pause_ms).await;
        session.trace(|| format!("step {} {:?}", step.number, step.action));
        session.begin(&step);
        if step.pause_ms == LONG_PAUSE_MS {
            Box::pin(session.resolve()).await;
        }
        let mut limits = step.crashes_after_ms.iter();
        let mut has_ended = ends_within(limits.next(), Box::pin(session.perform(&step))).await;
        while !has_ended {
            let slot = session.slot();
            drop(session);
            incarnation += 1;
            world.note_crash(client);
            world.sleep(slot, step.down_ms).await;
            world.trace(slot, || {
                format!("step {} restart {incarnation} after a crash", step.number)
            });
            session = Session::start(world, client, incarnation, folder.to_owned(), false);
            has_ended = ends_within(limits.next(), Box::pin(session.resolve())).await;
        }
        world.sleep(session.slot(), 1).await;
        Box::pin(world.check()).await;
        if world.is_violated() {
            return;
        }
    }
}

/// Awaits a future, up to a time limit in milliseconds if there is one. Returns whether it has ended.
async fn ends_within(limit_ms: Option<&u64>, future: impl Future<Output = ()>) -> bool {
    let limit = limit_ms.map_or(Duration::MAX, |ms| Duration::from_millis(*ms));
    tokio::time::timeout(limit, future).await.is_ok()
}

async fn run_environment(world: &World) {
    for step in steps(&world.plan, Actor::Environment) {
        world.sleep(ENVIRONMENT_SLOT, step.pause_ms).await;
        if world.is_violated() {
            return;
        }
        let mut rng = Rng::derive(step.seed, 3);
        world.trace(ENVIRONMENT_SLOT, || format!("step {} {:?}", step.number, step.action));
        match step.action {
            Action::SettleTopUps => world.settle_top_ups(&mut rng, false),
            Action::Outage(duration_ms) => {
                world.begin_outage(duration_ms);
                world.sleep(ENVIRONMENT_SLOT, duration_ms).await;
                Box::pin(world.restore(&mut rng)).await;
            }
            _ => Box::pin(world.restore(&mut rng)).await,
        }
    }
}

/// Lets everything end without faults, and checks what is left.
async fn drain(world: &Arc<World>, folder: &Path) {
    world.lock().are_faults_cleared = true;
    let nothing_under_way = async || {
        while world.lock().in_flight > 0 {
            world.sleep(ENVIRONMENT_SLOT, 1_000).await;
        }
    };
    nothing_under_way().await;
    if world.is_violated() {
        return;
    }
    world.settle_top_ups(&mut Rng::new(0), true);
    for client in 0..world.plan.clients.len() {
        // The client may have spent its window with its last step.
        world.note_process_end(client);
        let session =
            Session::start(world, client, u64::MAX >> 32, folder.join(client.to_string()), false);
        session.trace(|| "drain".to_owned());
        for _ in 0..FINAL_ROUNDS {
            Box::pin(session.resolve()).await;
            nothing_under_way().await;
        }
        session.settle_rest().await;
        // A resubmit may have created a top-up only now.
        world.settle_top_ups(&mut Rng::new(0), true);
        session.receive_webhooks().await;
        let unfinished = session.orders().unfinished();
        for accepted in unfinished {
            let has_ended = Box::pin(session.wait(&accepted, FINAL_WAIT_MS)).await;
            if !has_ended && accepted.order.kind() != ResourceKind::TopUp {
                let message = format!("{} did not end, or cannot be read", accepted.id);
                world.violate(Oracle::NothingLost, message);
            }
        }
    }
    // What nobody knows of ends as well.
    world.sleep(ENVIRONMENT_SLOT, FINAL_WAIT_MS).await;
    world.check_at_end().await;
}

/// Returns a smaller plan that violates the same oracle.
pub(super) fn shrink(plan: &Plan, defect: Option<Defect>, oracle: Oracle) -> Plan {
    let mut runs = 0;
    let mut fails = |plan: &Plan| {
        runs += 1;
        let violations = run(plan, defect).violations;
        (runs <= MAX_SHRINKING_RUNS, violations.first().is_some_and(|first| first.oracle == oracle))
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
        if !std::mem::take(&mut candidate.steps[step].crashes_after_ms).is_empty()
            && fails(&candidate) == (true, true)
        {
            smallest = candidate;
        }
    }
    smallest
}
