//! Recovery: the submissions that an ended process has left open.

use std::fmt;
use std::sync::Arc;

use super::active_intent::{ActiveIntent, change, reserved, unknown};
use super::decision::undecided_reason;
use super::error::Undecided;
use super::intents::Intents;
use super::record::{Intent, Record, ReleaseReason, Released, ResourceKind};
use super::start::undecided;
use super::store::{Change, Hold, Owner, StoreError, StoredIntent};
use super::{Journal, in_time};
use crate::call::submit::key_fingerprint;
use crate::client::Client;
use crate::contract::{Operation, Surface};
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
    skipped: Skipped,
}

/// How many submissions a [`Recovery`] did not return. Those of other labels and surfaces, and those
/// that this process works on, are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Another process works on them. In PostgreSQL, a process that was killed counts as running for
    /// half a minute more: recover again after that.
    pub in_progress: usize,
    /// They were begun with another base URL or API key, and the client has no account label that
    /// says that they are the same account.
    pub account_changed: usize,
}

impl<S: ClientSurface> Recovery<S> {
    fn new(client: &Client<S>) -> Self {
        let journal = client.core.journal.as_ref();
        Self {
            client: client.clone(),
            intents: journal.map(|journal| Intents::new(journal, false)),
            skipped: Skipped::default(),
        }
    }

    /// Returns the next submission, or `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or the provider of the API key.
    pub async fn next(&mut self) -> Option<Result<Recovered<S>>> {
        let intents = self.intents.as_mut()?;
        let journal = intents.journal.clone();
        loop {
            let intent = match intents.next().await? {
                Ok(intent) => intent,
                Err(error) => return Some(Err(error)),
            };
            let recovered = self.client.recover_intent(&journal, &intent, &mut self.skipped).await;
            if let Some(recovered) = recovered.transpose() {
                return Some(recovered);
            }
        }
    }

    /// Returns how many submissions were not returned so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }
}

impl<S: ClientSurface> Client<S> {
    /// Whether an intent was begun on this client's surface, by its account as far as the label says.
    fn is_of_label(&self, intent: &Intent) -> bool {
        let is_of_surface = match intent.operation().map(Operation::surface) {
            Some(surface @ (Surface::Open | Surface::Developer)) => surface == S::SURFACE,
            _ => self.has_origin(intent),
        };
        is_of_surface && intent.stored.account == *self.core.account
    }

    fn has_origin(&self, intent: &Intent) -> bool {
        let facts = intent.facts.as_ref();
        facts.is_none_or(|it| it.origin == self.core.base_url.as_str())
    }

    /// Whether an intent was begun by this client's account. Without a label, base URL and API key say
    /// so.
    async fn is_of_account(&self, intent: &Intent) -> Result<bool> {
        if !self.core.account.is_empty() {
            return Ok(true);
        }
        let api_key = self.core.key.credentials.header().await?;
        let api_key = api_key.map(|key| key_fingerprint(key.as_bytes()));
        let facts = intent.facts.as_ref();
        Ok(self.has_origin(intent) && facts.is_none_or(|it| it.api_key == api_key))
    }

    /// Returns the submission of an intent, or `None` if it is not for this client to recover.
    async fn recover_intent(
        &self,
        journal: &Journal,
        intent: &Intent,
        skipped: &mut Skipped,
    ) -> Result<Option<Recovered<S>>> {
        if !self.is_of_label(intent) || journal.is_active(&intent.stored.id) {
            return Ok(None);
        }
        if !self.is_of_account(intent).await? {
            skipped.account_changed += 1;
            return Ok(None);
        }
        // What this process has given up is recovered after its end.
        if intent.stored.owner != Owner::Gone {
            skipped.in_progress += usize::from(intent.stored.owner == Owner::Other);
            return Ok(None);
        }
        // Another process may have gone on with it, and ended, since it was read.
        let claimed = in_time(journal.shared.store.claim(&intent.stored.id)).await?;
        let is_ours = |it: &StoredIntent| it.owner == Owner::This && !it.phase.is_closed();
        let Some(claimed) = claimed.filter(is_ours) else { return Ok(None) };
        let mut intent = Intent::read(claimed);
        if journal.searches_jobs
            && intent.progress.accepted.is_none()
            && !intent.progress.nothing_ran
            && let Some(facts) = intent.readable_facts().filter(|it| it.has_key_in_metadata)
            && journal.find_job(&self.core, &intent.stored.id, &facts.idempotency_key).await
        {
            intent = journal.claimed(&intent.stored.id).await?;
        }
        if let Some(active) = ActiveIntent::existing(journal, &intent)
            && let Some(accepted) = &intent.progress.accepted
        {
            let kind = accepted.kind;
            return Ok(Some(self.recovered(kind, accepted.id.clone(), active)));
        }
        match undecided_reason(&intent, journal.key_retention) {
            Some(reason) => {
                journal.mark_unknown(&intent).await;
                Ok(Some(Recovered::Undecided(undecided(&intent, reason))))
            }
            None => {
                journal.release(&intent).await?;
                Ok(None)
            }
        }
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
    /// Only submissions of this client's surface and account label are returned, and without a label those
    /// of its base URL and API key: call it for each client that shares the journal, and for the client of
    /// each account. [`Recovery::skipped`] says what was left out. A submission of which nothing was carried
    /// out is not returned: its reservation is given back, and the same call submits it.
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
    /// Releases an intent of this process of which nothing was carried out.
    async fn release(&self, intent: &Intent) -> Result<(), StoreError> {
        let released = Released { reason: ReleaseReason::Refused, code: None };
        let hold = reserved(intent).map(|_| Hold::default());
        let change = Change { hold, ..change(&Record::Released(released)) };
        in_time(self.shared.store.append(&intent.stored.id, &change)).await
    }

    /// Moves what an intent of this process reserved to what is undecided. If that fails, it stays
    /// reserved, which limits as much.
    async fn mark_unknown(&self, intent: &Intent) {
        let hold = intent.stored.hold;
        let is_reserved = hold.undecided == Usd::ZERO && hold.captured == Usd::ZERO;
        if let Some(reserved) = reserved(intent).filter(|_| is_reserved) {
            let change = unknown(reserved);
            let _ = in_time(self.shared.store.append(&intent.stored.id, &change)).await;
        }
    }
}

impl<S: ClientSurface> fmt::Debug for Recovery<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recovery").finish_non_exhaustive()
    }
}
