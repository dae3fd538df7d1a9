//! The ends of items: what is printed and noted.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use svc_sdk::Error;
use svc_sdk::contract::{NextAction, Operation};
use svc_sdk::journal::{Entry, JournalError};
use svc_sdk::types::Usd;

use crate::batch::journal::{
    DOWNLOAD_FAILED, ItemEnd, Note, Status, has_unknown_status, is_not_executed, resource_id,
    spent_by,
};
use crate::batch::plan::{Index, NextStep};
use crate::batch::report::EndedItem;
use crate::batch::requests::{ItemResult, default_code, error_json, stops_polling};
use crate::batch::runner::{MAX_TOGETHER, Runner};
use crate::batch::summary::DropReason;
use crate::clock;
use crate::error::{Exit, Failure};
use crate::output::values::money;
use crate::pricing::has_no_price;

/// An item at its end, with its latest submission.
struct Ending {
    index: Index,
    id: String,
    entry: Option<Entry>,
}

/// The name and the text of a field of an error that is replaced, if one is.
type ChangedField = Option<(&'static str, String)>;

impl ItemResult {
    fn without_files(status: Status, cost: Option<Usd>, error: Value) -> Self {
        Self { status, cost, artifacts: Vec::new(), files: Vec::new(), error: Some(error) }
    }
}

impl Runner<'_> {
    /// Ends an item whose job or run has ended.
    pub(super) async fn end_followed(
        &mut self,
        index: Index,
        id: String,
        mut ended: ItemResult,
    ) -> Result<(), Failure> {
        self.show_files(&ended.files);
        let plan = self.source.clients.download.as_ref();
        if plan.is_some_and(|plan| plan.is_temporary()) {
            ended.files.clear();
        }
        let ending = self.ending(index, id).await?;
        let entry = ending.entry.as_ref();
        if !self.source.item(index)?.is_run {
            // The spend of a run that cannot be read is unknown, rather than its cap.
            ended.cost = ended.cost.or(entry.and_then(Entry::price_usd));
        }
        if let Some((entry, limit)) = entry.zip(self.options.max_spend)
            && let Some((charge, price)) = entry.charge_usd.zip(entry.estimate_usd)
            && charge > price
        {
            self.session.printer.warn(&format!(
                "item {} was charged {}, which is more than its estimate of {}; no further items \
                are submitted within the limit of {}",
                ending.id,
                money(charge),
                money(price),
                money(limit),
            ));
        }
        self.end(ending, ended)
    }

    /// Ends an item whose job or run could not be read. Returns whether none can be.
    pub(super) async fn end_unread(
        &mut self,
        index: Index,
        id: String,
        error: Error,
    ) -> Result<bool, Failure> {
        let is_lost = error.is_not_found();
        let is_fatal = stops_polling(&error);
        let failure = Failure::from(error);
        let mut error = error_json(&failure, default_code(failure.exit()));
        if is_fatal {
            self.stop(failure);
        }
        let ending = self.ending(index, id).await?;
        let charge = ending.entry.as_ref().and_then(|entry| entry.charge_usd);
        let (status, changed) = self.end_of_unread(index, is_lost)?;
        if let (Some(fields), Some((name, text))) = (error.as_object_mut(), changed) {
            fields.insert(name.to_owned(), text.into());
        }
        if status == Status::Failed {
            self.summary.lost += 1;
        }
        let result = ItemResult::without_files(status, charge, error);
        self.end(ending, result)?;
        Ok(is_fatal)
    }

    /// Returns how an item ends whose job or run could not be read, and the field of its error that
    /// says so. `is_lost` is whether the service does not know it.
    fn end_of_unread(
        &self,
        index: Index,
        is_lost: bool,
    ) -> Result<(Status, ChangedField), Failure> {
        let item = self.source.item(index)?;
        if item.record.status() == Some(Status::Completed) {
            // Only its files are missing.
            let code = DOWNLOAD_FAILED.to_owned();
            return Ok((Status::Completed, Some(("code", code))));
        }
        if !is_lost {
            return Ok((Status::TimedOut, None));
        }
        let noun = if item.is_run { "run" } else { "job" };
        let submitted = item.record.attempt.as_ref();
        let submitted = submitted.map(|it| (it.base_url.as_str(), it.key_fingerprint.as_str()));
        let configured = self.source.clients.url_and_fingerprint(item.surface);
        Ok(match submitted.is_none() || submitted == configured {
            true => {
                let why =
                    format!("the service does not know the {noun}, which may have been charged");
                (Status::Failed, Some(("message", why)))
            }
            // It may be known to the API key that has submitted it.
            false => {
                let why = format!(
                    "the service does not know the {noun} for this API key, but another one \
                    submitted it: continue the batch with that one"
                );
                (Status::TimedOut, Some(("message", why)))
            }
        })
    }

    /// Ends an item that could not be submitted.
    pub(super) async fn end_failed(
        &mut self,
        index: Index,
        id: String,
        error: Error,
    ) -> Result<(), Failure> {
        let ending = self.unsubmitted(index, id).await?;
        let is_estimate = error.operation() == Some(Operation::OpenEstimate);
        let reason = match error.journal() {
            Some(JournalError::Store(error)) if !ending.is_open() => {
                return Err(self.journal.failure(error));
            }
            Some(JournalError::OverBudget { totals, .. }) if totals.is_stopped => {
                Some(DropReason::Overcharged)
            }
            Some(JournalError::OverBudget { .. }) => Some(DropReason::OverBudget),
            Some(JournalError::NoPrice { .. }) => Some(DropReason::Unpriced),
            _ if is_estimate && has_no_price(&error) => Some(DropReason::Unpriced),
            _ => None,
        };
        if let Some(reason) = reason.filter(|_| !ending.is_open()) {
            return self.end_not_submitted(ending, reason, None);
        }
        let stops_batch = matches!(error.status(), Some(401 | 403))
            || error.is_insufficient_funds()
            || (error.is_unreachable() && !error.may_have_been_sent());
        let failure = Failure::from(error);
        if ending.is_open() {
            self.end_ambiguous(ending, Some(&failure))?;
            if stops_batch {
                self.stop(failure);
            }
            return Ok(());
        }
        let error = error_json(&failure, default_code(failure.exit()));
        if stops_batch {
            self.stop(failure);
            return self.end_not_submitted(ending, DropReason::Stopped, Some(error));
        }
        let result = ItemResult::without_files(Status::Failed, Some(Usd::ZERO), error);
        self.end(ending, result)
    }

    /// Reports the items of an earlier run that must not be sent again, unless that run has. Returns
    /// them.
    pub(super) async fn end_unrepeatable(&mut self) -> Result<HashSet<Index>, Failure> {
        let source = Arc::clone(&self.source);
        let mut blocked = HashSet::new();
        for (item, index) in source.items.iter().zip(0..) {
            let Some(attempt) = &item.record.attempt else { continue };
            let submitted = (attempt.base_url.as_str(), attempt.key_fingerprint.as_str());
            let is_same = source.clients.url_and_fingerprint(item.surface) == Some(submitted);
            if item.next_step != NextStep::Resolve || (is_same && attempt.is_repeatable) {
                continue;
            }
            blocked.insert(index);
            if item.record.status() == Some(Status::Ambiguous) {
                self.counts.ended += 1;
                self.counts.ambiguous += 1;
                continue;
            }
            let why = "the batch was interrupted before the service answered, and sending the \
                request again could charge twice";
            let failure = Failure::new(Exit::Ambiguous, why);
            let ending = self.ending(index, source.line(index)?.id).await?;
            self.end_ambiguous(ending, Some(&failure))?;
        }
        Ok(blocked)
    }

    /// Ends the items that were not submitted or whose outcome is not known, at the end of the batch.
    pub(super) async fn end_rest(&mut self) -> Result<(), Failure> {
        let source = Arc::clone(&self.source);
        for (place, index) in source.order.iter().copied().enumerate() {
            let has_ended = self.statuses.get(to_usize(index)).copied().flatten();
            if has_ended.is_some() {
                continue;
            }
            let id = source.line(index)?.id;
            let is_new = source.item(index)?.next_step == NextStep::Submit;
            let ending = match is_new && !source.was_taken(place) {
                true => Ending { index, id, entry: None },
                false => self.unsubmitted(index, id).await?,
            };
            let running = ending.entry.as_ref();
            let running = running.filter(|entry| entry.resource.is_some());
            let charge = running.map(|entry| entry.charge_usd);
            if ending.is_open() {
                self.summary.drop_item(self.reason);
                self.end_ambiguous(ending, None)?;
            } else if let Some(charge) = charge {
                self.summary.drop_item(DropReason::TimedOut);
                self.end_running(ending, charge)?;
            } else {
                self.end_not_submitted(ending, self.reason, None)?;
            }
            if self.ended.len() >= MAX_TOGETHER {
                self.flush().await?;
            }
        }
        Ok(())
    }

    fn end_running(&mut self, ending: Ending, charge: Option<Usd>) -> Result<(), Failure> {
        let message = "the batch timed out while the job was running";
        let error = json!({"code": "timed_out", "message": message});
        let result = ItemResult::without_files(Status::TimedOut, charge, error);
        self.end(ending, result)
    }

    fn end_not_submitted(
        &mut self,
        ending: Ending,
        reason: DropReason,
        error: Option<Value>,
    ) -> Result<(), Failure> {
        self.summary.drop_item(reason);
        let error = error.unwrap_or_else(|| self.drop_error(reason));
        let result = ItemResult::without_files(Status::NotSubmitted, None, error);
        self.end(ending, result)
    }

    /// Ends an item of which it is unknown whether it was submitted.
    fn end_ambiguous(&mut self, ending: Ending, failure: Option<&Failure>) -> Result<(), Failure> {
        let mut error = match failure {
            Some(failure) => error_json(failure, "ambiguous"),
            None => {
                json!({"message": "the request was not answered: it may have been carried out"})
            }
        };
        let key = ending.entry.as_ref();
        let key = key.and_then(|entry| entry.idempotency_key.clone());
        if let Some(fields) = error.as_object_mut() {
            fields.insert("code".to_owned(), "ambiguous".into());
            fields.insert("idempotency_key".to_owned(), json!(key));
        }
        if let Some(key) = key {
            let id_and_key = (ending.id.clone(), key.to_string());
            self.ambiguous.insert(ending.index, id_and_key);
        }
        let result = ItemResult::without_files(Status::Ambiguous, None, error);
        self.end(ending, result)
    }

    /// Queues the end of an item for the output and the journal.
    fn end(&mut self, ending: Ending, result: ItemResult) -> Result<(), Failure> {
        let Ending { index, id, entry } = ending;
        let source = Arc::clone(&self.source);
        let item = source.item(index)?;
        let entry = entry.as_ref();
        let status = result.status;
        let resource = entry.and_then(resource_id);
        let error = result.error.as_ref();
        let text = |name: &str| error.and_then(|error| error.get(name)?.as_str());
        if status == Status::Failed {
            self.summary.add_failure(error);
            self.summary.unknown_status += usize::from(entry.is_some_and(has_unknown_status));
            if resource.is_none() && text("next_action") == Some(NextAction::FixInput.as_str()) {
                self.corrections.insert(index);
            }
        }
        let is_missing_files = status == Status::Completed && text("code") == Some(DOWNLOAD_FAILED);
        self.summary.missing_files += usize::from(is_missing_files);
        let generation = entry.map_or(item.record.generation, |entry| entry.generation);
        let is_resumed = generation == item.record.generation;
        let before = item.record.attempt.as_ref().filter(|_| is_resumed);
        let now = entry.map(spent_by).unwrap_or_default();
        let before = match is_resumed {
            // It had ended in an earlier run, and is counted.
            true => before.map_or(now, |attempt| attempt.spent),
            false => Usd::ZERO,
        };
        let spent = self.counts.spent.checked_add(now);
        let spent = spent.and_then(|spent| spent.checked_sub(before));
        // What was not submitted in this run has not spent anything new.
        if entry.is_some() {
            self.counts.spent = spent.unwrap_or(self.counts.spent);
        }
        source.take_charge(index);
        self.counts.ended += 1;
        match status {
            Status::Failed => self.counts.failed += 1,
            Status::Canceled => self.counts.canceled += 1,
            Status::Ambiguous => self.counts.ambiguous += 1,
            Status::Completed | Status::NotSubmitted | Status::TimedOut => {}
        }
        let is_repeated = status == Status::NotSubmitted && item.record.status() == Some(status);
        if !is_repeated || !is_resumed {
            self.notes.push(Note::Outcome(Box::new(ItemEnd {
                id: id.clone(),
                generation,
                status,
                price_usd: result.cost,
                files: result.files.clone(),
                error: result.error.clone(),
                at: clock::now(),
            })));
        }
        let key = entry.and_then(|entry| entry.idempotency_key.clone());
        let ended = EndedItem {
            id,
            key,
            status,
            resource,
            price: result.cost,
            artifacts: result.artifacts,
            files: result.files,
            error: result.error,
        };
        self.ended.push(ended.to_json(item.is_run));
        if let Some(place) = self.statuses.get_mut(to_usize(index)) {
            *place = Some(status);
        }
        Ok(())
    }

    async fn ending(&self, index: Index, id: String) -> Result<Ending, Failure> {
        let entry = self.journal.find(&id).await?;
        Ok(Ending { index, id, entry })
    }

    /// Returns the end of an item that was not accepted in this run. What failed in an earlier one is
    /// not what a retry would have submitted.
    async fn unsubmitted(&self, index: Index, id: String) -> Result<Ending, Failure> {
        let item = self.source.item(index)?;
        let (is_new, earlier) = (item.next_step == NextStep::Submit, item.record.generation);
        let mut ending = self.ending(index, id).await?;
        ending.entry = ending.entry.filter(|entry| !is_new || entry.generation > earlier);
        Ok(ending)
    }

    fn drop_error(&self, reason: DropReason) -> Value {
        let limit = self.options.max_spend.unwrap_or(Usd::ZERO);
        let (code, message) = match reason {
            DropReason::OverBudget => {
                ("over_budget", format!("the price does not fit into --max-spend {limit}"))
            }
            DropReason::Overcharged => (
                "over_budget",
                "an item was charged more than its estimate, so the price may not fit into \
                --max-spend"
                    .to_owned(),
            ),
            DropReason::Unpriced => (
                "over_budget",
                "the price is unknown, and --max-spend requires a known price".to_owned(),
            ),
            DropReason::TimedOut => {
                ("timed_out", "the batch timed out before the item was submitted".to_owned())
            }
            DropReason::Stopped => {
                let stopped = self.stopped.as_ref();
                let code = stopped.map_or("connection_failed", |failure| {
                    failure.code().unwrap_or(default_code(failure.exit()))
                });
                let why = stopped.map(Failure::headline).unwrap_or_default();
                return json!({"code": code, "message": format!("the batch was stopped: {why}")});
            }
        };
        json!({"code": code, "message": message})
    }
}

impl Ending {
    /// Whether it is unknown whether the request was carried out.
    fn is_open(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| {
            let is_not_executed = is_not_executed(&entry.state) || entry.nothing_ran;
            entry.resource.is_none() && !is_not_executed
        })
    }
}

fn to_usize(index: Index) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
