//! Recovery: the submissions that an ended process has left open.

use std::collections::VecDeque;
use std::sync::Arc;

use super::active_intent::{ActiveIntent, released, reserved, unknown};
use super::decision::undecided_reason;
use super::entry::Intents;
use super::error::Undecided;
use super::fingerprint::key_fingerprint;
use super::record::{Intent, ReleaseReason, ResourceKind};
use super::start::undecided;
use super::store::{IntentId, Owner};
use super::{Journal, in_time};
use crate::call::clock::{self, Instant};
use crate::call::job_search::find_job;
use crate::client::Client;
use crate::contract::{Operation, Surface};
use crate::debug_fields::debug_fields;
use crate::error::Result;
use crate::handle::{
    ActionRun, AgentRun, FormatRun, Handle, JobHandle, QueueHandle, RunHandle, TopUpHandle,
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
///
/// In a store that takes a killed process for a running one for a while, as PostgreSQL does for half a
/// minute, what a running process works on is looked at again after that time: the last call of
/// [`next`](Self::next) waits for as long.
#[must_use = "nothing is recovered unless `next` is called"]
pub struct Recovery<S: ClientSurface> {
    client: Client<S>,
    /// The intents of the client's journal, if it has one.
    intents: Option<Intents>,
    /// Those that another process works on, which may have been killed a moment ago.
    in_progress: VecDeque<IntentId>,
    /// When a process that was killed before the end of the list is known to be gone.
    looks_again_at: Option<Instant>,
    skipped: Skipped,
}

/// How many submissions a [`Recovery`] did not return. Those of other labels and surfaces, and those
/// that this process works on, are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Another process works on them.
    pub in_progress: usize,
    /// They were begun with another base URL or API key, and the client has no account label that
    /// says that they are the same account.
    pub account_changed: usize,
}

impl<S: ClientSurface> Recovery<S> {
    /// Returns the next submission, or `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or the provider of the API key.
    pub async fn next(&mut self) -> Option<Result<Recovered<S>>> {
        let intents = self.intents.as_mut()?;
        let journal = intents.journal.clone();
        while let Some(intent) = intents.next().await {
            let found = async { self.client.examine(&journal, intent?).await }.await;
            match found {
                Err(error) => return Some(Err(error)),
                Ok(Found::Recovered(recovered)) => return Some(Ok(*recovered)),
                Ok(Found::AccountChanged) => self.skipped.account_changed += 1,
                Ok(Found::InProgress(id)) => self.in_progress.push_back(id),
                Ok(Found::Nothing) => {}
            }
        }
        while let Some(id) = self.in_progress.front().cloned() {
            let timeout = journal.shared.store.owner_timeout();
            let at = *self.looks_again_at.get_or_insert_with(|| clock::after(timeout));
            clock::pause_until(at).await;
            self.in_progress.pop_front();
            match self.client.claim_and_recover(&journal, &id).await {
                Err(error) => return Some(Err(error)),
                Ok(Found::Recovered(recovered)) => return Some(Ok(*recovered)),
                Ok(Found::InProgress(_)) => self.skipped.in_progress += 1,
                Ok(Found::AccountChanged | Found::Nothing) => {}
            }
        }
        None
    }

    /// Returns how many submissions were not returned so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }
}

/// What an intent is for a recovery.
enum Found<S: ClientSurface> {
    Recovered(Box<Recovered<S>>),
    /// Another process works on it.
    InProgress(IntentId),
    AccountChanged,
    /// It is not for this client to recover, or not any more.
    Nothing,
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

    /// Recovers an intent that was listed, if it is for this client to recover.
    async fn examine(&self, journal: &Journal, intent: Intent) -> Result<Found<S>> {
        let id = intent.stored.id.clone();
        if !self.is_of_label(&intent) || journal.is_active(&id) {
            return Ok(Found::Nothing);
        }
        if !self.is_of_account(&intent).await? {
            return Ok(Found::AccountChanged);
        }
        match intent.stored.owner {
            // What this process has given up is recovered after its end.
            Owner::This => Ok(Found::Nothing),
            Owner::Other => Ok(Found::InProgress(id)),
            Owner::Gone => self.claim_and_recover(journal, &id).await,
        }
    }

    /// Recovers an intent, unless another process has gone on with it, and ended, since it was listed.
    async fn claim_and_recover(&self, journal: &Journal, id: &IntentId) -> Result<Found<S>> {
        if journal.is_active(id) {
            return Ok(Found::Nothing);
        }
        let claimed = journal.claim_stored(id).await?;
        let Some(claimed) = claimed.filter(|it| !it.phase.is_closed()) else {
            return Ok(Found::Nothing);
        };
        if claimed.owner != Owner::This {
            return Ok(Found::InProgress(id.clone()));
        }
        let mut intent = Intent::read(claimed);
        if journal.searches_jobs
            && intent.progress.accepted.is_none()
            && !intent.progress.nothing_ran
            && let Some(facts) = intent.readable_facts().filter(|it| it.has_key_in_metadata)
            && find_job(journal, &self.core, id, &facts.idempotency_key).await
        {
            intent = journal.claimed(id).await?;
        }
        let recovered = if let Some(active) = ActiveIntent::existing(journal, &intent)
            && let Some((kind, resource)) = active.resource()
        {
            self.recovered(kind, resource, active)
        } else if let Some(reason) = undecided_reason(&intent, journal.key_retention) {
            journal.mark_unknown(&intent).await;
            Recovered::Undecided(undecided(&intent, reason))
        } else {
            let released = released(ReleaseReason::Refused, None);
            in_time(journal.shared.store.append(id, &released)).await?;
            return Ok(Found::Nothing);
        };
        Ok(Found::Recovered(Box::new(recovered)))
    }

    fn recovered(&self, kind: ResourceKind, id: String, intent: Arc<ActiveIntent>) -> Recovered<S> {
        let core = &self.core;
        match kind {
            ResourceKind::Job => Recovered::Job(Handle::restore(core, id, intent)),
            ResourceKind::ActionRun => Recovered::ActionRun(Handle::restore(core, id, intent)),
            ResourceKind::FormatRun => Recovered::FormatRun(Handle::restore(core, id, intent)),
            ResourceKind::AgentRun => Recovered::AgentRun(Handle::restore(core, id, intent)),
            ResourceKind::Queue => Recovered::Queue(Handle::restore(core, id, intent)),
            ResourceKind::TopUp => Recovered::TopUp(Handle::restore(core, id, intent)),
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
        Recovery {
            client: self.clone(),
            intents: self.core.journal.as_ref().map(|journal| Intents::new(journal, false)),
            in_progress: VecDeque::new(),
            looks_again_at: None,
            skipped: Skipped::default(),
        }
    }

    /// Waits until every submit that was sent through the journal has its receipt, also those whose
    /// futures were dropped. For the end of a program.
    pub async fn drain(&self) {
        self.core.pending_submits.closed().await;
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
            let _ = in_time(self.shared.store.append(&intent.stored.id, &change)).await;
        }
    }
}

debug_fields! { [S: ClientSurface] Recovery<S> as "Recovery" {  } }
