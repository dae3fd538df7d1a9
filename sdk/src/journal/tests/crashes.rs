//! A process that crashes at each step of a submit, with others beside and after it. Deliberate defects are
//! each noticed.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;

use super::super::file_store::{FileStore, SimulatedDisk};
use super::super::{MemoryStore, Recovered, Reuse};
use super::observed_store::Defect;
use super::processes::{HOUR, Order, Process, SubmitAnswer, SubmitService, World, check};
use super::{clock, fox, is_undecided};
use crate::error::Result;
use crate::surface::{Developer, Open};
use crate::types::Music1Generate;

/// More steps than a submit has.
const MAX_STEPS: usize = 40;

/// When the second process submits the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    After,
    AtOnce,
    ASecondLater,
}

/// Runs two processes with one order, of which the first one crashes at that step, and others a day
/// later. Returns whether it crashed, and what is wrong.
async fn run(
    defect: Option<Defect>,
    answers: &[SubmitAnswer],
    (first, later): (Order, Order),
    second: Second,
    steps: usize,
) -> (bool, Result<(), String>) {
    let world = World::new(defect, answers);
    let process = Process::start(&world, steps);
    let crash = Arc::clone(&process.crash);
    let first = tokio::spawn(process.submit(first, "order-1"));
    if second == Second::After {
        let _ = first.await.unwrap();
        let _ = world.submit(later, "order-1").await;
    } else {
        if second == Second::ASecondLater {
            clock::sleep(Duration::from_secs(1)).await;
        }
        let _ = world.submit(later, "order-1").await;
        let _ = first.await.unwrap();
    }
    // The last ones come when the key has almost expired, and when it has expired.
    let mut last = None;
    for pause in [20 * HOUR, 10 * HOUR] {
        clock::sleep_computer(pause);
        last = Some(world.submit(later, "order-1").await);
    }
    let outcome = check(&world.service, &world.disk, later, last.unwrap()).await;
    (crash.has_happened(), outcome)
}

