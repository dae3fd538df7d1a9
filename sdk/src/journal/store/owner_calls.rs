//! What an owner of intents knows of its calls without asking the store.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use futures_util::future::join_all;
use tokio::sync::OwnedMutexGuard;

use super::change::Change;
use super::error::StoreError;
use super::intent::{IntentId, SubmissionKey};
use crate::debug_fields::debug_fields;
use crate::journal::lock;

/// The number of records that are written at the same time.
const MAX_WRITES: usize = 256;

/// The calls of an [owner](super::Store): what its process works on, and what it could not write.
///
/// Journals with the same one know of each other's calls: the clones of a store have one together.
#[derive(Clone, Default)]
pub struct OwnerCalls(Arc<State>);

#[derive(Default)]
struct State {
    /// One lock for each submission that a task works on.
    locks: Mutex<HashMap<SubmissionKey, Weak<tokio::sync::Mutex<()>>>>,
    /// The intents that a task works on or that there is a handle of, and how often.
    active: Mutex<HashMap<IntentId, u32>>,
    /// What could not be written after a request was sent. It is written before the next intent.
    unwritten: Mutex<VecDeque<(IntentId, Change)>>,
    /// Held while they are written.
    writing: tokio::sync::Mutex<()>,
}

impl OwnerCalls {
    /// Locks a submission, until its receipt is known.
    pub(in crate::journal) async fn lock(&self, key: &SubmissionKey) -> OwnedMutexGuard<()> {
        let submission = {
            let mut locks = lock(&self.0.locks);
            match locks.get(key).and_then(Weak::upgrade) {
                Some(submission) => submission,
                None => {
                    locks.retain(|_, submission| submission.strong_count() > 0);
                    let submission = Arc::default();
                    locks.insert(key.clone(), Arc::downgrade(&submission));
                    submission
                }
            }
        };
        submission.lock_owned().await
    }

    pub(in crate::journal) fn is_active(&self, id: &IntentId) -> bool {
        lock(&self.0.active).contains_key(id)
    }

    pub(in crate::journal) fn add_active(&self, id: &IntentId) {
        *lock(&self.0.active).entry(id.clone()).or_default() += 1;
    }

    pub(in crate::journal) fn remove_active(&self, id: &IntentId) {
        let mut active = lock(&self.0.active);
        if let Some(count) = active.get_mut(id) {
            *count -= 1;
            if *count == 0 {
                active.remove(id);
            }
        }
    }

    /// Keeps a record that could not be written.
    pub(in crate::journal) fn keep(&self, id: &IntentId, change: Change) {
        lock(&self.0.unwritten).push_back((id.clone(), change));
    }

    /// Writes what was kept: those of one intent one after the other, and those of several at once.
    pub(in crate::journal) async fn write_unwritten<W>(
        &self,
        append: impl Fn(IntentId, Change) -> W,
    ) -> Result<(), StoreError>
    where
        W: Future<Output = Result<(), StoreError>>,
    {
        if lock(&self.0.unwritten).is_empty() {
            return Ok(());
        }
        // A record that is written twice must not follow a newer one.
        let _turn = self.0.writing.lock().await;
        loop {
            let round = self.first_of_each();
            if round.is_empty() {
                return Ok(());
            }
            let writes = round.into_iter().map(|(id, change)| {
                let append = append(id.clone(), change);
                async move {
                    let written = append.await;
                    if written.as_ref().is_err_and(may_succeed_later) {
                        return written;
                    }
                    self.remove_first(&id);
                    Ok(())
                }
            });
            join_all(writes).await.into_iter().collect::<Result<(), _>>()?;
        }
    }

    /// Returns the oldest record of each intent.
    fn first_of_each(&self) -> Vec<(IntentId, Change)> {
        let unwritten = lock(&self.0.unwritten);
        let mut ids = HashSet::new();
        let first = unwritten.iter().filter(|(id, _)| ids.insert(id));
        first.take(MAX_WRITES).cloned().collect()
    }

    fn remove_first(&self, id: &IntentId) {
        let mut unwritten = lock(&self.0.unwritten);
        if let Some(index) = unwritten.iter().position(|(of, _)| of == id) {
            unwritten.remove(index);
        }
    }

    #[cfg(test)]
    pub(in crate::journal) fn unwritten_count(&self) -> usize {
        lock(&self.0.unwritten).len()
    }
}

/// Returns whether a record that was not written for that reason is written again.
pub(in crate::journal) fn may_succeed_later(error: &StoreError) -> bool {
    !error.is_not_owner() && !error.is_not_found()
}

debug_fields! { [] OwnerCalls as "OwnerCalls" {  } }
