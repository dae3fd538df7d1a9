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
    #[serde(rename = "begun")]
    reserved_count: usize,
    /// So many of those are captured.
    #[serde(rename = "finished")]
    captured_count: usize,
    /// What was reserved and not captured went back.
    #[serde(rename = "settled")]
    is_settled: bool,
}

impl Spend {
    /// The pieces of what a run will try to spend. What the cap allows is done before what it does
    /// not.
    pub(crate) fn new(cost: Usd, cap: Usd) -> Self {
        let cut = |full_output: Usd, pieces: i64| {
            let each = full_output.micros().checked_div(pieces).unwrap_or_default();
            let rest = full_output.micros() - each * (pieces - 1);
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
        let counted = if self.is_settled {
            self.captured_count
        } else {
            self.reserved_count
        };
        self.pieces.iter().take(counted).copied().sum()
    }

    /// What is reserved and not captured; `None` where that cannot be.
    pub(crate) fn pending(&self) -> Option<Usd> {
        let sound =
            self.captured_count <= self.reserved_count && self.reserved_count <= self.pieces.len();
        let reserved = self
            .pieces
            .get(self.captured_count..self.reserved_count)
            .filter(|_| sound)?;
        let reserved = if self.is_settled { &[] } else { reserved };
        let in_order = self.pieces.iter().all(|piece| *piece > Usd::ZERO);
        in_order.then(|| reserved.iter().copied().sum())
    }

    /// The piece that would begin now.
    pub(super) fn next_piece(&self) -> Option<Usd> {
        self.pieces.get(self.reserved_count).copied()
    }

    /// Notes that the next piece is reserved.
    pub(super) fn reserve_next(&mut self) {
        self.reserved_count += 1;
    }

    /// Notes that what was reserved is captured.
    pub(super) fn capture_reserved(&mut self) {
        self.captured_count = self.reserved_count;
    }

    /// Notes that what was reserved and not captured went back.
    pub(super) fn settle(&mut self) {
        self.is_settled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    fn pieces(cost: &str, cap: &str) -> Vec<String> {
        let spend = Spend::new(usd(cost), usd(cap));
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
        let mut spend = Spend::new(usd("3"), usd("5"));
        assert_eq!(
            (spend.billable(), spend.pending()),
            (Usd::ZERO, Some(Usd::ZERO))
        );
        spend.reserve_next();
        spend.capture_reserved();
        spend.reserve_next();
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
