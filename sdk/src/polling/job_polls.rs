//! Polls of many jobs by few requests.
//!
//! A job is polled alone while the key's rate limit lets each poll be sent soon. If polls would have to
//! queue, or many are under way, they wait for a page of the list of jobs instead, which answers for all
//! jobs on it. A job that is not on the pages, or whose status there is not known, is polled alone. Waits
//! for the same job share a poll.
//!
//! Each poll of a job is a task, and so is the reading of the pages. It ends with the last wait that it
//! answers, and does not depend on which of them are polled.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use tokio::sync::oneshot;

use super::Polled;
use super::failures::PollFailures;
use crate::call::clock::{self, Instant};
use crate::call::task::{self, Task};
use crate::call::{Call, Core};
use crate::contract::limits::PAGE_LIMIT_RANGE;
use crate::contract::{JobStatus, Operation, RateLimitBucket};
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::handle::JobHandle;
use crate::lock::lock;
use crate::surface::ClientSurface;
use crate::types::{Job, JobId, JobResult, JobStatusPayload, Page};

/// How long a poll of one job may queue for the rate limit.
const MAX_QUEUE_TIME: Duration = Duration::from_millis(500);
/// The polls of single jobs under way at the same time. More of them keep more memory than those that wait
/// for a page.
const MAX_POLLS_AT_ONCE: usize = 128;
/// How long polls are gathered before the pages are read.
const GATHER_TIME: Duration = Duration::from_millis(250);
/// How long lists are preferred after one that answered for many.
const LIST_TIME: Duration = Duration::from_secs(5);
/// The number of polls that a page must answer for, so that the next one is read.
const MIN_ANSWERS: usize = 2;
/// The number of polls that a page must answer for, so that lists are preferred for a while.
const MANY_ANSWERS: usize = 16;
/// How long the pages may fail before each job is polled alone, and how long that lasts.
const LIST_FAILURE_TIMEOUT: Duration = Duration::from_secs(10);
const LIST_RECOVERY_TIME: Duration = Duration::from_secs(60);
/// How long a poll waits for the pages: longer than a window of the rate limit.
const MAX_LIST_WAIT: Duration = Duration::from_secs(75);

type JobPoll = Polled<JobStatusPayload, JobResult>;
type JobPollResult = Result<JobPoll, Arc<Error>>;
type PollFuture = Pin<Box<dyn Future<Output = JobPollResult> + Send>>;

/// The polls of a client's jobs that are due or under way.
#[derive(Default)]
pub(crate) struct JobPolls(Mutex<JobPollsState>);

#[derive(Default)]
struct JobPollsState {
    /// The jobs that are polled alone, each with the number of the poll.
    alone: BTreeMap<JobId, (u64, WeakShared<PollFuture>)>,
    /// The number of polls of single jobs so far, which tells them apart.
    polls: u64,
    /// The jobs that wait for a page.
    listed: BTreeMap<JobId, Vec<Listed>>,
    /// The task that reads the pages, which the waits for them hold.
    reader: Weak<Task<()>>,
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

/// How a poll that is due gets its answer.
enum PollSource<'a> {
    /// By a request of its own, which other waits for the same job share.
    Alone(Shared<PollFuture>),
    /// By a page of the list of jobs.
    ByPage(PageWait<'a>),
}

/// Polls a job that is due, alone or together with others.
pub(crate) async fn poll<S: ClientSurface>(handle: &JobHandle<S>) -> JobPollResult {
    let polls = &handle.core.key.job_polls;
    let poll = match polls.poll_source(handle, clock::now())? {
        PollSource::Alone(poll) => poll,
        PollSource::ByPage(mut wait) => {
            let answer = clock::before(clock::after(MAX_LIST_WAIT), &mut wait.receiver);
            match Box::pin(answer).await {
                Some(Ok(poll)) => return Ok(poll),
                _ => lock(&polls.0).share_poll(handle, None),
            }
        }
    };
    poll.await
}

impl JobPolls {
    fn poll_source<S: ClientSurface>(
        &self,
        handle: &JobHandle<S>,
        now: Instant,
    ) -> Result<PollSource<'_>> {
        let limiter = &handle.core.key.rate_limiter;
        let mut state = lock(&self.0);
        if let Some(poll) = state.poll_under_way(handle.id()) {
            return Ok(PollSource::Alone(poll));
        }
        let slot = match state.prefers_list(now) {
            true => None,
            false => limiter.bucket(RateLimitBucket::Read).reserve_poll_within(now, MAX_QUEUE_TIME),
        };
        let may_list = state.alone_until.is_none_or(|until| now >= until);
        if slot.is_some() || !may_list {
            return Ok(PollSource::Alone(state.share_poll(handle, slot)));
        }
        let reader = match state.reader.upgrade() {
            Some(reader) if !reader.is_finished() => reader,
            _ => {
                let core = Arc::clone(&handle.core);
                let reading = async move { core.key.job_polls.read_pages(&core).await };
                let reader = Arc::new(task::spawn(handle.core.task_group.as_ref(), reading)?);
                state.reader = Arc::downgrade(&reader);
                reader
            }
        };
        let (sender, receiver) = oneshot::channel();
        let readings = state.readings;
        let listed = Listed { sender, readings };
        let id = handle.id().clone();
        state.listed.entry(id.clone()).or_default().push(listed);
        Ok(PollSource::ByPage(PageWait { polls: self, id, receiver, _reader: reader }))
    }

    /// Reads the pages until no poll waits for them.
    async fn read_pages(&self, core: &Arc<Core>) {
        loop {
            clock::sleep(GATHER_TIME).await;
            let reading = self.begin_reading();
            self.read_answers(core).await;
            if self.end_reading(reading) {
                return;
            }
        }
    }

