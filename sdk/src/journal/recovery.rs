//! Recovery: the submissions that an ended process has left open.

use std::fmt;
use std::sync::Arc;

use super::active_intent::ActiveIntent;
use super::decision::undecided_reason;
use super::error::Undecided;
use super::record::{Intent, ResourceKind};
use super::start::undecided;
use super::store::{ListFilter, Owner, StoredIntent};
use super::{Journal, UndecidedReason};
use crate::call::clock;
use crate::client::Client;
use crate::error::Result;
use crate::handle::{
    ActionRun, AgentRun, FormatRun, Handle, JobHandle, QueueHandle, Resource, RunHandle,
    TopUpHandle,
};
use crate::surface::ClientSurface;

/// How many intents are read from the store at once.
const PAGE_SIZE: usize = 100;

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
    /// It has no receipt.
    Undecided(Undecided),
}

/// The submissions that gone processes have left behind, oldest first.
///
/// Returned by [`Client::recover`]. Each is given to one process only.
#[must_use = "nothing is recovered unless `next` is called"]
pub struct Recovery<S: ClientSurface> {
    client: Client<S>,
    journal: Option<Journal>,
    filter: ListFilter,
    page: std::vec::IntoIter<StoredIntent>,
    is_last: bool,
}

impl<S: ClientSurface> Recovery<S> {
    fn new(client: &Client<S>) -> Self {
        let journal = client.core.journal.clone();
        Self {
            client: client.clone(),
            is_last: journal.is_none(),
            filter: ListFilter {
                namespace: journal.as_ref().map(|it| it.namespace.to_string()),
                include_closed: false,
                after: None,
                limit: PAGE_SIZE,
            },
            journal,
            page: Vec::new().into_iter(),
        }
    }

    /// Returns the next submission, or `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn next(&mut self) -> Option<Result<Recovered<S>>> {
        let journal = self.journal.clone()?;
        loop {
            if let Some(stored) = self.page.next() {
                match self.recover(&journal, stored).await {
                    Ok(None) => continue,
                    Ok(Some(recovered)) => return Some(Ok(recovered)),
                    Err(error) => return Some(Err(error)),
                }
            }
            if self.is_last {
                return None;
            }
            match journal.shared.store.list(&self.filter).await {
                Ok(page) => {
                    self.is_last = page.next.is_none();
                    self.filter.after = page.next;
                    self.page = page.intents.into_iter();
                }
                Err(error) => {
                    self.is_last = true;
                    return Some(Err(error.into()));
                }
            }
        }
    }

    async fn recover(
        &self,
        journal: &Journal,
        stored: StoredIntent,
    ) -> Result<Option<Recovered<S>>> {
        let core = &self.client.core;
        let intent = Intent::read(stored);
        let is_foreign = intent.stored.account != *core.account
            || intent
                .facts
                .as_ref()
                .is_some_and(|it| it.origin != core.base_url.as_str());
        let is_free = intent.stored.owner == Owner::Gone && !journal.is_active(&intent.stored.id);
        if is_foreign || !is_free || !journal.shared.store.claim(&intent.stored.id).await? {
            return Ok(None);
        }
        if let Some(active) = ActiveIntent::existing(journal, &intent)
            && let Some(accepted) = &intent.progress.accepted
        {
            let kind = accepted.kind;
            return Ok(Some(self.handle(kind, accepted.id.clone(), active)));
        }
        let reason = match &intent.facts {
            Some(facts) => undecided_reason(&intent, facts, clock::wall(), journal.key_retention),
            None => Some(UndecidedReason::NewerVersion),
        };
        let reason = reason.unwrap_or(UndecidedReason::CallAgain);
        Ok(Some(Recovered::Undecided(undecided(&intent, reason))))
    }

    fn handle(&self, kind: ResourceKind, id: String, intent: Arc<ActiveIntent>) -> Recovered<S> {
        fn restore<R: Resource>(
            recovery: &Recovery<impl ClientSurface>,
            id: String,
            intent: Arc<ActiveIntent>,
        ) -> Handle<R> {
            Handle::restore(&recovery.client.core, id, intent)
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
}

impl<S: ClientSurface> Client<S> {
    /// Returns what earlier processes submitted through the client's journal and did not acknowledge.
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

impl<S: ClientSurface> fmt::Debug for Recovery<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recovery").finish_non_exhaustive()
    }
}
