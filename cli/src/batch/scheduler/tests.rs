use super::*;

pub(super) fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

pub(super) fn limits(concurrency: usize, max_spend: Option<&str>) -> Limits {
    Limits {
        concurrency,
        max_spend: max_spend.map(usd),
        committed: Usd::ZERO,
        deadline: None,
        max_attempts: 3,
        max_unreachable: 2,
    }
}

fn scheduler(items: u32, limits: Limits) -> Scheduler {
    let mut scheduler = Scheduler::new(items as usize, limits);
    (0..items).for_each(|index| scheduler.add(index, Account::Open));
    scheduler
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn priced(price: Option<&str>) -> Event {
    Event::Priced {
        price: price.map(usd),
        writes: None,
    }
}

/// Sends the first request, which is alone until it is answered, and takes it back.
fn probe(scheduler: &mut Scheduler) {
    let started = scheduler.next(Duration::ZERO);
    assert_eq!(started.len(), 1, "{started:?}");
    scheduler.handle(
        0,
        pushed_back(Backpressure::Capacity, None),
        Duration::ZERO,
        0.0,
    );
    scheduler.capacity_until = Duration::ZERO;
    scheduler.jobs = AdaptiveWindow::new(scheduler.limits.concurrency);
}

fn accepted(charge: Option<&str>) -> Event {
    Event::Accepted {
        charge: charge.map(usd),
        writes: None,
    }
}

fn pushed_back(reason: Backpressure, retry_after: Option<u64>) -> Event {
    Event::Backpressure {
        reason,
        retry_after: retry_after.map(seconds),
        writes: None,
    }
}

fn cost(text: &str) -> Event {
    Event::Finished {
        cost: Some(usd(text)),
    }
}

fn submits(actions: &[Action]) -> Vec<Index> {
    let index = |action: &Action| match action {
        Action::Submit(index) => Some(*index),
        _ => None,
    };
    actions.iter().filter_map(index).collect()
}

/// Prices, submits and accepts whatever can be submitted, and returns the items.
fn submit_all(scheduler: &mut Scheduler, now: Duration, price: &str) -> Vec<Index> {
    let mut submitted = Vec::new();
    loop {
        let actions = scheduler.next(now);
        for action in &actions {
            match action {
                Action::Price(index) => {
                    scheduler.handle(*index, priced(Some(price)), now, 0.0);
                }
                Action::Submit(index) => {
                    submitted.push(*index);
                    scheduler.handle(*index, accepted(Some(price)), now, 0.0);
                }
                Action::Follow(_) | Action::Drop(..) => {}
            }
        }
        if actions.is_empty() {
            return submitted;
        }
    }
}

#[test]
fn as_many_jobs_are_in_flight_as_allowed() {
    let mut scheduler = scheduler(5, limits(2, None));
    assert_eq!(submit_all(&mut scheduler, seconds(0), "1"), [0, 1]);
    scheduler.handle(0, cost("1"), seconds(9), 0.0);
    assert_eq!(submit_all(&mut scheduler, seconds(9), "1"), [2]);
    assert_eq!(scheduler.in_flight(), 2);
}

#[test]
fn what_does_not_fit_waits_for_a_refund_and_is_dropped_without_one() {
    for is_refunded in [true, false] {
        let mut scheduler = scheduler(3, limits(9, Some("1.5")));
        assert_eq!(submit_all(&mut scheduler, seconds(0), "0.7"), [0, 1]);
        let end = match is_refunded {
            true => "0",
            false => "0.7",
        };
        scheduler.handle(0, cost(end), seconds(5), 0.0);
        let submitted = submit_all(&mut scheduler, seconds(5), "0.7");
        assert_eq!(submitted.is_empty(), !is_refunded);
        if !is_refunded {
            scheduler.handle(1, cost("0.7"), seconds(6), 0.0);
            let dropped = scheduler.next(seconds(6));
            assert_eq!(dropped, [Action::Drop(2, DropReason::OverBudget)]);
            assert!(scheduler.is_done());
        }
    }
}

#[test]
fn a_charge_above_the_estimate_stops_the_batch() {
    let mut scheduler = scheduler(3, limits(1, Some("100")));
    let now = seconds(0);
    assert_eq!(scheduler.next(now), [Action::Price(0)]);
    scheduler.handle(0, priced(Some("1")), now, 0.0);
    assert_eq!(scheduler.next(now), [Action::Submit(0)]);
    scheduler.handle(0, accepted(Some("1.01")), now, 0.0);
    let actions = scheduler.next(now);
    let dropped = |index| Action::Drop(index, DropReason::Overcharged);
    assert_eq!(actions, [Action::Follow(0), dropped(1), dropped(2)]);
    scheduler.handle(0, cost("1.01"), now, 0.0);
    assert!(scheduler.is_done());
}

#[test]
fn an_item_without_a_price_is_not_submitted_within_a_budget() {
    let mut scheduler = scheduler(1, limits(1, Some("100")));
    scheduler.next(seconds(0));
    scheduler.handle(0, priced(None), seconds(0), 0.0);
    let dropped = scheduler.next(seconds(0));
    assert_eq!(dropped, [Action::Drop(0, DropReason::Unpriced)]);
}

#[test]
fn at_the_limit_of_jobs_the_next_submit_follows_an_end() {
    let mut scheduler = scheduler(9, limits(8, None));
    let now = seconds(0);
    probe(&mut scheduler);
    let started = submits(&scheduler.next(now));
    assert_eq!(started.len(), 8);
    for index in 0..3 {
        scheduler.handle(index, accepted(None), now, 0.0);
    }
    for index in 3..8 {
        scheduler.handle(index, pushed_back(Backpressure::Capacity, None), now, 0.0);
    }
    assert!(submits(&scheduler.next(now)).is_empty());
    assert!(scheduler.is_slowed(now));
    scheduler.handle(0, cost("1"), seconds(1), 0.0);
    assert_eq!(submits(&scheduler.next(seconds(1))).len(), 1);
}

#[test]
fn capacity_that_others_use_is_asked_for_at_growing_intervals() {
    let mut scheduler = scheduler(1, limits(1, None));
    let mut now = seconds(0);
    let mut pauses = Vec::new();
    for _ in 0..6 {
        assert_eq!(submits(&scheduler.next(now)), [0]);
        scheduler.handle(0, pushed_back(Backpressure::Capacity, None), now, 0.0);
        assert!(scheduler.next(now).is_empty());
        let next = scheduler.wake_at(now).unwrap();
        pauses.push((next - now).as_secs());
        now = next;
    }
    assert_eq!(pauses, [2, 4, 8, 16, 30, 30]);
}

#[test]
fn a_push_back_never_gives_an_item_up() {
    let mut scheduler = scheduler(1, limits(1, None));
    let mut now = seconds(0);
    for round in 0..1000 {
        assert_eq!(submits(&scheduler.next(now)), [0], "round {round}");
        let reason = match round % 2 {
            0 => Backpressure::Overload,
            _ => Backpressure::RateLimit,
        };
        scheduler.handle(0, pushed_back(reason, Some(1)), now, 0.5);
        assert!(scheduler.next(now).is_empty());
        let next = scheduler.wake_at(now).unwrap();
        assert!(next >= now + seconds(1));
        // The pauses of the item and of the batch may end at different times.
        now = next.max(scheduler.pause.until());
    }
}

#[test]
fn requests_without_an_answer_are_given_up_after_some_attempts() {
    for (event, reason, attempts) in [
        (Event::NoAnswer, DropReason::NoAnswer, 3),
        (Event::NotSent, DropReason::Unreachable, 2),
    ] {
        let mut scheduler = scheduler(2, limits(1, None));
        let mut now = seconds(0);
        let mut count = 0;
        let dropped = loop {
            let actions = scheduler.next(now);
            let dropped = actions.iter().find_map(|action| match action {
                Action::Drop(index, why) => Some((*index, *why)),
                _ => None,
            });
            if let Some(dropped) = dropped {
                break dropped;
            }
            assert_eq!(submits(&actions), [0]);
            count += 1;
            scheduler.handle(0, event.clone(), now, 0.5);
            now = scheduler.wake_at(now).unwrap_or(now);
        };
        assert_eq!((dropped, count), ((0, reason), attempts));
    }
}

#[test]
fn at_the_deadline_what_runs_is_left_and_the_rest_dropped() {
    let mut scheduler = scheduler(
        3,
        Limits {
            deadline: Some(seconds(10)),
            ..limits(2, None)
        },
    );
    probe(&mut scheduler);
    scheduler.next(seconds(0));
    scheduler.handle(0, accepted(None), seconds(1), 0.0);
    scheduler.next(seconds(1));
    assert_eq!(scheduler.wake_at(seconds(1)), Some(seconds(10)));
    let timed_out = |index| Action::Drop(index, DropReason::TimedOut);
    assert_eq!(scheduler.next(seconds(10)), [timed_out(0), timed_out(2)]);
    assert!(!scheduler.is_done(), "a request is under way");
    scheduler.handle(1, accepted(None), seconds(11), 0.0);
    let actions = scheduler.next(seconds(11));
    assert!(actions.contains(&timed_out(1)), "{actions:?}");
    assert!(scheduler.is_done());
}

#[test]
fn what_does_not_fit_is_over_budget_at_the_deadline_as_well() {
    let limits = Limits {
        deadline: Some(seconds(10)),
        ..limits(9, Some("1.5"))
    };
    let mut scheduler = scheduler(3, limits);
    assert_eq!(submit_all(&mut scheduler, seconds(0), "0.7"), [0, 1]);
    let dropped = scheduler.next(seconds(10));
    let expected = [
        Action::Drop(0, DropReason::TimedOut),
        Action::Drop(1, DropReason::TimedOut),
        Action::Drop(2, DropReason::OverBudget),
    ];
    assert_eq!(dropped, expected);
}

#[test]
fn the_jobs_of_an_earlier_run_are_not_followed_all_at_once() {
    let scheduler = |deadline| {
        let limits = Limits {
            deadline,
            ..limits(1, None)
        };
        let mut scheduler = Scheduler::new(502, limits);
        (0..502).for_each(|index| scheduler.add_submitted(index, Account::Open, None));
        assert_eq!(scheduler.next(seconds(0)).len(), 500);
        assert_eq!(scheduler.in_flight(), 502);
        scheduler
    };
    let mut followed = scheduler(None);
    followed.handle(7, cost("1"), seconds(1), 0.0);
    assert_eq!(followed.next(seconds(1)), [Action::Follow(500)]);
    for index in (0..500).filter(|index| *index != 7) {
        followed.handle(index, cost("1"), seconds(2), 0.0);
    }
    assert_eq!(followed.next(seconds(2)), [Action::Follow(501)]);
    assert!(!followed.is_done());
    let mut timed_out = scheduler(Some(seconds(9)));
    assert_eq!(timed_out.next(seconds(9)).len(), 502);
    assert!(timed_out.is_done());
}

#[test]
fn a_stopped_batch_follows_what_is_in_flight() {
    let mut scheduler = scheduler(3, limits(1, None));
    scheduler.next(seconds(0));
    scheduler.handle(0, accepted(None), seconds(0), 0.0);
    scheduler.stop(DropReason::Stopped);
    let dropped = |index| Action::Drop(index, DropReason::Stopped);
    assert_eq!(
        scheduler.next(seconds(0)),
        [Action::Follow(0), dropped(1), dropped(2)]
    );
    let retry_after = Some(seconds(3));
    scheduler.handle(0, Event::FollowLater { retry_after }, seconds(1), 0.0);
    assert!(scheduler.next(seconds(1)).is_empty() && !scheduler.is_done());
    assert_eq!(scheduler.wake_at(seconds(1)), Some(seconds(4)));
    assert_eq!(scheduler.next(seconds(4)), [Action::Follow(0)]);
    scheduler.handle(0, cost("0"), seconds(5), 0.0);
    assert!(scheduler.is_done());
}

#[test]
fn no_request_is_started_that_would_wait_for_the_rate_limit() {
    let mut scheduler = scheduler(4, limits(1, None));
    scheduler.next(seconds(0));
    let writes = Some(WriteLimit {
        limit: 2,
        remaining: 0,
        reset_after: seconds(60),
    });
    let charge = None;
    scheduler.handle(0, Event::Accepted { charge, writes }, seconds(1), 0.0);
    scheduler.handle(0, cost("0"), seconds(2), 0.0);
    assert_eq!(scheduler.next(seconds(2)), [Action::Follow(0)]);
    assert_eq!(scheduler.wake_at(seconds(2)), Some(seconds(61)));
    assert_eq!(submits(&scheduler.next(seconds(61))), [1]);
}
