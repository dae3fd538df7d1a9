//! The submissions of a batch, read from the manifest one after the other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{Stream, stream};
use svc_sdk::batch::BatchCall;
use svc_sdk::journal::{self, EntryState, Reuse};
use svc_sdk::types::Usd;

use super::journal::{ACCOUNT, Status};
use super::manifest::{Line, Manifest};
use super::plan::{Index, Item, NextStep, file_stem};
use super::requests::{Clients, Followed};
use super::spent::Spent;
use crate::download::without_media_extension;
use crate::error::{Failure, Result};

pub(super) struct Source {
    pub(super) manifest: Manifest,
    pub(super) items: Vec<Item>,
    /// The items that are submitted, or waited for, in that order.
    pub(super) order: Vec<Index>,
    pub(super) clients: Clients,
    journal: journal::Journal,
    taken: AtomicUsize,
    /// What was charged for items that were accepted in this run, until they end.
    charges: Mutex<HashMap<Index, Spent>>,
    failure: Mutex<Option<Failure>>,
}

impl Source {
    pub(super) fn new(
        manifest: Manifest,
        items: Vec<Item>,
        clients: Clients,
        journal: journal::Journal,
    ) -> Self {
        Self {
            manifest,
            items,
            order: Vec::new(),
            clients,
            journal,
            taken: AtomicUsize::new(0),
            charges: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    pub(super) fn submissions(
        source: &Arc<Self>,
    ) -> impl Stream<Item = BatchCall<Followed>> + Send + use<> {
        stream::unfold(Arc::clone(source), |source| async move {
            let place = source.taken.fetch_add(1, Ordering::Relaxed);
            let index = *source.order.get(place)?;
            match Self::submission(&source, index).await {
                Ok(submission) => Some((submission, source)),
                Err(failure) => {
                    *lock(&source.failure) = Some(failure);
                    None
                }
            }
        })
    }

    async fn submission(source: &Arc<Self>, index: Index) -> Result<BatchCall<Followed>> {
        let line = source.line(index)?;
        let item = source.item(index)?;
        let reuse = match item.next_step {
            NextStep::Submit if item.record.generation > 0 => {
                source.end_lost(&line.id).await?;
                // The plan has checked that its line is the same, or may change.
                Reuse::ReplaceUnsuccessful
            }
            _ => Reuse::ReturnExisting,
        };
        let accepted = Arc::clone(source);
        let on_accepted = Arc::new(move |charge: Option<Usd>| {
            lock(&accepted.charges).insert(index, charge.into());
        });
        let line_number = item.position.line;
        let name = match (file_stem(&line.id), item.is_name_taken) {
            (name, true) => format!("{}_L{line_number}", without_media_extension(&name)),
            (name, false) => name,
        };
        source.clients.submission(line, name, reuse, on_accepted)
    }

    /// Records that a job has failed which the service does not know any more.
    async fn end_lost(&self, id: &str) -> Result {
        if let Some(entry) = self.journal.find(ACCOUNT, id).await?
            && entry.state == EntryState::Accepted
        {
            let failed = Status::Failed.as_str();
            self.journal.record_end(&entry.id, failed, None).await?;
        }
        Ok(())
    }

    pub(super) fn line(&self, index: Index) -> Result<Line> {
        let item = self.item(index)?;
        let line = self.manifest.line_at(item.position)?;
        if line.hash() != item.hash {
            return Err(self.manifest.changed(item.position));
        }
        Ok(line)
    }

    pub(super) fn item(&self, index: Index) -> Result<&Item> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let item = self.items.get(place);
        item.ok_or_else(|| Failure::other("no such item"))
    }

    pub(super) fn add(&mut self, step: NextStep) {
        let items = self.items.iter().zip(0..);
        let matching = items.filter(|(item, _)| item.next_step == step);
        self.order.extend(matching.map(|(_, index)| index));
    }

    pub(super) fn was_taken(&self, place: usize) -> bool {
        place < self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        lock(&self.failure).take()
    }

    pub(super) fn take_charge(&self, index: Index) {
        lock(&self.charges).remove(&index);
    }

    pub(super) fn charged(&self) -> Spent {
        lock(&self.charges).values().copied().sum()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
