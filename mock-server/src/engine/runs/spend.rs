//! What a run spends on generation: piece by piece, each reserved when it begins and captured when
//! it is finished, and none that would lead past the cap.

use serde::{Deserialize, Serialize};
use svc_sdk::types::Usd;

/// How many pieces what a run costs is cut into.
const PIECES: i64 = 3;

/// The pieces of a run, and how far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spend {
    pieces: Vec<Usd>,
    /// So many are reserved.
    begun: usize,
    /// So many of those are captured.
    finished: usize,
    /// What was reserved and not captured went back.
    settled: bool,
}

impl Spend {
    /// The pieces of what a run will try to spend. What the cap allows is done before what it does
    /// not.
    pub(crate) fn of(cost: Usd, cap: Usd) -> Self {
        let cut = |whole: Usd, pieces: i64| {
            let each = whole.micros().checked_div(pieces).unwrap_or_default();
            let rest = whole.micros() - each * (pieces - 1);
            (1..pieces)
                .map(move |_| each)
                .chain([rest])
                .map(Usd::from_micros)
        };
        let pieces: Vec<Usd> = if cost <= cap {
            cut(cost, PIECES).collect()
        } else {
            let beyond = cost.checked_sub(cap);
            cut(cap, PIECES - 1).chain(beyond).collect()
        };
        let pieces = pieces.into_iter().filter(|piece| *piece > Usd::ZERO);
        Self {
            pieces: pieces.collect(),
            ..Self::default()
        }
    }

    /// What is reserved or captured.
    pub(crate) fn billable(&self) -> Usd {
        let counted = if self.settled {
            self.finished
        } else {
            self.begun
        };
        self.pieces.iter().take(counted).copied().sum()
    }

    /// What is reserved and not captured; `None` where that cannot be.
    pub(crate) fn pending(&self) -> Option<Usd> {
        let sound = self.finished <= self.begun && self.begun <= self.pieces.len();
        let begun = self
            .pieces
            .get(self.finished..self.begun)
            .filter(|_| sound)?;
        let begun = if self.settled { &[] } else { begun };
        let in_order = self.pieces.iter().all(|piece| *piece > Usd::ZERO);
        in_order.then(|| begun.iter().copied().sum())
    }

    /// The piece that would begin now.
    pub(super) fn next(&self) -> Option<Usd> {
        self.pieces.get(self.begun).copied()
    }

    /// Notes that the next piece is reserved.
    pub(super) fn begin(&mut self) {
        self.begun += 1;
    }

    /// Notes that what was reserved is captured.
    pub(super) fn finish(&mut self) {
        self.finished = self.begun;
    }

    /// Notes that what was reserved and not captured went back.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    fn pieces(cost: &str, cap: &str) -> Vec<String> {
        let spend = Spend::of(usd(cost), usd(cap));
        spend.pieces.iter().map(Usd::to_string).collect()
    }

    #[test]
    fn the_pieces_are_what_it_costs() {
        assert_eq!(pieces("0.1", "2"), ["0.033333", "0.033333", "0.033334"]);
        assert_eq!(pieces("0.000001", "2"), ["0.000001"]);
        assert_eq!(pieces("0", "2").len(), 0);
    }

    #[test]
    fn what_the_cap_allows_comes_before_what_it_does_not() {
        assert_eq!(pieces("5", "2"), ["1.0000", "1.0000", "3.0000"]);
        assert_eq!(pieces("2", "0.000001"), ["0.000001", "1.999999"]);
    }

    #[test]
    fn what_is_reserved_counts_until_it_goes_back() {
        let mut spend = Spend::of(usd("3"), usd("5"));
        assert_eq!(
            (spend.billable(), spend.pending()),
            (Usd::ZERO, Some(Usd::ZERO))
        );
        spend.begin();
        spend.finish();
        spend.begin();
        assert_eq!(
            (spend.billable(), spend.pending()),
            (usd("2"), Some(usd("1")))
        );
        spend.settle();
        assert_eq!(
            (spend.billable(), spend.pending()),
            (usd("1"), Some(Usd::ZERO))
        );
    }
}
