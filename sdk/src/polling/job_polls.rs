//! Polls of many jobs by few requests.
//!
//! A job is polled alone while the key's rate limit lets each poll be sent soon. If polls would have to
//! queue, they wait for a page of the list of jobs instead, which answers for all jobs on it. One of
//! the waits reads the pages for all; if it is dropped, another goes on. A job that is not on the pages,
//! or whose status there is not known, is polled alone. Waits for the same job share a poll.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::Polled;
use super::failures::PollFailures;
use crate::call::clock::{self, Instant};
use crate::call::rate_limit::RateLimiter;
use crate::call::{Call, Core};
use crate::contract::{JobStatus, Operation};
use crate::error::Result;
use crate::types::{Job, JobId, JobResult, JobStatusPayload, Page};

/// How long a poll of one job may queue for the rate limit.
const MAX_QUEUE_TIME: Duration = Duration::from_millis(500);
/// The polls under way at the same time until a response has reported the rate limit.
const MAX_POLLS_BEFORE_REPORT: usize = 128;
/// How long polls are gathered before the pages are read.
const GATHER_TIME: Duration = Duration::from_millis(250);
/// How long lists are preferred after one that answered for many.
const LIST_TIME: Duration = Duration::from_secs(5);
/// The number of polls that a page must answer for, so that the next one is read.
const MIN_ANSWERS: usize = 2;
/// The number of polls that a page must answer for, so that lists are preferred for a while.
const MANY_ANSWERS: usize = 16;
/// The number of jobs on a page.
const PAGE_SIZE: u64 = 1_000;
/// How long the pages may fail before each job is polled alone, and how long that lasts.
const LIST_FAILURE_TIMEOUT: Duration = Duration::from_secs(10);
const LIST_RECOVERY_TIME: Duration = Duration::from_secs(60);
/// How long a poll waits for the pages: longer than a window of the rate limit. The wait that reads
/// them may be one that is not polled.
const MAX_LIST_WAIT: Duration = Duration::from_secs(75);

type JobPoll = Polled<JobStatusPayload, JobResult>;

/// The polls of a client's jobs that are due or under way.
#[derive(Default)]
pub(crate) struct JobPolls {
    state: Mutex<State>,
    /// Held by the wait that reads the pages.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The jobs that are polled alone, with the waits that share the poll.
    alone: BTreeMap<JobId, Vec<oneshot::Sender<JobPoll>>>,
    /// The jobs that wait for a page.
    listed: BTreeMap<JobId, Vec<Listed>>,
    /// The number of readings of the pages so far.
    readings: u64,
    /// Until when polls wait for a page, whatever the rate limit.
    list_until: Option<Instant>,
    /// Until when each job is polled alone, as the pages could not be read.
    alone_until: Option<Instant>,
}

/// A poll that waits for a page. Dropping its sender lets it be sent alone.
struct Listed {
    sender: oneshot::Sender<JobPoll>,
    /// The number of readings that had begun when it was due.
    readings: u64,
}

/// How a poll that is due is answered.
enum Turn<'a> {
    /// By a request of its own, when it is due by the client's schedule.
    Alone(Alone<'a>, Instant),
    /// By the poll of another wait for the same job.
    ByOther(oneshot::Receiver<JobPoll>),
    /// By a page of the list of jobs.
    ByPage(PageWait<'a>),
}

/// A poll of one job, whose answer other waits share.
struct Alone<'a> {
    polls: &'a JobPolls,
    id: JobId,
}

impl Alone<'_> {
    fn answer(&self, poll: &JobPoll) {
        let mut state = self.polls.state();
        let waits = state.alone.get_mut(&self.id).map(std::mem::take);
        for wait in waits.into_iter().flatten() {
            let _ = wait.send(poll.clone());
        }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.polls.state().alone.remove(&self.id);
    }
}

impl JobPolls {
    /// Polls a job that is due, alone with `request` or together with others.
    pub(crate) async fn poll<F>(
        &self,
        core: &Arc<Core>,
        id: &JobId,
        request: impl Fn() -> F,
    ) -> Result<JobPoll>
    where
        F: Future<Output = Result<JobStatusPayload>>,
    {
        let answer = match self.turn(id, clock::now(), &core.rate_limiter) {
            Turn::Alone(alone, slot) => {
                clock::sleep_until(slot).await;
                let poll = Polled::new(request().await?);
                alone.answer(&poll);
                return Ok(poll);
            }
            Turn::ByOther(receiver) => receiver.await.ok(),
            Turn::ByPage(mut wait) => {
                let deadline = clock::after(MAX_LIST_WAIT);
                let answer = wait.answer(core);
                clock::before(deadline, answer).await.flatten()
            }
        };
        match answer {
            Some(poll) => Ok(poll),
            None => {
                clock::sleep_until(core.rate_limiter.reserve_poll(clock::now())).await;
                request().await.map(Polled::new)
            }
        }
    }

