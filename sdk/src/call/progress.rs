//! Calls as futures, whose requests progress in tasks.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::task::{self, Task};
use super::{Call, RawResponse, Request, Response};
use crate::error::{Error, Result};

/// Tasks of calls have one type, as a program would contain the code of tokio's tasks for every output.
type Output = Box<dyn Any + Send>;

#[derive(Debug)]
pub(super) enum CallState {
    /// It was not polled yet.
    New,
    Running(Task<Output>),
    Ended,
}

impl<T> Call<T> {
    fn has_journal(&self) -> bool {
        let own = self.options.submit.as_ref().and_then(|it| it.journal.as_ref());
        own.or(self.core.journal.as_ref()).is_some()
    }

    /// Starts the task that sends the request. Its output is a `Result<R>`.
    fn start<R>(&mut self, output: fn(T, RawResponse) -> R) -> Result<Task<Output>>
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        let pending = match (&self.submit, self.has_journal()) {
            (Some(_), true) => Some(self.core.pending_submits.subscribe()),
            _ => None,
        };
        let sending = self.send(output)?;
        // A submit in a journal goes on to its receipt.
        let is_detached = pending.is_some();
        let sending: Pin<Box<dyn Future<Output = Output> + Send>> = Box::pin(async move {
            let output: Output = Box::new(sending.await);
            drop(pending);
            output
        });
        let task = task::spawn(self.core.task_group.as_ref(), sending)?;
        Ok(if is_detached { task.detached() } else { task })
    }
}

impl<T: Send + 'static> Future for Call<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = &mut *self;
        if matches!(call.progress, CallState::New) {
            call.progress = CallState::Ended;
            call.progress = CallState::Running(call.start(|value, _| value)?);
        }
        call.progress.poll(&call.request, context)
    }
}

impl CallState {
    /// Polls the task of a call that was started.
    fn poll<R: 'static>(
        &mut self,
        request: &Result<Arc<Request>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<R>> {
        let Self::Running(task) = self else { return Poll::Ready(Err(already_ended())) };
        let output = ready!(Pin::new(task).poll(context));
        *self = Self::Ended;
        let output = output.and_then(|output| output.downcast().ok()).map(|output| *output);
        Poll::Ready(output.unwrap_or_else(|| {
            let error = task::ended_with_runtime();
            Err(match request {
                Ok(request) => request.annotate(error),
                Err(_) => error,
            })
        }))
    }
}

/// Returns the error of a call that is polled again after it has ended.
pub(super) fn already_ended() -> Error {
    Error::configuration("the call has already ended")
}

/// A call whose value comes together with its response.
///
/// Returned by [`Call::with_response`].
#[must_use = "a call does nothing unless it is awaited"]
#[derive(Debug)]
pub struct CallWithResponse<T> {
    call: Call<T>,
    progress: CallState,
}

impl<T> CallWithResponse<T> {
    pub(super) fn new(call: Call<T>) -> Self {
        Self { call, progress: CallState::New }
    }
}

impl<T: Send + 'static> Future for CallWithResponse<T> {
    type Output = Result<Response<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { call, progress } = &mut *self;
        if matches!(progress, CallState::New) {
            *progress = CallState::Ended;
            *progress = CallState::Running(call.start(Response::new)?);
        }
        progress.poll(&call.request, context)
    }
}
