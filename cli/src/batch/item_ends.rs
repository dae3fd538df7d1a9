//! The ends of items: what is printed and noted.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use svc_sdk::Error;
use svc_sdk::contract::Operation;
use svc_sdk::journal::{Entry, JournalError};
use svc_sdk::types::Usd;

use super::journal::{
    DOWNLOAD_FAILED, ItemEnd, ItemResult, Note, Spent, Status, is_not_executed, spent_by,
};
use super::plan::{Index, Item, NextStep};
use super::report::item_json;
use super::requests::{error_json, stops_polling};
use super::runner::{MAX_TOGETHER, Runner};
use super::summary::DropReason;
use crate::clock;
use crate::error::{Exit, Failure, Result};
use crate::output::values::money;
use crate::request::pricing::has_no_price;

/// An item at its end, with its latest submission.
struct Ending {
    index: Index,
    id: String,
    entry: Option<Entry>,
}

impl Runner<'_> {
    pub(super) async fn end_followed(
        &mut self,
        index: Index,
        id: String,
        mut ended: ItemResult,
    ) -> Result {
        self.show_files(ended.files.as_deref().unwrap_or_default());
        let plan = self.source.clients.download.as_ref();
        if plan.is_some_and(|plan| plan.is_temporary()) {
            ended.files = None;
        }
        let ending = self.ending(index, id).await?;
        let entry = ending.entry.as_ref();
        if !self.source.item(index)?.is_run {
            // The spend of a run that cannot be read is unknown, rather than its cap.
            ended.price_usd = ended.price_usd.or(entry.and_then(Entry::price_usd));
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
    ) -> Result<bool> {
        let (is_lost, is_fatal) = (error.is_not_found(), stops_polling(&error));
        let failure = Failure::from(error);
        let mut error = error_json(&failure);
        if is_fatal {
            self.stop(failure);
        }
        let ending = self.ending(index, id).await?;
        let item = self.source.item(index)?;
        let noun = if item.is_run { "run" } else { "job" };
        let (status, changed) = match item.record.status() {
            // Only its files are missing.
            Some(Status::Completed) => {
                (Status::Completed, Some(("code", DOWNLOAD_FAILED.to_owned())))
            }
            _ if !is_lost => (Status::TimedOut, None),
            // It may be known to the API key that has submitted it.
            _ if self.is_of_other_key(item) => {
                let why = format!(
                    "the service does not know the {noun} for this API key, but another one \
                    submitted it: continue the batch with that one"
                );
                (Status::TimedOut, Some(("message", why)))
            }
            _ => {
                let why =
                    format!("the service does not know the {noun}, which may have been charged");
                (Status::Failed, Some(("message", why)))
            }
        };
        if let Some((fields, (name, text))) = error.as_object_mut().zip(changed) {
            fields.insert(name.to_owned(), text.into());
        }
        self.summary.lost += usize::from(status == Status::Failed);
        let charge = ending.entry.as_ref().and_then(|entry| entry.charge_usd);
        self.end(ending, ItemResult::error(status, charge, error))?;
        Ok(is_fatal)
    }

    pub(super) async fn end_failed(&mut self, index: Index, id: String, error: Error) -> Result {
        let ending = self.unsubmitted(index, id).await?;
        let stops_batch = matches!(error.status(), Some(401 | 403))
            || error.is_insufficient_funds()
            || (error.is_unreachable() && !error.may_have_been_sent());
        if !ending.is_open() {
            let is_estimate = error.operation() == Some(Operation::OpenEstimate);
            let reason = match error.journal() {
                Some(JournalError::Store(error)) => return Err(self.journal.failure(error)),
                Some(JournalError::OverBudget { totals, .. }) if totals.is_stopped => {
                    Some(DropReason::Overcharged)
                }
                Some(JournalError::OverBudget { .. }) => Some(DropReason::OverBudget),
                Some(JournalError::NoPrice { .. }) => Some(DropReason::Unpriced),
                _ if is_estimate && has_no_price(&error) => Some(DropReason::Unpriced),
                _ => None,
            };
            if let Some(reason) = reason {
                return self.leave_out(ending, reason);
            }
        }
        let failure = Failure::from(error);
        let error = error_json(&failure);
        if stops_batch {
            self.stop(failure);
        }
        match (ending.is_open(), stops_batch) {
            (true, _) => self.end_ambiguous(ending, error),
            (false, true) => self.end(ending, ItemResult::error(Status::NotSubmitted, None, error)),
            (false, false) => {
                self.end(ending, ItemResult::error(Status::Failed, Some(Usd::ZERO), error))
            }
        }
    }

    /// Reports and returns the items that must not be sent again and have not been reported.
    pub(super) async fn end_unrepeatable(&mut self) -> Result<HashSet<Index>> {
        let source = Arc::clone(&self.source);
        let mut blocked = HashSet::new();
        for (item, index) in source.items.iter().zip(0..) {
            let Some(attempt) = &item.record.attempt else { continue };
            if item.next_step != NextStep::Resolve
                || (attempt.is_repeatable && !self.is_of_other_key(item))
            {
                continue;
            }
            blocked.insert(index);
            let id = source.line(index)?.id;
            if item.record.status() == Some(Status::Ambiguous) {
                self.summary.add(Status::Ambiguous);
                self.summary.add_ambiguous(index, id, attempt.key.to_string());
                continue;
            }
            let why = "the batch was interrupted before the service answered, and sending the \
                request again could charge twice";
            let error = error_json(&Failure::new(Exit::Ambiguous, why));
            let ending = self.ending(index, id).await?;
            self.end_ambiguous(ending, error)?;
        }
        Ok(blocked)
    }

    /// Returns whether an item was submitted with another API key, or to another service.
    fn is_of_other_key(&self, item: &Item) -> bool {
        item.record.attempt.as_ref().is_some_and(|attempt| {
            let submitted = (attempt.base_url.as_str(), attempt.key_fingerprint.as_str());
            self.source.clients.url_and_fingerprint(item.surface) != Some(submitted)
        })
    }

    /// Ends the items that were not submitted or whose outcome is not known, at the end of the batch.
    pub(super) async fn end_rest(&mut self) -> Result {
        let source = Arc::clone(&self.source);
        let reason = self.reason;
        for (place, index) in source.order.iter().copied().enumerate() {
            if self.has_ended.get(to_usize(index)) != Some(&false) {
                continue;
            }
            let item = source.item(index)?;
            let is_new = item.next_step == NextStep::Submit && !source.was_taken(place);
            let was_submitted = item.record.generation > 0;
            if is_new && reason.is_limit() && !was_submitted {
                // Its line need not be read.
                self.summary.leave_out(reason, index);
                continue;
            }
            let id = source.line(index)?.id;
            let ending = match is_new {
                true => Ending { index, id, entry: None },
                false => self.unsubmitted(index, id).await?,
            };
            let running = ending.entry.as_ref().filter(|entry| entry.resource.is_some());
            let charge = running.map(|entry| entry.charge_usd);
            if ending.is_open() {
                let why = "the request was not answered: it may have been carried out";
                self.end_ambiguous(ending, json!({ "message": why }))?;
            } else if let Some(charge) = charge {
                let why = "the batch timed out while the job was running";
                let error = json!({"code": "timed_out", "message": why});
                self.end(ending, ItemResult::error(Status::TimedOut, charge, error))?;
            } else if reason.is_limit() {
                self.leave_out(ending, reason)?;
            } else {
                let error = self.drop_error(reason);
                self.end(ending, ItemResult::error(Status::NotSubmitted, None, error))?;
            }
            if self.ended.len() >= MAX_TOGETHER {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// All items that do not fit into the limit of the batch are one line of the output.
    fn leave_out(&mut self, ending: Ending, reason: DropReason) -> Result {
        let Ending { index, id, entry } = ending;
        let item = self.source.item(index)?;
        // One that had been submitted before would look as if that was its end.
        if item.record.generation > 0 && item.record.status() != Some(Status::NotSubmitted) {
            let generation = entry.map_or(item.record.generation, |entry| entry.generation);
            let result = ItemResult::error(Status::NotSubmitted, None, self.drop_error(reason));
            let end = ItemEnd { id, generation, result, at: clock::now() };
            self.notes.push(Note::Outcome(Box::new(end)));
        }
        self.summary.leave_out(reason, index);
        self.set_ended(index);
        Ok(())
    }

    /// Ends an item of which it is unknown whether it was submitted.
    fn end_ambiguous(&mut self, ending: Ending, mut error: Value) -> Result {
        let key = ending.entry.as_ref().and_then(|entry| entry.idempotency_key.clone());
        if let Some(fields) = error.as_object_mut() {
            fields.insert("code".to_owned(), "ambiguous".into());
            fields.insert("idempotency_key".to_owned(), json!(key));
        }
        if let Some(key) = key {
            self.summary.add_ambiguous(ending.index, ending.id.clone(), key.to_string());
        }
        self.end(ending, ItemResult::error(Status::Ambiguous, None, error))
    }

    fn end(&mut self, ending: Ending, result: ItemResult) -> Result {
        let Ending { index, id, entry } = ending;
        let source = Arc::clone(&self.source);
        let item = source.item(index)?;
        let entry = entry.as_ref();
        let status = result.status;
        self.summary.add_result(&result, entry, source.manifest.number_at(item.position));
        let generation = entry.map_or(item.record.generation, |entry| entry.generation);
        let is_resumed = generation == item.record.generation;
        // What was not submitted in this run has not spent anything new.
        if let Some(now) = entry.map(spent_by) {
            let before = match &item.record.attempt {
                Some(attempt) if is_resumed => attempt.spent,
                // It had ended in an earlier run, and is counted.
                None if is_resumed => now,
                _ => Spent::default(),
            };
            self.summary.spent.replace(before, now);
        }
        source.take_charge(index);
        let shown = item_json(&id, item.is_run, status.as_str(), entry, Some(&result));
        self.ended.push((index, shown));
        let is_repeated = status == Status::NotSubmitted && item.record.status() == Some(status);
        if !is_repeated || !is_resumed {
            let end = ItemEnd { id, generation, result, at: clock::now() };
            self.notes.push(Note::Outcome(Box::new(end)));
        }
        self.set_ended(index);
        Ok(())
    }

    fn set_ended(&mut self, index: Index) {
        if let Some(has_ended) = self.has_ended.get_mut(to_usize(index)) {
            *has_ended = true;
        }
    }

    async fn ending(&self, index: Index, id: String) -> Result<Ending> {
        let entry = self.journal.find(&id).await?;
        Ok(Ending { index, id, entry })
    }

    /// What failed in an earlier run is not what a retry would have submitted.
    async fn unsubmitted(&self, index: Index, id: String) -> Result<Ending> {
        let item = self.source.item(index)?;
        let (is_new, earlier) = (item.next_step == NextStep::Submit, item.record.generation);
        let mut ending = self.ending(index, id).await?;
        ending.entry = ending.entry.filter(|entry| !is_new || entry.generation > earlier);
        Ok(ending)
    }

    fn drop_error(&self, reason: DropReason) -> Value {
        let (code, message) = match (reason, &self.stopped) {
            (DropReason::TimedOut, _) => {
                ("timed_out", "the batch timed out before the item was submitted".to_owned())
            }
            (DropReason::Stopped, stopped) => {
                let stopped = stopped.as_ref();
                let why = stopped.map(Failure::headline).unwrap_or_default();
                let error = stopped.map(error_json).unwrap_or_default();
                let code = error.get("code").and_then(Value::as_str);
                let message = format!("the batch was stopped: {why}");
                return json!({"code": code.unwrap_or("connection_failed"), "message": message});
            }
            _ => ("over_budget", "the price does not fit into --max-spend".to_owned()),
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
