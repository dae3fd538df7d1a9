//! Submits of any kind, with what follows them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::call::Call;
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::handle::{Handle, Resource};

/// The future of what follows an accepted submit, or `None` if it had ended and was acknowledged
/// before.
pub(super) type FollowUp<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;
pub(super) type SendFuture<T> = Pin<Box<dyn Future<Output = Result<FollowUp<T>>> + Send>>;

/// A submit for a [`MixedBatch`](super::MixedBatch), with the function that follows it, such as a wait.
///
/// Returned by [`Call::followed_by`].
#[must_use = "the call is not sent until a batch sends it"]
pub struct BatchCall<T> {
    pub(super) submission_id: Option<String>,
    pub(super) send: Box<dyn FnMut() -> SendFuture<T> + Send>,
}

impl<R: Resource> Call<Handle<R>> {
    /// Makes it a call of a [`MixedBatch`](crate::batch::MixedBatch). `follow` is called with
    /// the handle when it is accepted, and returns the future of its outcome.
    pub fn followed_by<T, F>(
        self,
        follow: impl Fn(Handle<R>) -> F + Send + Sync + 'static,
    ) -> BatchCall<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let submission_id = self.chosen_submission_id().map(str::to_owned);
        let follow = Arc::new(follow);
        let mut call = Some(self.of_batch());
        let send = move || -> SendFuture<T> {
            // A call whose request is invalid is not sent again.
            let attempt = call.as_ref().and_then(Call::unsent_copy).or_else(|| call.take());
            let follow = Arc::clone(&follow);
            Box::pin(async move {
                let ended = || Error::configuration("an invalid call cannot be sent again");
                let handle = attempt.ok_or_else(ended)?.await?;
                if handle.was_acknowledged() {
                    return Ok(None);
                }
                let outcome: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(follow(handle));
                Ok(Some(outcome))
            })
        };
        BatchCall { submission_id, send: Box::new(send) }
    }
}

debug_fields! { [T] BatchCall<T> as "BatchCall" { submission_id } }
