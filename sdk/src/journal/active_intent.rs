//! A submit in progress: what is written to the journal at each step of it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::OwnedMutexGuard;

use super::error::{JournalError, Undecided, UndecidedReason};
use super::record::{Ended, Facts, Intent, Receipt, Record, ReleaseReason, Released, ResourceKind};
use super::settlement::{EarlierAttempts, Settlement, settle};
use super::store::{Begun, Change, Hold, IntentId, NewIntent, StoreError, may_succeed_later};
use super::{Journal, Shared, before, in_time, lock};
use crate::call::clock::ClockReading;
use crate::call::deadline::Deadline;
use crate::error::{Error, Result};
use crate::transport::SendLimit;
use crate::types::{IdempotencyKey, Usd};

/// An intent that this process works on.
#[derive(Debug)]
pub(crate) struct ActiveIntent {
    pub(super) mark: ActiveMark,
    /// When it was begun by the clock of this process, which is before its first attempt.
    pub(crate) begun_at: SystemTime,
    pub(crate) facts: Facts,
    pub(crate) submission_id: Option<String>,
    pub(super) earlier: EarlierAttempts,
    /// Whether it was begun before the call that works on it.
    pub(crate) is_resumed: bool,
    pub(super) state: Mutex<IntentProgress>,
}

#[derive(Debug)]
pub(super) struct IntentProgress {
    pub(super) step: IntentStep,
    pub(super) attempt: u32,
    /// What is reserved of a budget, or was spent of it.
    pub(super) reserved: Option<Usd>,
    pub(super) accepted: Option<Receipt>,
    /// Held until the receipt is known, so that no other task of this process submits the same.
    pub(super) guard: Option<OwnedMutexGuard<()>>,
}

/// What the journal says of the attempt.
#[derive(Debug)]
pub(super) enum IntentStep {
    /// Nothing yet.
    Planned(Box<NewIntent>),
    /// It is under way.
    Sending,
    /// It proved that nothing ran.
    NothingRan,
    /// The receipt, or that there will be none, is known.
    Settled,
    /// It had ended and was acknowledged before.
    Acknowledged,
}

impl ActiveIntent {
    /// An intent that was accepted, or `None` if it has no readable receipt.
    pub(super) fn existing(journal: &Journal, intent: &Intent) -> Option<Arc<Self>> {
        let progress = &intent.progress;
        let is_done = progress.ended.is_some() && progress.is_acknowledged;
        let step = if is_done { IntentStep::Acknowledged } else { IntentStep::Settled };
        progress.accepted.as_ref()?;
        Self::resumed(journal, intent, EarlierAttempts::default(), step, None)
    }

    /// An intent that was begun before, or `None` if its facts cannot be read.
    pub(super) fn resumed(
        journal: &Journal,
        intent: &Intent,
        earlier: EarlierAttempts,
        step: IntentStep,
        guard: Option<OwnedMutexGuard<()>>,
    ) -> Option<Arc<Self>> {
        Some(Arc::new(Self {
            mark: journal.mark(&intent.stored.id),
            begun_at: intent.begun_at_by_this_clock(),
            facts: intent.facts.clone()?,
            submission_id: intent.stored.submission_id.clone(),
            earlier,
            is_resumed: true,
            state: Mutex::new(IntentProgress {
                step,
                attempt: intent.progress.attempt,
                reserved: reserved(intent),
                accepted: intent.progress.accepted.clone(),
                guard,
            }),
        }))
    }

    pub(crate) fn id(&self) -> &IntentId {
        &self.mark.id
    }

    /// Returns how long the service is assumed to recognize its key.
    pub(crate) fn key_retention(&self) -> Duration {
        self.mark.journal.key_retention
    }

    pub(crate) fn key(&self) -> &IdempotencyKey {
        &self.facts.idempotency_key
    }

    pub(crate) fn resource(&self) -> Option<(ResourceKind, String)> {
        let state = lock(&self.state);
        state.accepted.as_ref().map(|it| (it.kind, it.id.clone()))
    }

    /// Returns what the service charged, as far as the receipt said so.
    pub(crate) fn charge(&self) -> Option<Usd> {
        lock(&self.state).accepted.as_ref()?.price_usd
    }

    /// Whether it had ended and was acknowledged before the call that works on it.
    pub(crate) fn was_acknowledged(&self) -> bool {
        matches!(lock(&self.state).step, IntentStep::Acknowledged)
    }

    /// Writes that an attempt is about to be made. `is_key_outdated` says whether the service may have
    /// forgotten its key: what may have been carried out is not sent again then. Returns until when the request
    /// may be sent, if another process can take the intent over while this one runs.
    pub(crate) async fn before_attempt(
        &self,
        deadline: &Deadline,
        is_key_outdated: bool,
    ) -> Result<Option<SendLimit>> {
        let is_sending = matches!(lock(&self.state).step, IntentStep::Sending);
        if is_sending && is_key_outdated {
            return Err(self.undecided());
        }
        let span = self.mark.journal.send_span();
        loop {
            let limit = span.map(|span| SendLimit::new(ClockReading::now(), span));
            self.write_attempt(deadline).await?;
            // Another process may have taken it over since it was written.
            if limit.is_none_or(|limit| !limit.has_passed()) {
                return Ok(limit);
            }
        }
    }

