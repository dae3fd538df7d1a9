//! The beginning of a submit: whether its request is sent, and under which key.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

use super::active_intent::{ActiveIntent, IntentProgress, IntentStep};
use super::decision::{Decision, JournaledRequest, Reuse, decide};
use super::error::{JournalError, Undecided, UndecidedReason};
use super::fingerprint::hex;
use super::record::Intent;
use super::settlement::EarlierAttempts;
use super::store::{IntentId, NewIntent, Reservation};
use super::{Journal, before, in_time};
use crate::call::clock;
use crate::call::deadline::Deadline;
use crate::error::{Error, Result};
use crate::types::{IdempotencyKey, Usd};

#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedCost {
    pub(crate) price_usd: Option<Usd>,
    pub(crate) reservation: Option<Reservation>,
}

pub(crate) type CostFuture<'a> = Pin<Box<dyn Future<Output = Result<ExpectedCost>> + Send + 'a>>;

#[derive(Debug)]
pub(crate) enum Start {
    /// Send it, with the key of the intent.
    Send(Arc<ActiveIntent>),
    /// It was accepted before.
    Existing(Arc<ActiveIntent>),
}

impl Journal {
    /// Decides what is done about a submit. `cost` is only asked for what is submitted anew.
    pub(crate) async fn start<'a>(
        &self,
        request: JournaledRequest,
        deadline: &Deadline,
        cost: &(dyn Fn() -> CostFuture<'a> + Sync),
    ) -> Result<Start> {
        let Some(submission_id) = request.submission_id.clone() else {
            let cost = cost().await?;
            return Ok(Start::Send(self.plan(request, 1, cost, None)?));
        };
        let key = self.key(&request.account, &submission_id);
        let in_progress = |id: IntentId| {
            let submission_id = submission_id.clone();
            Error::from(JournalError::SubmissionInProgress { submission_id, id })
        };
        let mut guard = None;
        if request.reuse != Reuse::ContinueAbandoned {
            let locked = deadline.before(self.shared.calls.lock(&key)).await;
            guard = Some(locked.ok_or_else(|| in_progress(IntentId::new("")))?);
        }
        let mut claimed = None;
        loop {
            // What could not be written before decides as well, if it can be written now.
            let written = before(deadline, self.write_unwritten()).await;
            let found = before(deadline, in_time(self.shared.store.get(&key))).await?;
            let intents = found.into_iter().map(Intent::read).collect();
            let is_active = |intent: &Intent| self.is_active(&intent.stored.id);
            let decision = decide(intents, &request, self.key_retention, is_active);
            // Marked before anything is awaited, so that no other task adopts the same intent.
            let mark = match &decision {
                Decision::Resend(intent) | Decision::Return(intent) => {
                    Some(self.mark(&intent.stored.id))
                }
                _ => None,
            };
            match decision {
                Decision::Begin(generation) => {
                    let cost = cost().await?;
                    before(deadline, self.check_budget(cost.reservation.as_ref())).await?;
                    return Ok(Start::Send(self.plan(request, generation, cost, guard)?));
                }
                Decision::Resend(intent) => {
                    // One of those records may release it.
                    written?;
                    if claimed.as_ref() == Some(&intent.stored.id) {
                        let active = self.take_over(&intent, &request, guard);
                        return active.map(Start::Send).ok_or_else(|| unreadable_error(&intent));
                    }
                    // It is read again once it is claimed: another process may have sent it in between.
                    claimed = before(deadline, self.claim_or_wait(&intent)).await?;
                }
                Decision::Return(intent) => {
                    // What was accepted can be waited for by all, but only one adopts it.
                    if request.reuse != Reuse::ContinueAbandoned
                        || claimed.as_ref() == Some(&intent.stored.id)
                    {
                        let active = ActiveIntent::existing(self, &intent);
                        return active
                            .map(Start::Existing)
                            .ok_or_else(|| unreadable_error(&intent));
                    }
                    claimed = before(deadline, self.claim_or_wait(&intent)).await?;
                }
                Decision::Wait(intent) => {
                    let changed = deadline.before(self.shared.store.changed()).await;
                    if let Some(error) = changed.and_then(Result::err) {
                        return Err(error.into());
                    }
                    if deadline.has_passed() {
                        return Err(in_progress(intent.stored.id.clone()));
                    }
                }
                Decision::AccountChanged(intent) => {
                    let id = intent.stored.id.clone();
                    let error = JournalError::AccountChanged { submission_id, id };
                    return Err(with_key(error, &intent));
                }
                Decision::Conflict(intent) => {
                    let id = intent.stored.id.clone();
                    let error = JournalError::SubmissionConflict { submission_id, id };
                    return Err(with_key(error, &intent));
                }
                Decision::Undecided(intent, reason) => {
                    return Err(undecided_error(&intent, reason));
                }
            }
            drop(mark);
        }
    }