    fn turn(&self, id: &JobId, now: Instant, limiter: &RateLimiter) -> Turn<'_> {
        let mut state = self.state();
        if let Some(waits) = state.alone.get_mut(id) {
            let (sender, receiver) = oneshot::channel();
            waits.push(sender);
            return Turn::ByOther(receiver);
        }
        let slot = match state.prefers_list(now, limiter) {
            true => None,
            false => limiter.reserve_poll_within(now, MAX_QUEUE_TIME),
        };
        let may_list = state.alone_until.is_none_or(|until| now >= until);
        match slot {
            None if may_list => {
                let (sender, receiver) = oneshot::channel();
                let readings = state.readings;
                let listed = Listed { sender, readings };
                state.listed.entry(id.clone()).or_default().push(listed);
                let id = id.clone();
                Turn::ByPage(PageWait {
                    polls: self,
                    id,
                    receiver,
                })
            }
            slot => {
                let slot = slot.unwrap_or_else(|| limiter.reserve_poll(now));
                state.alone.insert(id.clone(), Vec::new());
                let id = id.clone();
                Turn::Alone(Alone { polls: self, id }, slot)
            }
        }
    }

    /// Reads pages of the list of jobs, newest first, as long as they answer polls.
    async fn read_pages(&self, core: &Arc<Core>) {
        clock::sleep(GATHER_TIME).await;
        let reading = self.begin_reading();
        let mut failures = PollFailures::default();
        let mut cursor = None;
        loop {
            clock::sleep_until(core.rate_limiter.reserve_poll(clock::now())).await;
            let mut call: Call<Page<Job>> = Call::list::<&str>(core, Operation::JobsList, &[]);
            call = call.limit(PAGE_SIZE).max_retries(0);
            if let Some(cursor) = &cursor {
                call = call.cursor(cursor);
            }
            let page = match call.await {
                Ok(page) => page,
                Err(error) => {
                    let (now, jitter) = (clock::now(), core.random.fraction());
                    match failures.pause(&error, now, LIST_FAILURE_TIMEOUT, jitter) {
                        Some(pause) => clock::pause(pause).await,
                        None => {
                            self.state().alone_until = Some(now + LIST_RECOVERY_TIME);
                            break;
                        }
                    }
                    continue;
                }
            };
            failures.reset();
            let next = page.next_cursor.clone();
            let is_repeated = next == cursor;
            let answers = self.answer(page);
            let is_empty = self.state().listed.is_empty();
            if answers < MIN_ANSWERS || is_empty || is_repeated || next.is_none() {
                break;
            }
            cursor = next;
        }
        self.end_reading(reading);
    }

    fn begin_reading(&self) -> u64 {
        let mut state = self.state();
        state.readings += 1;
        state.readings
    }

    /// Lets the polls that were due before the reading, and that no page has answered, be sent alone.
    fn end_reading(&self, reading: u64) {
        self.state().listed.retain(|_, waits| {
            waits.retain(|wait| wait.readings >= reading && !wait.sender.is_closed());
            !waits.is_empty()
        });
    }

    /// Answers the polls of the jobs on a page, and returns how many there were.
    fn answer(&self, page: Page<Job>) -> usize {
        let now = clock::now();
        let mut state = self.state();
        let mut answers = 0;
        for job in page {
            let Entry::Occupied(waits) = state.listed.entry(job.id.clone()) else {
                continue;
            };
            let waits = waits.remove();
            answers += waits.len();
            // Without an answer, it is polled alone.
            if let Some(poll) = JobPoll::of_listed(job) {
                for wait in waits {
                    let _ = wait.sender.send(poll.clone());
                }
            }
        }
        if answers >= MANY_ANSWERS {
            state.list_until = Some(now + LIST_TIME);
        }
        answers
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a poll waits for a page even if the rate limit allows one of its own.
    fn prefers_list(&self, now: Instant, limiter: &RateLimiter) -> bool {
        self.list_until.is_some_and(|until| now < until)
            || !self.listed.is_empty()
            || self.alone.len() >= MAX_POLLS_BEFORE_REPORT && !limiter.has_read_window()
    }
}

/// The wait for a page that answers a poll.
struct PageWait<'a> {
    polls: &'a JobPolls,
    id: JobId,
    receiver: oneshot::Receiver<JobPoll>,
}

impl PageWait<'_> {
    /// Waits for an answer, and reads the pages while no other wait does.
    ///
    /// Returns `None` if the pages do not answer.
    async fn answer(&mut self, core: &Arc<Core>) -> Option<JobPoll> {
        let reading = self.polls.reading.lock();
        let _reading = match select(&mut self.receiver, pin!(reading)).await {
            Either::Left((answer, _)) => return answer.ok(),
            Either::Right((reading, _)) => reading,
        };
        // The pages may have been read just before.
        match self.receiver.try_recv() {
            Err(TryRecvError::Empty) => self.polls.read_pages(core).await,
            answer => return answer.ok(),
        }
        self.receiver.try_recv().ok()
    }
}

impl Drop for PageWait<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        let mut state = self.polls.state();
        if let Entry::Occupied(mut waits) = state.listed.entry(self.id.clone()) {
            waits.get_mut().retain(|wait| !wait.sender.is_closed());
            if waits.get().is_empty() {
                waits.remove();
            }
        }
    }
}

impl JobPoll {
    /// Returns what a list says of a job, or `None` if that does not tell whether it has ended.
    fn of_listed(job: Job) -> Option<Self> {
        let is_terminal = match job.status {
            JobStatus::Queued | JobStatus::Processing => false,
            JobStatus::Completed | JobStatus::Failed | JobStatus::Canceled => true,
            _ => return None,
        };
        let status = JobStatusPayload {
            job_id: Some(job.id.clone()),
            status: Some(job.status.clone()),
            terminal: Some(is_terminal),
            ..JobStatusPayload::default()
        };
        let result = job.result.filter(|result| !result.artifacts.is_empty());
        let result = result.filter(|_| job.status == JobStatus::Completed);
        let result = result.map(|output| {
            Box::new(JobResult {
                job_id: Some(job.id),
                status: Some(job.status),
                artifacts: output.artifacts,
                ..JobResult::default()
            })
        });
        Some(Self {
            status,
            output: result,
            is_listed: true,
        })
    }
}

impl fmt::Debug for JobPolls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobPolls").finish_non_exhaustive()
    }
}