    async fn write_attempt(&self, deadline: &Deadline) -> Result<()> {
        let planned = match &lock(&self.state).step {
            IntentStep::Planned(intent) => Some(intent.clone()),
            IntentStep::Sending | IntentStep::NothingRan => None,
            IntentStep::Settled | IntentStep::Acknowledged => return Ok(()),
        };
        match planned {
            Some(intent) => {
                before(deadline, self.mark.journal.write_unwritten()).await?;
                let begun = before(deadline, self.begin(&intent)).await;
                // Otherwise the store has refused it.
                let may_be_written =
                    |error: &Error| matches!(error.journal(), None | Some(JournalError::Store(_)));
                if begun.as_ref().is_err_and(may_be_written) {
                    self.forget_unsent();
                }
                begun?;
            }
            None => {
                let store = &self.mark.journal.shared.store;
                let attempt = self.attempt() + 1;
                let change = change(&Record::Sending { attempt });
                let written = in_time(store.append(&self.mark.id, &change));
                // Another process took this one for a dead one, and may have submitted.
                let refused = |error: StoreError| match error.is_not_owner() {
                    true => JournalError::GenerationTaken.into(),
                    false => Error::from(error),
                };
                before(deadline, async { written.await.map_err(refused) }).await?;
                lock(&self.state).attempt = attempt;
            }
        }
        lock(&self.state).step = IntentStep::Sending;
        Ok(())
    }

    fn attempt(&self) -> u32 {
        lock(&self.state).attempt
    }

    /// Returns the error of an intent that cannot be sent again, as its key may be forgotten.
    fn undecided(&self) -> Error {
        let undecided = Undecided {
            id: self.mark.id.clone(),
            submission_id: self.submission_id.clone(),
            idempotency_key: Some(self.key().clone()),
            reason: UndecidedReason::KeyExpired,
            price_usd: lock(&self.state).reserved,
            begun_at: self.begun_at,
        };
        JournalError::Undecided(Box::new(undecided)).into()
    }

    /// An intent that may have been written although the store failed: its request is never sent.
    fn forget_unsent(&self) {
        let change = released(ReleaseReason::NotSent, None);
        self.mark.journal.shared.calls.keep(&self.mark.id, change);
    }

    async fn begin(&self, intent: &NewIntent) -> Result<()> {
        let store = &self.mark.journal.shared.store;
        let begun = match in_time(store.begin(intent)).await {
            // The answer to a write may have been lost: the same intent is not written twice.
            Err(_) => in_time(store.begin(intent)).await?,
            Ok(begun) => begun,
        };
        match (begun, &intent.reservation) {
            (Begun::Written(_), _) => Ok(()),
            (Begun::OverBudget(totals), Some(reservation)) => {
                Err(JournalError::over_budget(reservation, totals).into())
            }
            (Begun::GenerationTaken | Begun::OverBudget(_), _) => {
                Err(JournalError::GenerationTaken.into())
            }
        }
    }

    /// Writes that the attempt proved that nothing ran, so that a crash before the next attempt leaves
    /// nothing open.
    pub(crate) async fn attempt_failed(&self, error: &Error) {
        let is_sending = matches!(lock(&self.state).step, IntentStep::Sending);
        let proves_nothing_ran =
            matches!(settle(error, self.earlier), Settlement::NotSent | Settlement::NothingRan);
        if is_sending && proves_nothing_ran {
            let store = &self.mark.journal.shared.store;
            // Even if the store failed it may have been written: the next attempt has to be written
            // after it, or a crash would leave a request that was sent as one that was not.
            let change = change(&Record::NothingRan { attempt: self.attempt() });
            let _ = in_time(store.append(&self.mark.id, &change)).await;
            lock(&self.state).step = IntentStep::NothingRan;
        }
    }

    pub(crate) async fn accepted(&self, accepted: Receipt) -> Result<(), StoreError> {
        let mut change = change(&Record::Accepted(accepted.clone()));
        let reserved = {
            let mut state = lock(&self.state);
            state.step = IntentStep::Settled;
            let reserved = state.reserved;
            if let (Some(reserved), Some(price)) = (&mut state.reserved, accepted.price_usd) {
                *reserved = price;
            }
            state.accepted = Some(accepted.clone());
            reserved
        };
        if let Some(reserved) = reserved {
            let amount = accepted.price_usd.unwrap_or(reserved);
            change.stops_budget = amount > reserved;
            change.hold = Some(Hold { reserved: amount, ..Hold::default() });
        }
        let written = self.mark.journal.append(&self.mark.id, change).await;
        lock(&self.state).guard = None;
        written
    }

