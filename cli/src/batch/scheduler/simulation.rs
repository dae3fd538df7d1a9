//! The scheduler against a simulated service, with random faults and crashes, in virtual time.

use std::collections::{BTreeMap, HashSet};

use super::tests::limits;
use super::*;

/// A small generator of random numbers, so that a seed repeats a simulation.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the journal of a batch would know about an item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Known {
    #[default]
    Nothing,
    /// A request was sent whose outcome is not known.
    Sent(Usd),
    Running(Usd),
    Ended(Usd),
    Ambiguous(Usd),
}

/// The service, and what it was asked for.
struct Service {
    rng: Rng,
    fault_percent: u64,
    capacity: usize,
    writes_per_minute: u32,
    window: (u64, u32),
    /// The charge of each job, by item.
    jobs: BTreeMap<Index, Usd>,
    running: HashSet<Index>,
    rate_limited: u32,
}

impl Service {
    fn price(index: Index) -> Usd {
        Usd::from_micros(100_000 * (i64::from(index) % 7 + 1))
    }

    /// Takes a place in the write quota.
    fn write(&mut self, now: Duration) -> Option<WriteLimit> {
        let minute = now.as_secs() / 60;
        if self.window.0 != minute {
            self.window = (minute, self.writes_per_minute);
        }
        if self.window.1 == 0 {
            self.rate_limited += 1;
            return None;
        }
        self.window.1 -= 1;
        Some(WriteLimit {
            limit: self.writes_per_minute,
            remaining: self.window.1,
            reset_after: Duration::from_secs((minute + 1) * 60) - now,
        })
    }

    fn pushed_back(reason: Backpressure, writes: Option<WriteLimit>) -> Event {
        Event::Backpressure {
            reason,
            retry_after: None,
            writes,
        }
    }

    fn estimate(&mut self, index: Index, now: Duration) -> Event {
        match self.write(now) {
            None => Self::pushed_back(Backpressure::RateLimit, None),
            writes if self.rng.chance(self.fault_percent) => {
                Self::pushed_back(Backpressure::Overload, writes)
            }
            writes => Event::Priced {
                price: Some(Self::price(index)),
                writes,
            },
        }
    }

    /// Carries out a submit. A key is charged once.
    fn submit(&mut self, index: Index, now: Duration) -> Event {
        let Some(writes) = self.write(now) else {
            return Self::pushed_back(Backpressure::RateLimit, None);
        };
        let fault = self.rng.chance(self.fault_percent);
        let kind = self.rng.below(4);
        match (fault, kind) {
            (true, 0) => return Self::pushed_back(Backpressure::Overload, Some(writes)),
            (true, 1) => return Event::NotSent,
            (true, 2) => return Event::NoAnswer,
            _ => {}
        }
        if !self.jobs.contains_key(&index) && self.running.len() >= self.capacity {
            return Self::pushed_back(Backpressure::Capacity, Some(writes));
        }
        if self.jobs.insert(index, Self::price(index)).is_none() {
            self.running.insert(index);
        }
        match fault {
            // It was carried out, and the answer is lost.
            true => Event::NoAnswer,
            false => Event::Accepted {
                charge: Some(Self::price(index)),
                writes: Some(writes),
            },
        }
    }
}

