//! The spend of a run. It is split into pieces, each of which is reserved when it starts and
//! captured when it is finished.

use serde::{Deserialize, Serialize};
use svc_sdk::types::Usd;

const PIECES: i64 = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spend {
    pieces: Vec<Usd>,
    #[serde(rename = "begun")]
    reserved_count: usize,
    #[serde(rename = "finished")]
    captured_count: usize,
    /// Whether the pieces that were reserved but not captured were refunded.
    #[serde(rename = "settled")]
    is_settled: bool,
}

impl Spend {
    /// Splits the cost of a run into pieces. If the cost exceeds the cap, the last piece is the
    /// excess.
    pub(crate) fn new(cost: Usd, cap: Usd) -> Self {
        let split = |amount: Usd, pieces: i64| {
            let each = amount.as_micros().checked_div(pieces).unwrap_or_default();
            let rest = amount.as_micros() - each * (pieces - 1);
            (1..pieces).map(move |_| each).chain([rest]).map(Usd::from_micros)
        };
        let pieces: Vec<Usd> = if cost <= cap {
            split(cost, PIECES).collect()
        } else {
            let excess = cost.checked_sub(cap);
            split(cap, PIECES - 1).chain(excess).collect()
        };
        let pieces = pieces.into_iter().filter(|piece| *piece > Usd::ZERO);
        Self { pieces: pieces.collect(), ..Self::default() }
    }

    /// Returns the amount that is reserved or captured.
    pub(crate) fn billable(&self) -> Usd {
        let counted = if self.is_settled { self.captured_count } else { self.reserved_count };
        self.pieces.iter().take(counted).copied().sum()
    }

    /// Returns the amount that is reserved but not captured; `None` if the spend is inconsistent,
    /// which only a snapshot can cause.
    pub(crate) fn pending(&self) -> Option<Usd> {
        let reserved = self.pieces.get(self.captured_count..self.reserved_count)?;
        if self.pieces.iter().any(|piece| *piece <= Usd::ZERO) {
            return None;
        }
        let reserved = if self.is_settled { &[] } else { reserved };
        Some(reserved.iter().copied().sum())
    }

    pub(super) fn next_piece(&self) -> Option<Usd> {
        self.pieces.get(self.reserved_count).copied()
    }

    pub(super) fn reserve_next(&mut self) {
        self.reserved_count += 1;
    }

    pub(super) fn capture_reserved(&mut self) {
        self.captured_count = self.reserved_count;
    }

    /// Records that the pieces that were reserved but not captured were refunded.
    pub(super) fn settle(&mut self) {
        self.is_settled = true;
    }
}
