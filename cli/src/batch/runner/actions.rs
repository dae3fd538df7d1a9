//! The actions of the scheduler, carried out.

use super::{Runner, TaskResult, to_usize};
use crate::batch::journal::{Attempt, Entry, Intent};
use crate::batch::manifest::Line;
use crate::batch::prices::{PriceSource, price_source};
use crate::batch::scheduler::Index;
use crate::clock;
use crate::download::prompt_of;
use crate::error::Failure;
use crate::random;

impl Runner<'_> {
    /// Finds out the price of an item.
    pub(super) fn price(&mut self, index: Index) -> Result<(), Failure> {
        let line = self.load(index)?;
        match price_source(line.operation, &line.body) {
            PriceSource::Known(price) => self.price_event(index, Some(price)),
            PriceSource::Unknown => self.price_event(index, None),
            PriceSource::Estimate(shape) => match self.estimates.get(shape) {
                Some(price) => self.price_event(index, price),
                None => {
                    if self.estimates.wait(shape, index) {
                        let estimate = self.clients.clone().estimate(line.body);
                        self.tasks
                            .spawn(async move { TaskResult::Priced(shape, estimate.await) });
                    }
                }
            },
        }
        Ok(())
    }

    /// Adds the intent of a submit to the journal.
    pub(super) fn begin_submit(&mut self, index: Index) -> Result<(Index, Line, Attempt), Failure> {
        let line = self.load(index)?;
        let hash = line.hash();
        let price = match price_source(line.operation, &line.body) {
            PriceSource::Known(cap) => Some(cap),
            PriceSource::Estimate(_) | PriceSource::Unknown => self.scheduler.price(index),
        };
        let Some(item) = self.items.get_mut(to_usize(index)) else {
            return Err(Failure::other("no such item"));
        };
        let (base_url, fingerprint) = self
            .clients
            .url_and_fingerprint(item.account)
            .unwrap_or_default();
        // A request that may have been carried out keeps its key, and the time of its first use.
        let earlier = item.record.attempt.take();
        let (key, at, is_unknown) = match earlier.filter(|it| it.resource.is_none()) {
            Some(attempt) => (attempt.key, attempt.at, attempt.is_unknown),
            None => (random::idempotency_key()?, clock::now(), false),
        };
        let intent = Box::new(Intent {
            id: line.id.clone(),
            hash,
            operation: line.operation.name().to_owned(),
            idempotency_key: key,
            price_usd: price,
            base_url: base_url.to_owned(),
            key_fingerprint: fingerprint.to_owned(),
            at,
        });
        let attempt = Attempt {
            is_unknown,
            ..Attempt::new((*intent).clone())
        };
        let entry = Entry::Intent(intent);
        self.journal.add(&entry);
        item.record.apply(entry);
        item.record.attempt = Some(Box::new(attempt.clone()));
        Ok((index, line, attempt))
    }

    /// Sends a request whose intent is on disk.
    pub(super) fn send(&mut self, index: Index, line: Line, attempt: &Attempt) {
        self.submitting.insert(index);
        let operation = line.operation;
        let submit = self
            .clients
            .clone()
            .submit(operation, line.body, attempt.key.clone());
        self.tasks
            .spawn(async move { TaskResult::Submitted(index, operation, submit.await) });
    }

    /// Waits for the result of an item.
    pub(super) fn follow(&mut self, index: Index) -> Result<(), Failure> {
        let submitted = match self.submitted.remove(&index) {
            Some(submitted) => Some(submitted),
            None => {
                let line = self.load(index)?;
                let attempt = self.attempt(index);
                let operation = attempt.and_then(|it| it.operation);
                let id = attempt.and_then(|it| it.resource.as_ref());
                id.and_then(|id| {
                    let operation = operation.unwrap_or(line.operation);
                    self.clients.handle(operation, id)
                })
            }
        };
        let Some(submitted) = submitted else {
            return Err(Failure::other("no client for this item"));
        };
        let has_template = self
            .clients
            .download
            .as_ref()
            .is_some_and(|it| it.has_template());
        let prompt = match has_template {
            true => prompt_of(&self.load(index)?.body),
            false => None,
        };
        let follow = self.clients.clone().follow(submitted, prompt);
        let task = self
            .tasks
            .spawn(async move { TaskResult::Followed(index, follow.await) });
        self.following.insert(index, task);
        Ok(())
    }
}