/// A batch that is run, killed at random moments, and run again, until it is done.
struct Simulation {
    service: Service,
    known: Vec<Known>,
    /// The items that were not submitted for lack of funds.
    unfunded: HashSet<Index>,
    limits: Limits,
    now: Duration,
    submits: u32,
    crashes: u64,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut rng = Rng(seed);
        let items = usize::try_from(rng.below(60) + 1).unwrap();
        let max_spend = match rng.chance(60) {
            true => Some(Usd::from_micros(
                i64::try_from(rng.below(20_000_000)).unwrap(),
            )),
            false => None,
        };
        let concurrency = usize::try_from(rng.below(20) + 1).unwrap();
        Self {
            service: Service {
                fault_percent: rng.below(50),
                capacity: usize::try_from(rng.below(12) + 1).unwrap(),
                writes_per_minute: u32::try_from(rng.below(100) + 5).unwrap(),
                window: (u64::MAX, 0),
                jobs: BTreeMap::new(),
                running: HashSet::new(),
                rate_limited: 0,
                rng,
            },
            known: vec![Known::Nothing; items],
            unfunded: HashSet::new(),
            limits: Limits {
                max_spend,
                max_attempts: 30,
                max_unreachable: 30,
                ..limits(concurrency, None)
            },
            now: Duration::ZERO,
            submits: 0,
            crashes: 0,
        }
    }

    fn committed(&self) -> Usd {
        let amounts = self.known.iter().map(|known| match known {
            Known::Nothing => Usd::ZERO,
            Known::Sent(usd) | Known::Running(usd) | Known::Ended(usd) | Known::Ambiguous(usd) => {
                *usd
            }
        });
        amounts.sum()
    }

    fn scheduler(&mut self) -> Scheduler {
        let limits = Limits {
            committed: self.committed(),
            ..self.limits.clone()
        };
        let mut scheduler = Scheduler::new(self.known.len(), limits);
        self.unfunded.clear();
        for (known, index) in self.known.iter().zip(0..) {
            match *known {
                Known::Nothing => scheduler.add(index, Account::Open),
                Known::Sent(usd) | Known::Ambiguous(usd) => {
                    let reserved_or_charged = self.limits.max_spend.map(|_| usd);
                    scheduler.add_resend(index, Account::Open, reserved_or_charged);
                }
                Known::Running(usd) => scheduler.add_submitted(index, Account::Open, Some(usd)),
                Known::Ended(_) => {}
            }
        }
        scheduler
    }

    /// Runs until the batch is done, or is killed.
    fn run(&mut self, kill_percent: u64) -> bool {
        let mut scheduler = self.scheduler();
        let started = self.now;
        let mut under_way: HashSet<Index> = HashSet::new();
        for _ in 0..20_000 {
            let now = self.now - started;
            for action in scheduler.next(now) {
                match action {
                    Action::Price(index) => {
                        let event = self.service.estimate(index, self.now);
                        scheduler.handle(index, event, now, 0.5);
                    }
                    Action::Submit(index) => self.submit(&mut scheduler, index, now),
                    Action::Follow(index) => {
                        assert!(under_way.insert(index), "{index} is followed twice");
                    }
                    Action::Drop(index, reason) => self.drop_item(index, reason),
                }
                self.check();
            }
            if scheduler.is_done() {
                return true;
            }
            if self.service.rng.chance(kill_percent) {
                self.crashes += 1;
                return false;
            }
            self.end_jobs(&mut scheduler, &mut under_way, now);
            let step = Duration::from_millis(self.service.rng.below(3000) + 1);
            self.now += step;
        }
        panic!("the batch does not end");
    }

    fn submit(&mut self, scheduler: &mut Scheduler, index: Index, now: Duration) {
        let known = &mut self.known[index as usize];
        assert!(
            matches!(known, Known::Nothing | Known::Sent(_) | Known::Ambiguous(_)),
            "{index} is submitted again although it is {known:?}"
        );
        let price = match self.limits.max_spend {
            Some(_) => scheduler.price(index).unwrap(),
            None => Usd::ZERO,
        };
        let before = *known;
        *known = Known::Sent(price);
        self.submits += 1;
        let event = self.service.submit(index, self.now);
        *known = match &event {
            Event::Accepted { charge, .. } => Known::Running(charge.unwrap()),
            // Nothing ran, so what was known before still holds.
            Event::Backpressure { .. } | Event::NotSent => before,
            _ => Known::Sent(price),
        };
        if self.service.rng.chance(50) {
            // The process may be killed before it learns of the answer.
            let known = &mut self.known[index as usize];
            if *known == Known::Nothing && self.service.rng.chance(1) {
                *known = Known::Sent(price);
            }
        }
        scheduler.handle(index, event, now, 0.5);
    }

    fn drop_item(&mut self, index: Index, reason: DropReason) {
        let known = &mut self.known[index as usize];
        match (reason, *known) {
            (DropReason::OverBudget, Known::Nothing) => {
                self.unfunded.insert(index);
            }
            (_, Known::Sent(price)) => *known = Known::Ambiguous(price),
            (DropReason::NoAnswer | DropReason::Unreachable | DropReason::OverBudget, _) => {}
            (reason, known) => panic!("{index} was dropped: {reason:?}, {known:?}"),
        }
    }

    /// Ends some of the jobs, and tells those who follow them.
    fn end_jobs(
        &mut self,
        scheduler: &mut Scheduler,
        under_way: &mut HashSet<Index>,
        now: Duration,
    ) {
        let mut running: Vec<Index> = self.service.running.iter().copied().collect();
        running.sort_unstable();
        for index in running {
            if self.service.rng.chance(10) {
                self.service.running.remove(&index);
                if self.service.rng.chance(20) {
                    // It failed, and the charge is refunded.
                    self.service.jobs.insert(index, Usd::ZERO);
                }
            }
        }
        let mut followed: Vec<Index> = under_way.iter().copied().collect();
        followed.sort_unstable();
        for index in followed {
            if self.service.running.contains(&index) {
                continue;
            }
            under_way.remove(&index);
            if self.service.rng.chance(self.service.fault_percent) {
                scheduler.handle(index, Event::FollowLater { retry_after: None }, now, 0.5);
                continue;
            }
            let cost = self.service.jobs[&index];
            self.known[index as usize] = Known::Ended(cost);
            scheduler.handle(index, Event::Finished { cost: Some(cost) }, now, 0.5);
        }
    }

    /// Checks what must hold at all times.
    fn check(&self) {
        let charged: Usd = self.service.jobs.values().copied().sum();
        if let Some(limit) = self.limits.max_spend {
            assert!(charged <= limit, "{charged} is above {limit}");
        }
        assert!(self.service.running.len() <= self.service.capacity);
    }
}

