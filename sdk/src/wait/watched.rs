//! What can be watched until it is through: a job, a run, a bulk queue.

use std::fmt::Debug;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use super::{Trouble, Updates, WaitOptions};
use crate::call::Call;
use crate::call::clock::{self, Instant};
use crate::client::Client;
use crate::contract::NextAction;
use crate::error::{Error, Kind, Result};
use crate::sealed::Sealed;
use crate::surface::Surface;

/// The time to read what it came to, where the wait's own is all but over.
const LAST_LOOK: Duration = Duration::from_secs(10);

/// How far a replica may be behind the one that said that it is through.
pub(super) const LAG: Duration = Duration::from_secs(15);
/// The least pause before it is asked again.
pub(crate) const BEHIND: Duration = Duration::from_secs(1);

/// A look at something, to come.
pub(crate) type Look<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// What can be watched until it is through: a [`JobHandle`](crate::JobHandle), a
/// [`RunHandle`](crate::runs::RunHandle), a [`QueueHandle`](crate::runs::QueueHandle).
///
/// Only this crate implements it.
pub trait Watched: Sealed + Clone + Debug + Send + Sync + Unpin + 'static {
    /// What a look at it shows.
    type Status: Standing;

    /// Identifies it, as events do.
    #[doc(hidden)]
    fn id(&self) -> &str;

    /// What is known before the first look.
    #[doc(hidden)]
    fn told(&self) -> Option<Self::Status>;

    /// What is known where nothing is.
    #[doc(hidden)]
    fn unknown(&self) -> Self::Status;

    /// A look when it is due, and when the client's poll schedule has room.
    #[doc(hidden)]
    fn look(&self, due: Instant) -> Look<Self::Status>;

    /// A fraction by chance.
    #[doc(hidden)]
    fn draw(&self) -> f64;

    /// The error, with what must not be lost.
    #[doc(hidden)]
    fn owned(&self, error: Error) -> Error;
}

/// How something stands, as a look at it shows.
///
/// Only this crate implements it.
pub trait Standing: Sealed + Clone + Debug + Send + Sync + Unpin + 'static {
    /// Whether there is nothing left to wait for.
    fn is_through(&self) -> bool;

    /// Seconds until the next look makes sense, as the service says.
    fn next_look_after(&self) -> Option<f64>;
}

/// One poll at its moment, asked once: the wait's next poll is its repetition.
pub(crate) fn look<S: Surface, T: serde::de::DeserializeOwned + Send + 'static>(
    client: &Client<S>,
    call: Call<T>,
    due: Instant,
) -> Look<T> {
    let client = client.clone();
    let call = call.with_retries(0);
    Box::pin(async move {
        clock::sleep_until(due).await;
        clock::sleep_until(client.core.pace.poll_slot(clock::now())).await;
        call.send().await
    })
}

/// Watches until it is through, and gives what the last look showed. An event only says when to look:
/// one that came too early, or was forged, neither ends the wait nor holds it up.
pub(crate) async fn until_through<W: Watched>(
    watched: &W,
    options: &WaitOptions,
    deadline: Option<Instant>,
) -> Result<W::Status> {
    let mut updates = Updates::new(watched.clone(), options.clone());
    let mut told = pin!(async {
        match &options.events {
            Some(inbox) => inbox.end_of(watched.id()).await,
            None => pending().await,
        }
    });
    let mut was_told = false;
    loop {
        let first = {
            let mut update = pin!(updates.next());
            // The update before the event: it says how it ended.
            let first = poll_fn(|context| match update.as_mut().poll(context) {
                Poll::Ready(update) => Poll::Ready(Some(update)),
                Poll::Pending if was_told => Poll::Pending,
                Poll::Pending => told.as_mut().poll(context).map(|()| None),
            });
            clock::before(deadline, first).await
        };
        match first {
            Some(Some(Some(Ok(update)))) if update.is_terminal() => return Ok(update.status),
            Some(Some(Some(Ok(_)))) => {}
            Some(Some(Some(Err(error)))) => return Err(error),
            Some(Some(None)) => return Ok(updates.known().clone()),
            Some(None) => {
                was_told = true;
                updates.hurry();
            }
            None => {
                let after = options.deadline.unwrap_or_default();
                return Err(watched.owned(Error::new(Kind::WaitDeadline { after })));
            }
        }
    }
}

/// The patience with which it is read what something that is through came to: as much as that of
/// its polls, since it is paid for, and nothing is had until then.
pub(crate) struct LastLook {
    options: WaitOptions,
    retries: Option<u32>,
    until: Option<Instant>,
    trouble: Trouble,
    behind_until: Instant,
}

impl LastLook {
    /// The last look of a wait: what fails is asked again at the wait's own pace.
    pub(crate) fn of_a_wait(options: WaitOptions, deadline: Option<Instant>) -> Self {
        Self {
            options,
            retries: Some(0),
            until: deadline.map(|deadline| deadline.max(clock::now() + LAST_LOOK)),
            trouble: Trouble::default(),
            behind_until: clock::now() + LAG,
        }
    }

    /// A look on its own, repeated as any call is.
    pub(crate) fn alone(span: Duration) -> Self {
        Self {
            options: WaitOptions::default().patience(Duration::ZERO),
            retries: None,
            until: Some(clock::after(span)),
            trouble: Trouble::default(),
            behind_until: clock::now() + LAG.min(span),
        }
    }

    /// The call, within the time that is left.
    pub(crate) fn within<T>(&self, call: Call<T>, most: Duration) -> Call<T> {
        let left = self.until.map_or(most, |until| {
            until.saturating_duration_since(clock::now()).min(most)
        });
        let call = call.with_deadline(left);
        match self.retries {
            Some(retries) => call.with_retries(retries),
            None => call,
        }
    }

    /// Pauses before it is read again, or gives the error back.
    pub(crate) async fn bear<W: Watched>(&mut self, watched: &W, error: Error) -> Result<()> {
        let now = clock::now();
        let pause = if error.advice() == Some(NextAction::PollStatus) {
            let pause = error.retry_after().unwrap_or_default().max(BEHIND);
            Some(pause).filter(|pause| *pause < self.behind_until.saturating_duration_since(now))
        } else {
            let draw = watched.draw();
            self.trouble.pause(&error, now, &self.options, draw)
        };
        let room = |pause: &Duration| {
            self.until
                .is_none_or(|until| *pause < until.saturating_duration_since(now))
        };
        match pause.filter(room) {
            Some(pause) => clock::sleep(pause).await,
            None => return Err(watched.owned(error)),
        }
        Ok(())
    }
}