    /// Claims an intent and returns its id, or waits for a change if another process has it.
    async fn claim_or_wait(&self, intent: &Intent) -> Result<Option<IntentId>> {
        let id = &intent.stored.id;
        if self.claim(id).await? {
            return Ok(Some(id.clone()));
        }
        self.shared.store.changed().await?;
        Ok(None)
    }

    /// Refuses what does not fit into its budget, before it waits for the rate limit. Whether it fits
    /// when it is sent is decided by the store.
    async fn check_budget(&self, reservation: Option<&Reservation>) -> Result<()> {
        let Some(reservation) = reservation else { return Ok(()) };
        let totals = self.budget(&reservation.budget).await?;
        match totals.fits(reservation) {
            true => Ok(()),
            false => Err(JournalError::over_budget(reservation, totals).into()),
        }
    }

    /// Plans a new intent. It is written when its request is about to be sent.
    fn plan(
        &self,
        request: JournaledRequest,
        generation: u32,
        cost: ExpectedCost,
        guard: Option<OwnedMutexGuard<()>>,
    ) -> Result<Arc<ActiveIntent>> {
        let JournaledRequest { submission_id, reuse, account, mut facts, fingerprint, is_job } =
            request;
        let has_derived_key = !facts.is_key_chosen && reuse != Reuse::ContinueAbandoned;
        let derived = submission_id.as_ref().filter(|_| has_derived_key);
        if let Some(id) = derived {
            facts.idempotency_key = derive_key(&self.namespace, &account, id, generation)?;
        }
        let earlier = EarlierAttempts {
            may_have_run: false,
            // Another journal may have sent it, such as this one before it was lost.
            conflict_proves_arrival: derived.is_some(),
        };
        facts.has_key_in_metadata = self.searches_jobs && is_job;
        facts.price_usd = cost.price_usd;
        let facts = facts.with_hashes(&fingerprint);
        let reserved = cost.reservation.as_ref().map(|it| it.amount);
        let intent = NewIntent {
            id: new_id()?,
            namespace: self.namespace.to_string(),
            account: account.to_string(),
            submission_id: submission_id.clone(),
            generation,
            is_permanent: facts.is_key_permanent,
            facts: facts.to_json(),
            reservation: cost.reservation,
        };
        Ok(Arc::new(ActiveIntent {
            mark: self.mark(&intent.id),
            begun_at: clock::wall(),
            facts,
            submission_id,
            earlier,
            is_resumed: false,
            state: Mutex::new(IntentProgress {
                step: IntentStep::Planned(Box::new(intent)),
                attempt: 0,
                reserved,
                accepted: None,
                guard,
            }),
        }))
    }

    /// Returns an intent whose request is sent again, or `None` if its facts cannot be read.
    fn take_over(
        &self,
        intent: &Intent,
        request: &JournaledRequest,
        guard: Option<OwnedMutexGuard<()>>,
    ) -> Option<Arc<ActiveIntent>> {
        let facts = intent.facts.as_ref()?;
        let nothing_ran = intent.progress.nothing_ran;
        let earlier = EarlierAttempts {
            may_have_run: !nothing_ran,
            conflict_proves_arrival: !facts.is_key_chosen
                && !facts.is_same_body(&request.fingerprint),
        };
        let step = if nothing_ran { IntentStep::NothingRan } else { IntentStep::Sending };
        ActiveIntent::resumed(self, intent, earlier, step, guard)
    }
}

pub(super) fn undecided(intent: &Intent, reason: UndecidedReason) -> Undecided {
    let facts = intent.facts.as_ref();
    Undecided {
        id: intent.stored.id.clone(),
        submission_id: intent.stored.submission_id.clone(),
        idempotency_key: facts.map(|facts| facts.idempotency_key.clone()),
        reason,
        price_usd: facts.and_then(|facts| facts.price_usd),
        begun_at: intent.begun_at(),
    }
}

fn undecided_error(intent: &Intent, reason: UndecidedReason) -> Error {
    let undecided = Box::new(undecided(intent, reason));
    with_key(JournalError::Undecided(undecided), intent)
}

fn unreadable_error(intent: &Intent) -> Error {
    undecided_error(intent, UndecidedReason::NewerVersion)
}

fn with_key(error: JournalError, intent: &Intent) -> Error {
    let key = intent.facts.as_ref().map(|facts| &facts.idempotency_key);
    Error::from(error).with_key(key)
}

fn new_id() -> Result<IntentId> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::configuration(format!("the operating system provides no random numbers: {error}"))
    })?;
    Ok(IntentId::new(hex(&bytes)))
}

/// Returns the idempotency key of a generation of a submission, the same in every process.
fn derive_key(
    namespace: &str,
    account: &str,
    submission_id: &str,
    generation: u32,
) -> Result<IdempotencyKey> {
    let mut digest = Sha256::new().chain_update("svc-submission-1");
    for part in [namespace, account, submission_id] {
        // The lengths keep apart what only looks alike when it is put together.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.update(generation.to_be_bytes());
    let digest = digest.finalize();
    let key = format!("svc-{}", hex(digest.get(..20).unwrap_or_default()));
    Ok(key.try_into()?)
}