/// Runs all combinations. Returns how many there were, and the first violation.
async fn explore(defect: Option<Defect>) -> (usize, Option<String>) {
    use SubmitAnswer::{Busy, Lost, NoFunds};

    let orders = [
        (Order::Video, Order::Video),
        (Order::Video, Order::VideoInOtherBytes),
        (Order::VideoWithLimit, Order::VideoWithLimit),
        (Order::Music, Order::Music),
    ];
    let scripts: [&[SubmitAnswer]; 7] = [
        &[],
        &[Lost],
        &[Busy],
        &[NoFunds],
        &[Busy, Lost],
        &[Lost, Busy],
        &[Lost, Lost, NoFunds, Lost],
    ];
    let mut runs = 0;
    for answers in scripts {
        for order in orders {
            for second in [Second::After, Second::AtOnce, Second::ASecondLater] {
                for steps in 1..=MAX_STEPS {
                    let (has_crashed, outcome) = run(defect, answers, order, second, steps).await;
                    runs += 1;
                    if let Err(violation) = outcome {
                        let case = format!("{answers:?} {order:?} {second:?}, step {steps}");
                        return (runs, Some(format!("{case}: {violation}")));
                    }
                    if !has_crashed {
                        break;
                    }
                }
            }
        }
    }
    (runs, None)
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_step_neither_pays_twice_nor_loses_anything() {
    let (runs, violation) = explore(None).await;
    assert_eq!(violation, None);
    assert!(runs > 500, "{runs}");
}

const FILE_SCRIPTS: [&[SubmitAnswer]; 3] =
    [&[], &[SubmitAnswer::Lost], &[SubmitAnswer::Busy, SubmitAnswer::Lost]];

/// Submits on files whose disk crashes after so many operations, and thrice after that. Returns whether
/// it crashed, and what is wrong.
async fn run_on_files(
    answers: &[SubmitAnswer],
    order: Order,
    operations: u32,
) -> (bool, Result<(), String>) {
    let service = SubmitService::new(answers);
    let disk = SimulatedDisk::new(u64::from(operations));
    disk.crash_after(operations, Default::default());
    if let Ok(store) = FileStore::on_simulated_disk(&disk) {
        let _ = Process::with_files(&service, store).submit(order, "order-1").await;
    }
    (disk.has_crashed(), submit_later(&service, &disk, order).await)
}

/// Submits after restarts: at once, and when the key has almost expired and has expired.
async fn submit_later(
    service: &Arc<SubmitService>,
    disk: &SimulatedDisk,
    order: Order,
) -> Result<(), String> {
    let mut last = None;
    for pause in [Duration::ZERO, 20 * HOUR, 10 * HOUR] {
        clock::sleep_computer(pause);
        disk.restart();
        let store = FileStore::on_simulated_disk(disk).unwrap();
        let submitted = Process::with_files(service, store.clone()).submit(order, "order-1").await;
        last = Some((store, submitted));
    }
    let (store, submitted) = last.unwrap();
    check(service, &store, order, submitted).await
}

/// Submits on files in a process that ends at that poll of the submit, and thrice after that. Returns
/// whether it ended in between, and what is wrong.
async fn run_to_poll(
    answers: &[SubmitAnswer],
    order: Order,
    mut polls: u32,
) -> (bool, Result<(), String>) {
    let service = SubmitService::new(answers);
    let disk = SimulatedDisk::new(1);
    let submitted = {
        let store = FileStore::on_simulated_disk(&disk).unwrap();
        let submit = Process::with_files(&service, store).submit(order, "order-1");
        let mut submit = std::pin::pin!(submit);
        let up_to_poll = std::future::poll_fn(|context| {
            let Some(left) = polls.checked_sub(1) else { return Poll::Ready(None) };
            polls = left;
            submit.as_mut().poll(context).map(Some)
        });
        up_to_poll.await
    };
    (submitted.is_none(), submit_later(&service, &disk, order).await)
}

/// Lets a process crash at each of its operations or polls, with each order. Returns how often it crashed.
async fn crash_everywhere(
    run: impl AsyncFn(&[SubmitAnswer], Order, u32) -> (bool, Result<(), String>),
) -> u32 {
    let mut crashes = 0;
    for answers in FILE_SCRIPTS {
        for order in [Order::Video, Order::VideoWithLimit, Order::Music] {
            for at in 0.. {
                let (has_crashed, outcome) = run(answers, order, at).await;
                assert_eq!(outcome, Ok(()), "{answers:?} {order:?}, crash at {at}");
                if !has_crashed {
                    break;
                }
                crashes += 1;
            }
        }
    }
    crashes
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_operation_of_the_disk_neither_pays_twice_nor_loses_anything() {
    let crashes = crash_everywhere(run_on_files).await;
    assert!(crashes > 9 * 20, "{crashes}");
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_poll_neither_pays_twice_nor_loses_anything() {
    let crashes = crash_everywhere(run_to_poll).await;
    // How many there are depends on how soon the threads that write answer.
    assert!(crashes > 20, "{crashes}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_the_store_does_not_make_a_sent_request_one_that_did_not_run() {
    let (_, violation) = explore(Some(Defect::AnswerLost)).await;
    assert_eq!(violation, None);
}

/// Two processes find what a third one left; the one that claims it later finds it submitted.
#[tokio::test(start_paused = true)]
async fn what_was_read_before_a_claim_is_read_again() {
    for steps in 1..=MAX_STEPS {
        let world = World::new(Some(Defect::PauseBeforeClaim), &[SubmitAnswer::Busy]);
        let _ = Process::start(&world, steps).submit(Order::Music, "order-1").await;
        let mut processes = Vec::new();
        for _ in 0..2 {
            let process = Process::start(&world, usize::MAX);
            processes.push(tokio::spawn(process.submit(Order::Music, "order-1")));
            clock::sleep(Duration::from_secs(30)).await;
        }
        for process in processes {
            let _ = process.await.unwrap();
        }
        assert!(world.service.jobs() <= 1, "step {steps}");
    }
}

/// What another process acknowledged since it was read is neither recovered nor adopted.
#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_before_a_claim_is_left_alone() {
    for is_recovery in [true, false] {
        let world = World::new(Some(Defect::PauseBeforeClaim), &[]);
        world.submit(Order::Video, "order-1").await.unwrap();
        let take_over = async |pause| {
            clock::sleep(pause).await;
            let client = Process::start(&world, usize::MAX).client::<Open>(false);
            let job = match is_recovery {
                true => match client.recover().next().await? {
                    Ok(Recovered::Job(job)) => job,
                    other => panic!("{other:?}"),
                },
                false => {
                    let call = client.videos().generate(fox().duration(5));
                    let call = call.submission_id("order-1").reuse(Reuse::ContinueAbandoned);
                    call.await.unwrap()
                }
            };
            job.acknowledge().await.unwrap();
            Some(job.id().to_string())
        };
        let later = Duration::from_secs(4);
        let (first, second) = tokio::join!(take_over(Duration::ZERO), take_over(later));
        assert_eq!(first.as_deref(), Some("job_1"));
        let expected = (!is_recovery).then_some("job_2");
        assert_eq!(second.as_deref(), expected, "recovery: {is_recovery}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_process_left_that_was_killed_a_moment_ago_is_recovered() {
    let world = World::new(Some(Defect::KilledTakenForRunning), &[]);
    world.submit(Order::Video, "order-1").await.unwrap();
    let running = Process::start(&world, usize::MAX);
    let job = running.client::<Open>(false).videos().generate(fox()).await.unwrap();
    let client = Process::start(&world, usize::MAX).client::<Open>(false);
    let mut recovery = client.recover();
    let Some(Ok(Recovered::Job(recovered))) = recovery.next().await else {
        panic!("it was not recovered")
    };
    assert_eq!(recovered.id().as_str(), "job_1");
    assert!(recovery.next().await.is_none());
    assert_eq!(recovery.skipped().in_progress, 1, "{job:?} of a running process");
}

#[tokio::test(start_paused = true)]
async fn deliberate_defects_are_noticed() {
    for defect in [Defect::UnknownTakenAsNothingRan, Defect::ReceiptLost] {
        let (_, violation) = explore(Some(defect)).await;
        assert!(violation.is_some(), "{defect:?} was not noticed");
    }
}

/// Another body under the same derived key proves that the order was submitted, even if no journal
/// tells.
#[tokio::test(start_paused = true)]
async fn an_order_of_a_journal_that_was_lost_is_not_paid_again_in_other_bytes() {
    let mut world = World::new(None, &[]);
    world.submit(Order::Video, "order-1").await.unwrap();
    world.disk = MemoryStore::new();
    let order = Order::VideoInOtherBytes;
    let error = world.submit(order, "order-1").await.unwrap_err();
    assert!(!is_undecided(&error), "{error}");
    let error = world.submit(order, "order-1").await.unwrap_err();
    assert!(is_undecided(&error), "{error}");
    assert_eq!(world.service.jobs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_submit_that_is_dropped_at_any_poll_goes_on_to_its_receipt() {
    for polls in 0..200 {
        let world = World::new(None, &[SubmitAnswer::Busy]);
        let process = Process::start(&world, usize::MAX);
        let client = process.client::<Developer>(false);
        let body = Music1Generate::new("jazz");
        let call = client.music().generate(body).submission_id("order-1");
        let mut call = Box::pin(call.into_future());
        let mut is_ready = false;
        for _ in 0..polls {
            is_ready = (&mut call).now_or_never().is_some();
            if is_ready {
                break;
            }
            // Some polls come at once, and others after a pause.
            match polls % 2 {
                0 => tokio::task::yield_now().await,
                _ => clock::sleep(Duration::from_millis(90)).await,
            }
        }
        drop(call);
        client.drain().await;
        let entry = process.journal.find("", "order-1").await.unwrap();
        if polls == 0 {
            assert_eq!((entry, world.service.jobs()), (None, 0));
            continue;
        }
        assert_eq!(entry.unwrap().state, super::EntryState::Accepted, "{polls}");
        assert_eq!(world.service.jobs(), 1, "{polls}");
        if is_ready {
            return;
        }
    }
    panic!("the submit did not end");
}
