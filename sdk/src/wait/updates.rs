//! A job's life as a stream.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;

use super::{JobHandle, Trouble, WaitOptions, schedule};
use crate::call::clock::{self, Instant};
use crate::contract::JobStatus;
use crate::error::Result;
use crate::surface::Surface;
use crate::types::StatusPayload;

type Polling = Pin<Box<dyn Future<Output = Result<StatusPayload>> + Send>>;

/// One look at a job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Update {
    /// How the job stands, as far as is known.
    pub status: StatusPayload,
    /// Why this look failed, if it did: `status` is then the last known one.
    pub trouble: Option<Arc<crate::Error>>,
    /// Looks so far.
    pub polls: u32,
    /// Time since the wait began.
    pub waited: Duration,
    /// Time until the next look; none after the last.
    pub next_poll: Option<Duration>,
}

impl Update {
    /// Whether the job will never change again.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.next_poll.is_none()
    }
}

/// A job's updates: one from the receipt at once, then one a poll, the last when it is terminal.
///
/// It has a [`next`](Self::next) of its own and is a [`Stream`]. Take it to its end or drop it: one
/// that is left alone in the middle of a poll keeps a place among the requests of its client.
///
/// ```no_run
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let job = client.job("job_1");
/// let mut updates = job.updates();
/// while let Some(update) = updates.next().await {
///     let update = update?;
///     println!("{:?} after {:?}", update.status.status, update.waited);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is asked until the stream is polled"]
pub struct Updates<S> {
    job: JobHandle<S>,
    options: WaitOptions,
    began: Instant,
    known: StatusPayload,
    polls: u32,
    trouble: Trouble,
    state: State,
}

enum State {
    /// The receipt's word comes first.
    Receipt,
    /// The next poll, and the pause before it.
    Polling(Polling),
    /// Terminal, or an error that ends the wait.
    Over,
}

impl<S: Surface> Updates<S> {
    pub(super) fn new(job: JobHandle<S>, options: WaitOptions) -> Self {
        let began = clock::now();
        let (known, state) = match job.receipt() {
            Some(receipt) => {
                let known = StatusPayload {
                    job_id: Some(receipt.job.id.clone()),
                    status: Some(receipt.job.status.clone()),
                    next_poll_after_seconds: receipt.next_poll_after_seconds,
                    ..StatusPayload::default()
                };
                (known, State::Receipt)
            }
            None => (
                StatusPayload::default(),
                State::Polling(polling(&job, began)),
            ),
        };
        Self {
            job,
            options,
            began,
            known,
            polls: 0,
            trouble: Trouble::default(),
            state,
        }
    }

    /// The next update; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<Update>> {
        poll_fn(|context| self.poll_update(context)).await
    }

    fn poll_update(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Update>>> {
        let looked = match &mut self.state {
            State::Over => return Poll::Ready(None),
            State::Receipt => None,
            State::Polling(polling) => Some(ready!(polling.as_mut().poll(context))),
        };
        let now = clock::now();
        let draw = self.job.client.core.entropy.fraction();
        let (trouble, pause) = match looked {
            None => (None, self.pause(now, draw)),
            Some(Ok(status)) => {
                self.polls += 1;
                self.trouble.over();
                self.known = status;
                (None, self.pause(now, draw))
            }
            Some(Err(error)) => {
                self.polls += 1;
                match self.trouble.pause(error, now, &self.options, draw) {
                    Ok((error, pause)) => (Some(Arc::new(error)), Some(pause)),
                    Err(error) => {
                        self.state = State::Over;
                        return Poll::Ready(Some(Err(self.job.owned(error))));
                    }
                }
            }
        };
        self.state = match pause {
            Some(pause) => State::Polling(polling(&self.job, now + pause)),
            None => State::Over,
        };
        Poll::Ready(Some(Ok(Update {
            status: self.known.clone(),
            trouble,
            polls: self.polls,
            waited: now.saturating_duration_since(self.began),
            next_poll: pause,
        })))
    }

    /// The pause before the next poll; none where the job is through.
    fn pause(&self, now: Instant, draw: f64) -> Option<Duration> {
        let known = &self.known;
        let awaits_result =
            known.status == Some(JobStatus::Completed) && known.result_ready == Some(false);
        if known.is_terminal() && !awaits_result {
            return None;
        }
        let waited = now.saturating_duration_since(self.began);
        Some(schedule::pause(known.next_poll_after_seconds, waited, draw))
    }
}

/// One poll at its moment: when it is due, and when the client's poll schedule has room.
fn polling<S: Surface>(job: &JobHandle<S>, due: Instant) -> Polling {
    let client = job.client.clone();
    let call = client.jobs_status(job.id()).with_retries(0);
    Box::pin(async move {
        clock::sleep_until(due).await;
        clock::sleep_until(client.core.pace.poll_slot(clock::now())).await;
        call.send().await
    })
}

impl<S: Surface> Stream for Updates<S> {
    type Item = Result<Update>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_update(context)
    }
}

impl<S> fmt::Debug for Updates<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates")
            .field("known", &self.known)
            .field("polls", &self.polls)
            .finish_non_exhaustive()
    }
}
