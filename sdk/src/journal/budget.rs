//! Spend limits.

use crate::types::Usd;

/// A limit of what the submits of clients may cost together.
///
/// The amounts are in the journal's store, under the name of the limit: clients, processes and
/// machines that share the store share the budget. What a submit may cost is reserved in the step
/// that begins its intent, so that reservations never exceed the limit.
///
/// Set it with [`ClientBuilder::spend_limit`](crate::ClientBuilder::spend_limit). A submit whose price
/// is unknown is refused: a job needs an estimate, which only the open surface gives, and a run needs
/// a spend cap in its body, or [`Call::at_most`](crate::Call::at_most). An estimate is used again for a
/// minute. Top-ups, raw requests and calls of MCP tools do not count.
///
/// The sums are never reset, not even by [`Journal::purge`](super::Journal::purge): give each period a
/// name of its own, such as `images-2026-11`. If the service charges more than was reserved, nothing
/// more can be reserved under that name: go on under another one. Clients with the same name should
/// have the same limit, as each compares the sums with its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendLimit {
    pub(crate) name: String,
    pub(crate) limit: Usd,
}

impl SpendLimit {
    /// Creates a limit of that name.
    #[must_use]
    pub fn new(name: impl Into<String>, limit: Usd) -> Self {
        Self { name: name.into(), limit }
    }
}
