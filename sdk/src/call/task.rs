//! The tasks in which calls progress, whether or not their callers are polled.

use std::panic;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};
use tracing::Instrument;

use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::lock::lock;
use crate::transport::TransportError;

pub(crate) fn runtime() -> Result<Handle> {
    Handle::try_current()
        .map_err(|_| Error::configuration("cannot send requests here: no tokio runtime is running"))
}

/// Returns the error of a call whose task ended with its runtime or its group.
pub(crate) fn ended_with_runtime() -> Error {
    TransportError::maybe_sent("the tokio runtime was shut down").into()
}

/// Starts a task on the current runtime, in the current span.
pub(crate) fn spawn<F>(group: Option<&TaskGroup>, future: F) -> Result<Task<F::Output>>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let task = runtime()?.spawn(future.in_current_span());
    if let Some(group) = group {
        group.add(task.abort_handle());
    }
    Ok(Task { handle: task, is_detached: false })
}

/// A task that is aborted when this is dropped, unless it is detached.
///
/// A panic of the task goes on in whoever awaits it. The output is `None` if the task was ended with
/// its runtime or its group.
#[derive(Debug)]
pub(crate) struct Task<T> {
    handle: JoinHandle<T>,
    is_detached: bool,
}

impl<T> Task<T> {
    /// Lets the task go on when this is dropped.
    pub(crate) fn detached(mut self) -> Self {
        self.is_detached = true;
        self
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T> Future for Task<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        match ready!(Pin::new(&mut self.handle).poll(context)) {
            Ok(output) => Poll::Ready(Some(output)),
            Err(error) => match error.try_into_panic() {
                Ok(payload) => panic::resume_unwind(payload),
                Err(_) => Poll::Ready(None),
            },
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if !self.is_detached {
            self.handle.abort();
        }
    }
}

/// The tasks of a client that a simulation ends together, as the end of a process does.
#[derive(Clone, Default)]
pub struct TaskGroup(Arc<Mutex<TaskGroupState>>);

#[derive(Default)]
struct TaskGroupState {
    tasks: Vec<AbortHandle>,
    is_ended: bool,
}

impl TaskGroup {
    /// Aborts the tasks of the group, and those that are started in it from now on.
    pub fn end(&self) {
        let mut state = lock(&self.0);
        state.is_ended = true;
        for task in state.tasks.drain(..) {
            task.abort();
        }
    }

    fn add(&self, task: AbortHandle) {
        let mut state = lock(&self.0);
        if state.is_ended {
            return task.abort();
        }
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(task);
    }
}

debug_fields! { [] TaskGroup as "TaskGroup" {  } }
