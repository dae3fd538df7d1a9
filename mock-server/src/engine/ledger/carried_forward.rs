//! The sum of the entries that were dropped.

use serde::{Deserialize, Serialize};
use svc_sdk::types::Usd;

use super::{Account, EntryKind, Ledger, LedgerEntry};
use crate::engine::Time;

/// The sum of the entries of a workspace that were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CarriedForward {
    /// The amount by which the entries changed the balance; negative if more was charged than
    /// added.
    pub(super) amount: Usd,
    pub(super) count: u64,
    /// The time of the newest of them.
    pub(super) until: Time,
}

impl Account {
    /// Returns the balance before the oldest entry: the opening balance and what was carried
    /// forward. `None` if it overflows.
    pub(super) fn opening_of_entries(&self) -> Option<Usd> {
        let carried = self.carried_forward.unwrap_or_default();
        self.opening.checked_add(carried.amount)
    }
}

impl Ledger {
    /// Drops an entry and adds it to what is carried forward.
    ///
    /// The reservation of a job or run must be dropped together with the captures and refunds that
    /// end it, because a reservation does not change the sum.
    pub(crate) fn carry_forward(&mut self, seq: usize) {
        let Some(LedgerEntry { workspace, kind, amount, created_at, .. }) =
            self.entries.remove(seq)
        else {
            return;
        };
        let Some(account) = self.accounts.get_mut(&workspace) else { return };
        account.entries.remove(&seq);
        let carried = account.carried_forward.get_or_insert_default();
        let sum = match kind {
            EntryKind::Reservation | EntryKind::Refund => Some(carried.amount),
            EntryKind::Capture => carried.amount.checked_sub(amount),
            EntryKind::TopUp => carried.amount.checked_add(amount),
        };
        // The sum is the change of a balance that did not overflow.
        carried.amount = sum.unwrap_or(carried.amount);
        carried.count = carried.count.saturating_add(1);
        carried.until = carried.until.max(created_at);
    }
}
