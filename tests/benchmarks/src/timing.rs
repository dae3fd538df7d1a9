//! Clocks, and contenders that take turns.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time that this thread has used.
pub(crate) fn thread_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Returns the time since some moment in the past.
#[allow(dead_code, reason = "the benchmark of verifiers shares this module")]
pub(crate) fn wall_time() -> Duration {
    read(ClockId::Monotonic)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// What the contenders cost, round by round. The first contender is this project.
pub(crate) struct Costs<const N: usize>(Vec<[f64; N]>);

impl<const N: usize> Costs<N> {
    /// Lets the contenders take turns, each beginning some of the rounds.
    pub(crate) fn measure(rounds: usize, mut contenders: [&mut dyn FnMut() -> f64; N]) -> Self {
        let mut costs = Vec::with_capacity(rounds);
        // The first round is not counted: it fills caches and pools.
        for round in 0..=rounds {
            let mut row = [0.0; N];
            let turns = (0..N).map(|turn| (turn + round) % N);
            for index in turns {
                if let (Some(cost), Some(work)) = (row.get_mut(index), contenders.get_mut(index)) {
                    *cost = work();
                }
            }
            costs.push(row);
        }
        costs.remove(0);
        Self(costs)
    }

    /// Returns the median of each contender.
    pub(crate) fn medians(&self) -> [f64; N] {
        std::array::from_fn(|index| median(self.column(index)))
    }

    /// Returns the median of the ratios, round by round, of this project to a contender.
    pub(crate) fn ratio(&self, index: usize) -> f64 {
        let pairs = self.column(0).zip(self.column(index));
        median(pairs.map(|(own, other)| own / other))
    }

    fn column(&self, index: usize) -> impl Iterator<Item = f64> {
        self.0.iter().filter_map(move |row| row.get(index).copied())
    }
}

/// Returns the median of the numbers, and 0 if there are none.
pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
