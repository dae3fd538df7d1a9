//! What the answers of the service mean for the items.

use jiff::SignedDuration;
use svc_sdk::Error;
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use super::{Runner, TaskResult, to_usize};
use crate::batch::journal::{DOWNLOAD_FAILED, Entry, Quota, Receipt, Status};
use crate::batch::prices::Shape;
use crate::batch::request_failure::{FailureClass, RequestFailure, default_code, error_json};
use crate::batch::requests::{EstimateResult, ItemResult, SubmitReceipt, is_idempotent};
use crate::batch::scheduler::{DropReason, Event, Index, WriteLimit};
use crate::clock;
use crate::error::Failure;

impl Runner<'_> {
    /// Takes in what a task has found out.
    pub(super) fn handle_task_result(
        &mut self,
        done: Result<TaskResult, tokio::task::JoinError>,
    ) -> Result<(), Failure> {
        match done {
            Ok(TaskResult::Priced(shape, priced)) => self.on_priced(shape, priced),
            Ok(TaskResult::Submitted(index, operation, Ok(accepted))) => {
                self.submitting.remove(&index);
                self.record_quota(operation, accepted.writes);
                self.on_accepted(index, operation, accepted);
                Ok(())
            }
            Ok(TaskResult::Submitted(index, operation, Err(failed))) => {
                self.submitting.remove(&index);
                self.record_quota(operation, failed.writes);
                self.on_rejected(index, operation, failed)
            }
            Ok(TaskResult::Followed(index, ended)) => {
                self.following.remove(&index);
                match ended {
                    Ok(ended) => self.on_ended(index, ended),
                    Err(error) => self.on_poll_failed(index, *error),
                }
            }
            // The task of an item that was given up.
            Err(error) if error.is_cancelled() => Ok(()),
            Err(error) => Err(Failure::other(format!("a task failed: {error}"))),
        }
    }

    /// Adds the write quota to the journal once half of it is used.
    fn record_quota(&mut self, operation: Operation, reported: Option<WriteLimit>) {
        let Some(writes) = reported.filter(|it| it.remaining <= it.limit / 2) else {
            return;
        };
        let reset_after = SignedDuration::try_from(writes.reset_after).unwrap_or_default();
        if let Ok(resets_at) = clock::now().checked_add(reset_after) {
            self.journal.add(&Entry::Quota(Quota {
                operation: operation.name().to_owned(),
                limit: writes.limit,
                remaining: writes.remaining,
                resets_at,
            }));
        }
    }

    pub(super) fn on_priced(
        &mut self,
        shape: Shape,
        priced: Result<EstimateResult, RequestFailure>,
    ) -> Result<(), Failure> {
        let waiting = self.estimates.take_waiting(shape);
        match priced {
            Ok((price, writes)) => {
                self.estimates.insert(shape, price);
                for index in waiting {
                    self.event(index, Event::Priced { price, writes });
                }
            }
            Err(failed) => {
                let RequestFailure {
                    failure,
                    class,
                    retry_after,
                    writes,
                    ..
                } = failed;
                let first = waiting.first().copied();
                for index in waiting {
                    match class {
                        FailureClass::Backpressure(reason) => self.event(
                            index,
                            Event::Backpressure {
                                reason,
                                retry_after,
                                writes,
                            },
                        ),
                        FailureClass::Ambiguous | FailureClass::NotSent => {
                            self.event(index, Event::NotSent);
                        }
                        FailureClass::StopsBatch | FailureClass::Permanent => {
                            self.end_unpriced(index, &failure, class)?;
                        }
                    }
                }
                match (class, first) {
                    (FailureClass::StopsBatch, _) => self.stop(failure),
                    (FailureClass::NotSent | FailureClass::Ambiguous, Some(first)) => {
                        self.failures.insert(first, failure);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Ends an item whose estimate was rejected.
    pub(super) fn end_unpriced(
        &mut self,
        index: Index,
        failure: &Failure,
        class: FailureClass,
    ) -> Result<(), Failure> {
        let error = error_json(failure, default_code(failure.exit()));
        if self.attempt(index).is_some_and(|it| it.is_unknown) {
            return self.end_ambiguous(index, Some(failure));
        }
        match class {
            FailureClass::StopsBatch => {
                self.end_not_submitted(index, DropReason::Stopped, Some(error))
            }
            _ => self.end_rejected(index, error),
        }
    }

    pub(super) fn on_accepted(
        &mut self,
        index: Index,
        operation: Operation,
        accepted: SubmitReceipt,
    ) {
        let SubmitReceipt {
            submitted,
            charge,
            request_id,
            writes,
        } = accepted;
        let resource = submitted.resource_id();
        self.submitted.insert(index, submitted);
        let receipt = Entry::Receipt(Box::new(Receipt {
            id: self.id(index),
            resource,
            price_usd: charge,
            request_id,
        }));
        self.journal.add(&receipt);
        let price = self.attempt(index).and_then(|it| it.price);
        if let Some(item) = self.items.get_mut(to_usize(index)) {
            item.record.apply(receipt);
        }
        self.failures.remove(&index);
        self.add_spend_change(charge.unwrap_or(Usd::ZERO), Usd::ZERO);
        if let (Some(charge), Some(price), Some(_)) = (charge, price, self.options.max_spend)
            && charge > price
        {
            self.session.printer.warn(&format!(
                "item {} was charged {charge} USD, which is more than its estimate of {price} USD; no \
                further items are submitted ({})",
                self.id(index),
                operation.name(),
            ));
        }
        self.event(index, Event::Accepted { charge, writes });
    }

    pub(super) fn on_rejected(
        &mut self,
        index: Index,
        operation: Operation,
        failed: RequestFailure,
    ) -> Result<(), Failure> {
        let is_unknown = self.attempt(index).is_some_and(|it| it.is_unknown);
        let failure = failed.failure;
        match failed.class {
            FailureClass::Backpressure(reason) => {
                self.release(index);
                self.event(
                    index,
                    Event::Backpressure {
                        reason,
                        retry_after: failed.retry_after,
                        writes: failed.writes,
                    },
                );
            }
            FailureClass::NotSent => {
                self.release(index);
                self.failures.insert(index, failure);
                self.event(index, Event::NotSent);
            }
            FailureClass::Ambiguous if is_idempotent(operation) => {
                if let Some(item) = self.items.get_mut(to_usize(index))
                    && let Some(attempt) = &mut item.record.attempt
                {
                    attempt.is_unknown = true;
                }
                self.failures.insert(index, failure);
                self.event(index, Event::NoAnswer);
            }
            FailureClass::Ambiguous => self.end_ambiguous(index, Some(&failure))?,
            FailureClass::StopsBatch => {
                if is_unknown {
                    self.end_ambiguous(index, Some(&failure))?;
                } else {
                    self.release(index);
                    let error = error_json(&failure, default_code(failure.exit()));
                    self.end_not_submitted(index, DropReason::Stopped, Some(error))?;
                }
                self.stop(failure);
            }
            FailureClass::Permanent if is_unknown && !failed.is_conflict => {
                self.end_ambiguous(index, Some(&failure))?;
            }
            FailureClass::Permanent => {
                let error = error_json(&failure, default_code(failure.exit()));
                self.end_rejected(index, error)?;
            }
        }
        Ok(())
    }

    pub(super) fn on_ended(&mut self, index: Index, mut ended: ItemResult) -> Result<(), Failure> {
        self.show_files(&ended.files);
        if self
            .clients
            .download
            .as_ref()
            .is_some_and(|it| it.is_temporary())
        {
            ended.files.clear();
        }
        let attempt = self.attempt(index);
        let known = attempt.and_then(|it| it.charge.or(it.price));
        let is_run = self.item(index).is_some_and(|it| it.is_run);
        let cost = match is_run {
            // The spend of a run that cannot be read is unknown, rather than its cap.
            true => ended.cost,
            false => ended.cost.or(known),
        };
        self.event(index, Event::Finished { cost });
        self.end(
            index,
            ended.status,
            cost,
            ended.artifacts,
            ended.files,
            ended.error,
        )
    }

    /// Handles a job or run whose result could not be read.
    pub(super) fn on_poll_failed(&mut self, index: Index, error: Error) -> Result<(), Failure> {
        let is_lost = error.is_not_found();
        let is_fatal = error.is_unauthorized() || error.is_forbidden() || error.is_unreachable();
        let retry_after = error.retry_after();
        if !is_lost && !is_fatal {
            self.event(index, Event::FollowLater { retry_after });
            return Ok(());
        }
        let failure = Failure::from(error);
        let mut error = error_json(&failure, default_code(failure.exit()));
        if is_fatal {
            self.stop(failure);
        }
        self.event(index, Event::Finished { cost: None });
        let charge = self.attempt(index).and_then(|it| it.charge);
        let (status, changed) = self.end_of_unread(index, is_lost);
        if let (Some(fields), Some((name, text))) = (error.as_object_mut(), changed) {
            fields.insert(name.to_owned(), text.into());
        }
        if status == Status::Failed {
            self.summary.unknown += 1;
        }
        self.end(index, status, charge, Vec::new(), Vec::new(), Some(error))
    }

    /// Returns how an item ends whose job or run could not be read, and the field of its error that
    /// says so. `is_lost` is whether the service does not know it.
    fn end_of_unread(
        &self,
        index: Index,
        is_lost: bool,
    ) -> (Status, Option<(&'static str, String)>) {
        let Some(item) = self.item(index) else {
            return (Status::TimedOut, None);
        };
        if item.record.status == Some(Status::Completed) {
            // Only its files are missing.
            return (
                Status::Completed,
                Some(("code", DOWNLOAD_FAILED.to_owned())),
            );
        }
        if !is_lost {
            return (Status::TimedOut, None);
        }
        let noun = if item.is_run { "run" } else { "job" };
        let submitted = item.record.attempt.as_ref();
        let submitted = submitted.map(|it| (it.base_url.as_str(), it.key_fingerprint.as_str()));
        match submitted == self.clients.url_and_fingerprint(item.account) {
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
        }
    }
}