    /// Writes what the last error of a submit says of it, with all its attempts. Returns what that is.
    pub(crate) async fn failed(&self, error: &Error) -> Settlement {
        let settlement = settle(error, self.earlier);
        if matches!(lock(&self.state).step, IntentStep::Planned(_)) {
            lock(&self.state).guard = None;
            return settlement;
        }
        let reserved = lock(&self.state).reserved;
        let request_id = error.request_id().map(ToString::to_string);
        let code = error.code().map(ToString::to_string);
        let change = match &settlement {
            Settlement::NotSent => Some(released(ReleaseReason::NotSent, code)),
            Settlement::NothingRan | Settlement::Refused => {
                Some(released(ReleaseReason::Refused, code))
            }
            Settlement::AcceptedWithoutId | Settlement::Arrived(None) => {
                let mut change = change(&Record::AcceptedWithoutId { request_id });
                change.hold = reserved.map(|captured| Hold { captured, ..Hold::default() });
                Some(change)
            }
            Settlement::Arrived(Some(queue)) => {
                let receipt = Receipt {
                    kind: ResourceKind::Queue,
                    id: queue.to_string(),
                    request_id: None,
                    price_usd: None,
                };
                // A receipt that cannot be written now is kept.
                let _ = self.accepted(receipt).await;
                None
            }
            Settlement::Unknown => reserved.map(unknown),
        };
        if let Some(change) = change {
            let _ = self.mark.journal.append(&self.mark.id, change).await;
        }
        lock(&self.state).guard = None;
        settlement
    }

    /// Writes how what was submitted ended. `charge` is what it cost, if that is known.
    pub(crate) async fn ended(&self, status: &str, charge: Option<Usd>) -> Result<(), StoreError> {
        let reserved = lock(&self.state).reserved;
        let ended = Record::Ended(Ended { status: status.to_owned(), charge_usd: charge });
        let change = captured(&ended, reserved, charge.or(reserved));
        self.mark.journal.append(&self.mark.id, change).await
    }

    /// Writes that the application has what it needs of the outcome.
    pub(crate) async fn acknowledge(&self) -> Result<()> {
        self.mark.journal.write_unwritten().await?;
        let store = &self.mark.journal.shared.store;
        in_time(store.append(&self.mark.id, &change(&Record::Acknowledged))).await?;
        Ok(())
    }
}

/// Marks an intent as one that this process works on, for as long as it exists.
#[derive(Debug)]
pub(super) struct ActiveMark {
    journal: Journal,
    id: IntentId,
}

impl Drop for ActiveMark {
    fn drop(&mut self) {
        self.journal.shared.calls.remove_active(&self.id);
    }
}

/// Returns the change that a record makes, apart from budgets.
pub(super) fn change(record: &Record) -> Change {
    let resource = match record {
        Record::Accepted(receipt) => Some(receipt.id.clone()),
        _ => None,
    };
    Change { record: record.to_json(), phase: record.phase(), resource, ..Change::default() }
}

/// Returns the change that says that nothing was carried out. Without a budget, a store ignores what is held.
pub(super) fn released(reason: ReleaseReason, code: Option<String>) -> Change {
    let record = Record::Released(Released { reason, code });
    Change { hold: Some(Hold::default()), ..change(&record) }
}

/// Returns the change that a record makes which says what was charged, if that is known. A charge above
/// what was reserved stops the budget.
pub(super) fn captured(record: &Record, reserved: Option<Usd>, charge: Option<Usd>) -> Change {
    let reserved_and_charge = reserved.zip(charge);
    Change {
        hold: reserved_and_charge.map(|(_, captured)| Hold { captured, ..Hold::default() }),
        stops_budget: reserved_and_charge.is_some_and(|(reserved, charge)| charge > reserved),
        ..change(record)
    }
}

/// Returns the change that moves what was reserved to what is undecided.
pub(super) fn unknown(amount: Usd) -> Change {
    Change { hold: Some(Hold { undecided: amount, ..Hold::default() }), ..change(&Record::Unknown) }
}

/// What an intent has reserved, has spent, or may have spent.
pub(super) fn reserved(intent: &Intent) -> Option<Usd> {
    intent.stored.budget.as_ref()?;
    let hold = intent.stored.hold;
    let spent = hold.captured.checked_add(hold.undecided)?;
    hold.reserved.checked_add(spent)
}

impl Journal {
    pub(super) fn mark(&self, id: &IntentId) -> ActiveMark {
        self.shared.calls.add_active(id);
        ActiveMark { journal: self.clone(), id: id.clone() }
    }

    /// Writes what could not be written before.
    pub(super) async fn write_unwritten(&self) -> Result<(), StoreError> {
        let Shared { store, calls } = &*self.shared;
        let append = |id, change| async move { store.append(&id, &change).await };
        in_time(calls.write_unwritten(append)).await
    }

    /// Adds a record after those that could not be written before, or keeps it to be written before the
    /// next intent is begun.
    async fn append(&self, id: &IntentId, change: Change) -> Result<(), StoreError> {
        let written = in_time(async {
            self.write_unwritten().await?;
            self.shared.store.append(id, &change).await
        });
        let written = written.await;
        if written.as_ref().is_err_and(may_succeed_later) {
            self.shared.calls.keep(id, change);
        }
        written
    }
}
