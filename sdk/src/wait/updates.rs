//! The life of a job, a run or a queue as a stream.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;

use super::watched::{BEHIND, LAG, Look, Standing, Watched};
use super::{Trouble, WaitOptions, schedule};
use crate::call::clock::{self, Instant};
use crate::error::Result;
use crate::types::JobStatusPayload;

/// One look at a job, a run or a bulk queue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Update<T = JobStatusPayload> {
    /// How it stands, as far as is known.
    pub status: T,
    /// Why this look failed, if it did: `status` is then the last known one.
    pub trouble: Option<Arc<crate::Error>>,
    /// Looks so far.
    pub polls: u32,
    /// Time since the wait began.
    pub waited: Duration,
    /// Time until the next look; none after the last.
    pub next_poll: Option<Duration>,
}

impl<T> Update<T> {
    /// Whether there is nothing left to wait for.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.next_poll.is_none()
    }
}

/// The updates of a job, a run or a bulk queue: one from the receipt at once, then one a poll, the
/// last when it is terminal.
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
pub struct Updates<W: Watched> {
    watched: W,
    options: WaitOptions,
    began: Instant,
    known: W::Status,
    polls: u32,
    trouble: Trouble,
    hurried_until: Option<Instant>,
    state: State<W::Status>,
}

enum State<T> {
    /// The receipt's word comes first.
    Receipt,
    /// The next poll, when it is due, and the pause before it.
    Polling(Look<T>, Instant),
    /// Terminal, or an error that ends the wait.
    Over,
}

impl<W: Watched> Updates<W> {
    pub(crate) fn new(watched: W, options: WaitOptions) -> Self {
        let began = clock::now();
        let (known, state) = match watched.told() {
            Some(known) => (known, State::Receipt),
            None => (
                watched.unknown(),
                State::Polling(watched.look(began), began),
            ),
        };
        Self {
            watched,
            options,
            began,
            known,
            polls: 0,
            trouble: Trouble::default(),
            hurried_until: None,
            state,
        }
    }

    /// The next update; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<Update<W::Status>>> {
        poll_fn(|context| self.poll_update(context)).await
    }

    /// What the last look showed.
    pub(super) fn known(&self) -> &W::Status {
        &self.known
    }

    /// An event tells of the end: looks at once, and soon again for a while, as what is asked may be
    /// behind what sent the event.
    pub(super) fn hurry(&mut self) {
        let now = clock::now();
        self.hurried_until = Some(now + LAG);
        // A look that is under way is left to its answer.
        if matches!(self.state, State::Polling(_, due) if now < due) {
            self.state = State::Polling(self.watched.look(now), now);
        }
    }

    fn poll_update(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Update<W::Status>>>> {
        let looked = match &mut self.state {
            State::Over => return Poll::Ready(None),
            State::Receipt => None,
            State::Polling(polling, _) => Some(ready!(polling.as_mut().poll(context))),
        };
        let now = clock::now();
        let draw = self.watched.draw();
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
                match self.trouble.pause(&error, now, &self.options, draw) {
                    Some(pause) => (Some(Arc::new(error)), Some(pause)),
                    None => {
                        self.state = State::Over;
                        let error = error.while_polling();
                        return Poll::Ready(Some(Err(self.watched.owned(error))));
                    }
                }
            }
        };
        self.state = match pause {
            Some(pause) => State::Polling(self.watched.look(now + pause), now + pause),
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

    /// The pause before the next poll; none where there is nothing left to wait for.
    fn pause(&self, now: Instant, draw: f64) -> Option<Duration> {
        if self.known.is_through() {
            return None;
        }
        let waited = now.saturating_duration_since(self.began);
        let pause = schedule::pause(self.known.next_look_after(), waited, draw);
        match self.hurried_until {
            Some(until) if now < until => Some(pause.min(BEHIND)),
            _ => Some(pause),
        }
    }
}

impl<W: Watched> Stream for Updates<W> {
    type Item = Result<Update<W::Status>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_update(context)
    }
}

impl<W: Watched> fmt::Debug for Updates<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates")
            .field("known", &self.known)
            .field("polls", &self.polls)
            .finish_non_exhaustive()
    }
}
