//! The ends of items: what is recorded and printed.

use serde_json::{Value, json};
use svc_sdk::types::Usd;

use super::{Runner, to_usize};
use crate::batch::journal::{Entry, Outcome, Status};
use crate::batch::report::EndedItem;
use crate::batch::request_failure::{default_code, error_json};
use crate::batch::scheduler::{DropReason, Event, Index};
use crate::clock;
use crate::download::StoredFile;
use crate::error::{Exit, Failure};

impl Runner<'_> {
    pub(super) fn drop_item(&mut self, index: Index, reason: DropReason) -> Result<(), Failure> {
        if let Some(task) = self.following.remove(&index) {
            task.abort();
        }
        let attempt = self.attempt(index);
        let is_accepted = attempt.is_some_and(|it| it.resource.is_some());
        let is_unknown = attempt.is_some_and(|it| it.is_unknown && it.resource.is_none());
        let charge = attempt.and_then(|it| it.charge);
        let failure = self.failures.remove(&index);
        self.summary.drop_item(reason);
        if is_accepted {
            let message = "the batch timed out while the job was running";
            let error = json!({"code": "timed_out", "message": message});
            let (artifacts, files) = (Vec::new(), Vec::new());
            return self.end(
                index,
                Status::TimedOut,
                charge,
                artifacts,
                files,
                Some(error),
            );
        }
        if is_unknown {
            return self.end_ambiguous(index, failure.as_ref());
        }
        let error = failure
            .as_ref()
            .map(|failure| error_json(failure, default_code(failure.exit())));
        if let (DropReason::Unreachable, Some(failure)) = (reason, failure) {
            self.stop(failure);
        }
        self.end_not_submitted(index, reason, error)
    }

    /// Ends an item that was rejected: nothing ran and nothing was charged.
    pub(super) fn end_rejected(&mut self, index: Index, error: Value) -> Result<(), Failure> {
        let cost = Some(Usd::ZERO);
        self.event(index, Event::Finished { cost });
        self.release(index);
        self.end(
            index,
            Status::Failed,
            cost,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }

    pub(super) fn end_not_submitted(
        &mut self,
        index: Index,
        reason: DropReason,
        error: Option<Value>,
    ) -> Result<(), Failure> {
        self.event(
            index,
            Event::Finished {
                cost: Some(Usd::ZERO),
            },
        );
        let error = error.unwrap_or_else(|| self.drop_error(reason));
        self.end(
            index,
            Status::NotSubmitted,
            None,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }

    /// Ends an item of which it is unknown whether it was submitted.
    pub(super) fn end_ambiguous(
        &mut self,
        index: Index,
        failure: Option<&Failure>,
    ) -> Result<(), Failure> {
        self.event(index, Event::Finished { cost: None });
        let mut error = match failure {
            Some(failure) => error_json(failure, "ambiguous"),
            None => {
                json!({"message": "the request was not answered: it may have been carried out"})
            }
        };
        let key = self.attempt(index).map(|it| it.key.clone());
        if let Some(fields) = error.as_object_mut() {
            fields.insert("code".to_owned(), "ambiguous".into());
            fields.insert("idempotency_key".to_owned(), json!(key));
        }
        self.end(
            index,
            Status::Ambiguous,
            None,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }

    /// Reports an item of an earlier run that must not be sent again, unless that run has.
    pub(super) fn leave_ambiguous(&mut self, index: Index) -> Result<(), Failure> {
        let item = self.item(index);
        if item.is_some_and(|item| item.record.status == Some(Status::Ambiguous)) {
            self.counts.ended += 1;
            self.counts.ambiguous += 1;
            return Ok(());
        }
        self.load(index)?;
        let why = "the batch was interrupted before the service answered, and sending the request \
            again could charge twice";
        let failure = Failure::new(Exit::Ambiguous, why);
        self.end_ambiguous(index, Some(&failure))
    }

    /// Records the end of an item, and queues it for the output.
    pub(super) fn end(
        &mut self,
        index: Index,
        status: Status,
        price: Option<Usd>,
        artifacts: Vec<Value>,
        files: Vec<StoredFile>,
        error: Option<Value>,
    ) -> Result<(), Failure> {
        if !self.ids.contains_key(&index) {
            self.load(index)?;
        }
        let id = self.ids.remove(&index).unwrap_or_default();
        self.failures.remove(&index);
        let Some(item) = self.items.get_mut(to_usize(index)) else {
            return Ok(());
        };
        let before = item.record.spent();
        let attempt = item.record.attempt.as_ref();
        let ended = EndedItem {
            id: id.clone(),
            status,
            resource: attempt.and_then(|it| it.resource.clone()),
            price,
            artifacts,
            files: files.clone(),
            error: error.clone(),
        };
        if status == Status::Failed {
            self.summary.add_failure(error.as_ref());
        }
        let is_repeated =
            status == Status::NotSubmitted && item.record.status == Some(Status::NotSubmitted);
        let outcome = Entry::Outcome(Box::new(Outcome {
            id,
            status,
            price_usd: price,
            files,
            error,
            at: clock::now(),
        }));
        item.record.apply(outcome.clone());
        if !is_repeated {
            self.outcomes.push(outcome);
        }
        let after = item.record.spent();
        self.ended.push(ended.to_json(item.is_run));
        self.add_spend_change(after, before);
        self.counts.ended += 1;
        match status {
            Status::Failed => self.counts.failed += 1,
            Status::Canceled => self.counts.canceled += 1,
            Status::Ambiguous => self.counts.ambiguous += 1,
            Status::Completed | Status::NotSubmitted | Status::TimedOut => {}
        }
        Ok(())
    }

    /// Records that a request was not carried out, unless an earlier one with its key may have been.
    pub(super) fn release(&mut self, index: Index) {
        if self.attempt(index).is_some_and(|it| !it.is_unknown) {
            let entry = Entry::Released { id: self.id(index) };
            self.journal.add(&entry);
            if let Some(item) = self.items.get_mut(to_usize(index)) {
                item.record.apply(entry);
            }
        }
    }

    pub(super) fn drop_error(&self, reason: DropReason) -> Value {
        let limit = self.options.max_spend.unwrap_or(Usd::ZERO);
        let (code, message) = match reason {
            DropReason::OverBudget => (
                "over_budget",
                format!("the price does not fit into --max-spend {limit}"),
            ),
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
            DropReason::TimedOut => (
                "timed_out",
                "the batch timed out before the item was submitted".to_owned(),
            ),
            DropReason::Stopped | DropReason::NoAnswer | DropReason::Unreachable => {
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
