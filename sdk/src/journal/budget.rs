//! Spend limits.

use crate::types::Usd;

/// A limit of what the submits of clients may cost together.
///
/// The amounts are in the journal's store, under the name of the limit: clients, processes and
/// machines that share the store share the budget. What a submit may cost is reserved in the step
/// that begins its intent, so that reservations never exceed the limit.
///
/// ```
/// # #[cfg(feature = "testing")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use svc_sdk::contract::Operation;
/// use svc_sdk::journal::{Journal, JournalError, SpendLimit};
/// use svc_sdk::testing::ScriptedService;
/// use svc_sdk::{open, types::ImageGenerate};
///
/// let job = serde_json::json!({"job": {"id": "job_1", "status": "queued"}});
/// let price = serde_json::json!({"model": "image-i", "price_usd": "0.3000", "currency": "USD"});
/// let service = ScriptedService::new()
///     .answer(Operation::OpenEstimate, price)
///     .answer(Operation::ImageGenerate, job);
/// let journal = Journal::in_memory();
/// let client: open::Client = service
///     .builder()?
///     .journal(journal.clone())
///     .spend_limit(SpendLimit::new("images-2026-11", "0.50".parse()?))
///     .build()?;
/// let submit = || client.images().generate(ImageGenerate::new("image-i").prompt("a red fox"));
///
/// submit().await?;
/// assert_eq!(journal.budget("images-2026-11").await?.hold.reserved, "0.30".parse()?);
/// let error = submit().await.unwrap_err();
/// assert!(matches!(error.journal(), Some(JournalError::OverBudget { .. })));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "testing"))]
/// # fn main() {}
/// ```
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
