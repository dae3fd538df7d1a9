//! Recovery: the submissions that an ended process has left open.

use std::fmt;
use std::sync::Arc;

use super::active_intent::{ActiveIntent, reserved, unknown};
use super::decision::undecided_reason;
use super::error::Undecided;
use super::intents::Intents;
use super::record::{Intent, ResourceKind};
use super::start::undecided;
use super::store::{Owner, StoredIntent};
use super::{Journal, UndecidedReason};
use crate::call::clock;
use crate::client::Client;
use crate::error::Result;
use crate::handle::{
    ActionRun, AgentRun, FormatRun, Handle, JobHandle, QueueHandle, Resource, RunHandle,
    TopUpHandle,
};
use crate::surface::ClientSurface;
use crate::types::Usd;

/// A submission that was not acknowledged, and whose process is gone.
///
/// Wait for it, store its result, and acknowledge it; or make the call with its submission id again.
#[derive(Debug)]
#[non_exhaustive]
pub enum Recovered<S: ClientSurface> {
    /// A job.
    Job(JobHandle<S>),
    /// A run of an Action.
    ActionRun(RunHandle<ActionRun>),
    /// A run of a Format.
    FormatRun(RunHandle<FormatRun>),
    /// A run of an Agent Completion.
    AgentRun(RunHandle<AgentRun>),
    /// A bulk queue.
    Queue(QueueHandle),
    /// A top-up.
    TopUp(TopUpHandle),
    /// A submission without a receipt: it is unknown whether it was carried out.
    Undecided(Undecided),
}

/// The submissions of processes that have ended, oldest first.
///
/// Returned by [`Client::recover`]. Each is given to one process only.
#[must_use = "nothing is recovered unless `next` is called"]
pub struct Recovery<S: ClientSurface> {
    client: Client<S>,
    /// The intents of the client's journal, if it has one.
    intents: Option<Intents>,
}

impl<S: ClientSurface> Recovery<S> {
    fn new(client: &Client<S>) -> Self {
        let journal = client.core.journal.as_ref();
        Self {
            client: client.clone(),
            intents: journal.map(|journal| Intents::new(journal, false)),
        }
    }

    /// Returns the next submission, or `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn next(&mut self) -> Option<Result<Recovered<S>>> {
        let intents = self.intents.as_mut()?;
        let journal = intents.journal.clone();
        loop {
            let intent = match intents.next().await? {
                Ok(intent) => intent,
                Err(error) => return Some(Err(error)),
            };
            let recovered = self.client.recover_intent(&journal, &intent).await;
            if let Some(recovered) = recovered.transpose() {
                return Some(recovered);
            }
        }
    }
}

impl<S: ClientSurface> Client<S> {
    /// Returns the submission of an intent, or `None` if it is not for this client to recover.
    async fn recover_intent(
        &self,
        journal: &Journal,
        intent: &Intent,
    ) -> Result<Option<Recovered<S>>> {
        let core = &self.core;
        let is_foreign = intent.stored.account != *core.account
            || intent.facts.as_ref().is_some_and(|it| it.origin != core.base_url.as_str());
        let is_free = intent.stored.owner == Owner::Gone && !journal.is_active(&intent.stored.id);
        if is_foreign || !is_free {
            return Ok(None);
        }
        // Another process may have gone on with it, and ended, since it was read.
        let claimed = journal.shared.store.claim(&intent.stored.id).await?;
        let is_ours = |it: &StoredIntent| it.owner == Owner::This && !it.phase.is_closed();
        let Some(claimed) = claimed.filter(is_ours) else {
            return Ok(None);
        };
        let intent = Intent::read(claimed);
        if let Some(active) = ActiveIntent::existing(journal, &intent)
            && let Some(accepted) = &intent.progress.accepted
        {
            let kind = accepted.kind;
            return Ok(Some(self.recovered(kind, accepted.id.clone(), active)));
        }
        let reason = undecided_reason(&intent, clock::wall(), journal.key_retention);
        if reason.is_some() {
            journal.mark_unknown(&intent).await;
        }
        let reason = reason.unwrap_or(UndecidedReason::CallAgain);
        Ok(Some(Recovered::Undecided(undecided(&intent, reason))))
    }

    fn recovered(&self, kind: ResourceKind, id: String, intent: Arc<ActiveIntent>) -> Recovered<S> {
        fn restore<R: Resource>(
            client: &Client<impl ClientSurface>,
            id: String,
            intent: Arc<ActiveIntent>,
        ) -> Handle<R> {
            Handle::restore(&client.core, id, intent)
        }
        match kind {
            ResourceKind::Job => Recovered::Job(restore(self, id, intent)),
            ResourceKind::ActionRun => Recovered::ActionRun(restore(self, id, intent)),
            ResourceKind::FormatRun => Recovered::FormatRun(restore(self, id, intent)),
            ResourceKind::AgentRun => Recovered::AgentRun(restore(self, id, intent)),
            ResourceKind::Queue => Recovered::Queue(restore(self, id, intent)),
            ResourceKind::TopUp => Recovered::TopUp(restore(self, id, intent)),
        }
    }

    /// Returns what earlier processes submitted through the client's journal and did not acknowledge.
    ///
    /// Only submissions of this client's base URL and account label are returned: call it for each client
    /// that shares the journal, and for the client of each account.
    ///
    /// ```no_run
    /// use svc_sdk::journal::Recovered;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let mut recovery = client.recover();
    /// while let Some(recovered) = recovery.next().await {
    ///     match recovered? {
    ///         Recovered::Job(job) => {
    ///             println!("{:?}: {:?}", job.submission_id(), job.wait().await);
    ///             job.acknowledge().await?;
    ///         }
    ///         Recovered::Undecided(undecided) => println!("look for {undecided:?}"),
    ///         other => println!("{other:?}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn recover(&self) -> Recovery<S> {
        Recovery::new(self)
    }

    /// Waits until every submit that was sent through the journal has its receipt, also those whose
    /// futures were dropped. For the end of a program.
    pub async fn drain(&self) {
        self.core.pending_submits.wait().await;
    }
}

impl Journal {
    /// Moves what an intent of this process reserved to what is undecided. If that fails, it stays
    /// reserved, which limits as much.
    async fn mark_unknown(&self, intent: &Intent) {
        let hold = intent.stored.hold;
        let is_reserved = hold.undecided == Usd::ZERO && hold.captured == Usd::ZERO;
        if let Some(reserved) = reserved(intent).filter(|_| is_reserved) {
            let change = unknown(reserved);
            let _ = self.shared.store.append(&intent.stored.id, &change).await;
        }
    }
}

impl<S: ClientSurface> fmt::Debug for Recovery<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recovery").finish_non_exhaustive()
    }
}