#[test]
fn nothing_is_submitted_twice_or_above_the_budget() {
    let (mut crashes, mut unfunded, mut limited) = (0, 0, 0);
    for seed in 0..400 {
        let mut simulation = Simulation::new(seed);
        let kill_percent = simulation.service.rng.below(4);
        let mut runs = 0;
        while !simulation.run(if runs < 20 { kill_percent } else { 0 }) {
            runs += 1;
        }
        for (known, index) in simulation.known.iter().zip(0..) {
            let job = simulation.service.jobs.get(&index).copied();
            match known {
                Known::Ended(cost) => assert_eq!(job, Some(*cost), "seed {seed}, item {index}"),
                Known::Nothing => {
                    assert!(
                        simulation.unfunded.contains(&index),
                        "seed {seed}, item {index}"
                    );
                    assert_eq!(job, None);
                }
                Known::Ambiguous(_) => {}
                other => panic!("seed {seed}: item {index} is lost: {other:?}"),
            }
        }
        crashes += simulation.crashes;
        unfunded += simulation.unfunded.len();
        limited += simulation.service.rate_limited;
    }
    assert!(
        crashes > 100 && unfunded > 100,
        "{crashes} crashes, {unfunded} without funds"
    );
    // A run does not know what the run before it, which was killed, left of the write quota.
    assert!(
        u64::from(limited) <= crashes * 16,
        "{limited} requests above the rate limit"
    );
}

#[test]
fn a_batch_that_is_not_killed_meets_no_rate_limit() {
    for seed in 0..100 {
        let mut simulation = Simulation::new(seed);
        assert!(simulation.run(0));
        assert_eq!(simulation.service.rate_limited, 0, "seed {seed}");
    }
}
