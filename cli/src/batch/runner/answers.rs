//! What the answers of the service mean for the items.

use svc_sdk::Error;
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use super::{Done, Runner, place};
use crate::batch::journal::{Entry, Receipt, Status};
use crate::batch::prices::Shape;
use crate::batch::requests::{
    Accepted, Ended, Estimated, Failed, Rejection, default_code, error_json, is_idempotent,
};
use crate::batch::scheduler::{DropReason, Event, Index};
use crate::error::Failure;

impl Runner<'_> {
    /// Takes in what a task has found out.
    pub(super) fn take_in(
        &mut self,
        done: Result<Done, tokio::task::JoinError>,
    ) -> Result<(), Failure> {
        match done {
            Ok(Done::Priced(shape, priced)) => self.priced(shape, priced),
            Ok(Done::Submitted(index, operation, Ok(accepted))) => {
                self.submitting.remove(&index);
                self.accepted(index, operation, accepted);
                Ok(())
            }
            Ok(Done::Submitted(index, operation, Err(failed))) => {
                self.submitting.remove(&index);
                self.rejected(index, operation, failed)
            }
            Ok(Done::Followed(index, ended)) => {
                self.following.remove(&index);
                match ended {
                    Ok(ended) => self.ended(index, ended),
                    Err(error) => self.not_followed(index, *error),
                }
            }
            // The task of an item that was given up.
            Err(error) if error.is_cancelled() => Ok(()),
            Err(error) => Err(Failure::other(format!("a task failed: {error}"))),
        }
    }

    pub(super) fn priced(
        &mut self,
        shape: Shape,
        priced: Result<Estimated, Failed>,
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
                let Failed {
                    failure,
                    rejection,
                    retry_after,
                    writes,
                    ..
                } = failed;
                let first = waiting.first().copied();
                for index in waiting {
                    match rejection {
                        Rejection::PushedBack(reason) => self.event(
                            index,
                            Event::PushedBack {
                                reason,
                                retry_after,
                                writes,
                            },
                        ),
                        Rejection::NoAnswer | Rejection::NotSent => {
                            self.event(index, Event::NotSent);
                        }
                        Rejection::Stop | Rejection::Final => {
                            self.end_unpriced(index, &failure, rejection)?;
                        }
                    }
                }
                match (rejection, first) {
                    (Rejection::Stop, _) => self.stop(failure),
                    (Rejection::NotSent | Rejection::NoAnswer, Some(first)) => {
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
        rejection: Rejection,
    ) -> Result<(), Failure> {
        let error = error_json(failure, default_code(failure.exit()));
        if self.attempt(index).is_some_and(|it| it.is_unknown) {
            return self.end_ambiguous(index, Some(failure));
        }
        match rejection {
            Rejection::Stop => self.end_not_submitted(index, DropReason::Stopped, Some(error)),
            _ => self.end_rejected(index, error),
        }
    }

    pub(super) fn accepted(&mut self, index: Index, operation: Operation, accepted: Accepted) {
        let Accepted {
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
        if let Some(item) = self.items.get_mut(place(index)) {
            item.record.apply(receipt);
        }
        self.failures.remove(&index);
        self.spend(charge.unwrap_or(Usd::ZERO), Usd::ZERO);
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

    pub(super) fn rejected(
        &mut self,
        index: Index,
        operation: Operation,
        failed: Failed,
    ) -> Result<(), Failure> {
        if let Some(resource) = &failed.resource
            && let Some(submitted) = self.clients.handle(operation, resource)
        {
            let accepted = Accepted {
                submitted,
                charge: None,
                request_id: None,
                writes: failed.writes,
            };
            self.accepted(index, operation, accepted);
            return Ok(());
        }
        let is_unknown = self.attempt(index).is_some_and(|it| it.is_unknown);
        let failure = failed.failure;
        match failed.rejection {
            Rejection::PushedBack(reason) => {
                self.release(index);
                self.event(
                    index,
                    Event::PushedBack {
                        reason,
                        retry_after: failed.retry_after,
                        writes: failed.writes,
                    },
                );
            }
            Rejection::NotSent => {
                self.release(index);
                self.failures.insert(index, failure);
                self.event(index, Event::NotSent);
            }
            Rejection::NoAnswer if is_idempotent(operation) => {
                if let Some(item) = self.items.get_mut(place(index))
                    && let Some(attempt) = &mut item.record.attempt
                {
                    attempt.is_unknown = true;
                }
                self.failures.insert(index, failure);
                self.event(index, Event::NoAnswer);
            }
            Rejection::NoAnswer => self.end_ambiguous(index, Some(&failure))?,
            Rejection::Stop => {
                if is_unknown {
                    self.end_ambiguous(index, Some(&failure))?;
                } else {
                    self.release(index);
                    let error = error_json(&failure, default_code(failure.exit()));
                    self.end_not_submitted(index, DropReason::Stopped, Some(error))?;
                }
                self.stop(failure);
            }
            Rejection::Final if is_unknown && !failed.is_conflict => {
                self.end_ambiguous(index, Some(&failure))?;
            }
            Rejection::Final => {
                let error = error_json(&failure, default_code(failure.exit()));
                self.end_rejected(index, error)?;
            }
        }
        Ok(())
    }

    pub(super) fn ended(&mut self, index: Index, ended: Ended) -> Result<(), Failure> {
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
    pub(super) fn not_followed(&mut self, index: Index, error: Error) -> Result<(), Failure> {
        let is_lost = error.is_not_found();
        let is_fatal = error.is_unauthorized() || error.is_forbidden() || error.is_unreachable();
        let retry_after = error.retry_after();
        if !is_lost && !is_fatal {
            self.event(index, Event::FollowLater { retry_after });
            return Ok(());
        }
        let failure = Failure::from(error);
        let error = error_json(&failure, default_code(failure.exit()));
        if is_fatal {
            self.stop(failure);
        }
        self.event(index, Event::Finished { cost: None });
        let charge = self.attempt(index).and_then(|it| it.charge);
        self.end(
            index,
            Status::TimedOut,
            charge,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }
}