    /// Reads pages of the list of jobs, newest first, as long as they answer polls.
    async fn read_answers(&self, core: &Arc<Core>) {
        let mut failures = PollFailures::default();
        let mut cursor = None;
        loop {
            clock::sleep_until(core.key.rate_limiter.reserve_poll(clock::now())).await;
            let mut call: Call<Page<Job>> = Call::list::<&str>(core, Operation::JobsList, &[]);
            call = call.limit(*PAGE_LIMIT_RANGE.end()).max_retries(0);
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
                            lock(&self.0).alone_until = Some(now + LIST_RECOVERY_TIME);
                            return;
                        }
                    }
                    continue;
                }
            };
            failures.reset();
            let next = page.next_cursor.clone();
            let is_repeated = next == cursor;
            let answers = self.answer(page);
            let is_empty = lock(&self.0).listed.is_empty();
            if answers < MIN_ANSWERS || is_empty || is_repeated || next.is_none() {
                return;
            }
            cursor = next;
        }
    }

    fn begin_reading(&self) -> u64 {
        let mut state = lock(&self.0);
        state.readings += 1;
        state.readings
    }

    /// Lets the polls that were due before the reading, and that no page has answered, be sent alone.
    /// Returns whether no other waits for the next reading, after which there is none.
    fn end_reading(&self, reading: u64) -> bool {
        let mut state = lock(&self.0);
        state.listed.retain(|_, waits| {
            waits.retain(|wait| wait.readings >= reading && !wait.sender.is_closed());
            !waits.is_empty()
        });
        let is_last = state.listed.is_empty();
        if is_last {
            state.reader = Weak::new();
        }
        is_last
    }

    /// Answers the polls of the jobs on a page, and returns how many there were.
    fn answer(&self, page: Page<Job>) -> usize {
        let now = clock::now();
        let mut state = lock(&self.0);
        let mut answers = 0;
        for job in page {
            let Entry::Occupied(waits) = state.listed.entry(job.id.clone()) else { continue };
            let waits = waits.remove();
            answers += waits.len();
            // Without an answer, it is polled alone.
            if let Some(poll) = JobPoll::from_listed(job) {
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
}

impl JobPollsState {
    fn poll_under_way(&self, id: &JobId) -> Option<Shared<PollFuture>> {
        let (_, poll) = self.alone.get(id)?;
        poll.upgrade()
    }

    /// Returns the poll of one job that is under way, or a new one. It is sent at `slot`, or else when
    /// it is due by the client's schedule.
    fn share_poll<S: ClientSurface>(
        &mut self,
        handle: &JobHandle<S>,
        slot: Option<Instant>,
    ) -> Shared<PollFuture> {
        if let Some(poll) = self.poll_under_way(handle.id()) {
            return poll;
        }
        self.polls += 1;
        let limiter = &handle.core.key.rate_limiter;
        let slot = slot.unwrap_or_else(|| limiter.reserve_poll(clock::now()));
        let entry = AloneEntry { handle: handle.clone(), number: self.polls };
        let poll = send_poll(entry, slot).boxed().shared();
        if let Some(weak) = poll.downgrade() {
            let entry = (self.polls, weak);
            self.alone.insert(handle.id().clone(), entry);
        }
        poll
    }

    /// Returns whether a poll waits for a page even if the rate limit allows one of its own.
    fn prefers_list(&self, now: Instant) -> bool {
        self.list_until.is_some_and(|until| now < until)
            || !self.listed.is_empty()
            || self.alone.len() >= MAX_POLLS_AT_ONCE
    }
}

/// The entry of a poll of one job, which is removed when the poll ends.
struct AloneEntry<S: ClientSurface> {
    handle: JobHandle<S>,
    number: u64,
}

impl<S: ClientSurface> Drop for AloneEntry<S> {
    fn drop(&mut self) {
        let mut state = lock(&self.handle.core.key.job_polls.0);
        // A poll that was aborted may end after the next one has begun.
        if let Entry::Occupied(entry) = state.alone.entry(self.handle.id().clone())
            && entry.get().0 == self.number
        {
            entry.remove();
        }
    }
}

/// Polls one job in a task, which is started by whoever awaits it first.
async fn send_poll<S: ClientSurface>(entry: AloneEntry<S>, slot: Instant) -> JobPollResult {
    let core = Arc::clone(&entry.handle.core);
    let polling = async move {
        // Thousands of polls may be due at once: until there is room for a request, one keeps little.
        if clock::now() < slot {
            Box::pin(clock::sleep_until(slot)).await;
        }
        let _turn = entry.handle.core.key.poll_turns.acquire().await;
        let sending =
            async { entry.handle.status().max_retries(0).send(|status, _| status)?.await };
        Box::pin(sending).await
    };
    let status = task::spawn(core.task_group.as_ref(), polling)?.await;
    match status {
        Some(status) => Ok(Polled::new(status?)),
        None => Err(task::ended_with_runtime().into()),
    }
}

/// The wait for a page that answers a poll.
struct PageWait<'a> {
    polls: &'a JobPolls,
    id: JobId,
    receiver: oneshot::Receiver<JobPoll>,
    _reader: Arc<Task<()>>,
}

impl Drop for PageWait<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        let mut state = lock(&self.polls.0);
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
    fn from_listed(job: Job) -> Option<Self> {
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
        Some(Self { status, output: result, is_listed: true })
    }
}

debug_fields! { [] JobPolls as "JobPolls" {  } }
