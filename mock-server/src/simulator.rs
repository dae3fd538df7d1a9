//! The simulated service, as a state machine without I/O.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use crate::engine::snapshot::Snapshot;
use crate::engine::timers::TimerEvent;
use crate::engine::{
    ControlError, Delivery, DeliveryId, DeliveryOutcome, HostRequest, Hosts, PendingReply, Reply,
    Settings, State, Time,
};
use crate::json_object::set_field;
use crate::{api, media};

mod inspection;
#[cfg(test)]
mod tests;

pub(crate) use self::inspection::CallerView;

/// An in-memory simulation of the service.
///
/// It takes requests and the current time, and returns responses and webhook deliveries. Every
/// method with the parameter `now` first handles everything that is due by then. Time never goes
/// back: a time before the latest one is treated as the latest one.
#[derive(Debug)]
pub(crate) struct Simulator {
    settings: Settings,
    pub(crate) state: State,
    /// The number of times that the state was replaced. Outcomes of webhook attempts from an
    /// earlier state are ignored.
    generation: u64,
}

impl Simulator {
    pub(crate) fn new(settings: Settings) -> Self {
        let state = State::initial(&settings);
        Self { settings, state, generation: 0 }
    }

    /// Handles a request to any host except the control API.
    pub(crate) fn handle(&mut self, now: Time, call: &HostRequest) -> Reply {
        self.advance(now);
        api::handle(&mut self.state, &self.settings.hosts, call)
    }

    /// Returns the specification of the file that a request is for, unless it is rendered already.
    pub(crate) fn file_to_render(&self, call: &HostRequest) -> Option<media::Spec> {
        let file = api::requested_file(&self.state, &self.settings.hosts, call)?;
        (!media::is_rendered(&file)).then_some(file)
    }

    /// Handles everything that is due up to `now`, in order.
    pub(crate) fn advance(&mut self, now: Time) {
        advance(&mut self.state, now);
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        let next = [self.state.timers.next(), self.state.top_ups.next_expiry()];
        next.into_iter().flatten().min()
    }

    /// Returns the time of the next event that may lead to a webhook.
    #[cfg(feature = "webhook-sender")]
    pub(crate) fn next_webhook_due(&self) -> Option<Time> {
        let mut timers = self.state.timers.all();
        let next = timers.find(|(_, event)| !matches!(event, TimerEvent::ActionScheduled(_)));
        next.map(|(at, _)| *at)
    }

    pub(crate) fn now(&self) -> Time {
        self.state.now
    }

    /// Returns the reply to a pending submit. It is pending again while the job runs and the wait is
    /// not over. Its delay is zero: that of the original reply applies once.
    pub(crate) fn resume(&mut self, now: Time, pending: &PendingReply) -> Reply {
        self.advance(now);
        api::resume(&mut self.state, &self.settings.hosts, pending)
    }

    /// Returns what [`resume`](Self::resume) will return at `pending.until` if nothing intervenes.
    #[cfg(any(test, feature = "wiremock"))]
    pub(crate) fn predict(&self, pending: &PendingReply) -> Reply {
        api::predict(&self.state, &self.settings.hosts, pending)
    }

    /// Resets the service to its initial state, including keys, faults and secrets. The clock
    /// continues, so nothing that was due before is caught up.
    pub(crate) fn reset(&mut self) {
        let epoch = self.state.now;
        self.replace_state(State::initial(&Settings { epoch, ..self.settings.clone() }));
    }

    /// Returns the complete state as of `now`, including the clock and the random number generator.
    /// The base URLs of the hosts are not part of it.
    pub(crate) fn snapshot(&self, now: Time) -> Value {
        if now <= self.state.now && self.next_due().is_none_or(|due| due > now) {
            return self.copy_to_write().to_value();
        }
        let mut state = self.state.clone();
        advance(&mut state, now);
        Snapshot::of(&state).to_value()
    }

    /// Returns a copy of the state to be written, which shares the parts that grow.
    pub(crate) fn copy_to_write(&self) -> Snapshot {
        Snapshot::of(&self.state)
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.settings.hosts
    }

    pub(crate) fn replace_hosts(&mut self, hosts: Hosts) -> Hosts {
        std::mem::replace(&mut self.settings.hosts, hosts)
    }

    /// Continues from a state, and returns the one before.
    pub(crate) fn replace_state(&mut self, state: State) -> State {
        let before = std::mem::replace(&mut self.state, state);
        self.state.set_retention(self.settings.retain);
        self.state.routed_origins = before.routed_origins.clone();
        self.generation = self.generation.wrapping_add(1);
        before
    }

    /// Handles everything that is due up to `now`, but stops at the time of the next webhook
    /// attempts. Returns the time that was reached.
    ///
    /// [`take_deliveries`](Self::take_deliveries) is called before, for the attempts that are already
    /// due.
    pub(crate) fn advance_to_next_delivery(&mut self, now: Time) -> Time {
        let mut until = now;
        while let Some((at, event)) = self.state.run_next_due(until) {
            if matches!(event, TimerEvent::WebhookAttempt(_)) {
                until = at;
            }
            api::announce_ended(&mut self.state);
        }
        self.advance(until);
        self.state.now
    }

    /// Returns up to `limit` due webhook attempts whose workspace and URL match, stamped with the
    /// service time or a wall-clock time. Each is in flight until
    /// [`record_outcome`](Self::record_outcome) is called.
    pub(crate) fn take_deliveries(
        &mut self,
        limit: usize,
        wall_time: Option<Time>,
        matches: impl FnMut(&str, &str) -> bool,
    ) -> Vec<Delivery> {
        let (generation, hosts) = (self.generation, &self.settings.hosts);
        self.state.take_deliveries(generation, hosts, limit, wall_time, matches)
    }

    /// Returns a value that changes whenever further webhook attempts become due.
    pub(crate) fn delivery_version(&self) -> (u64, u64) {
        (self.generation, self.state.webhook_queue.due_count())
    }

    /// Records the outcome of a webhook attempt. It is ignored if the attempt is not in flight, or
    /// was started before a reset or restore.
    pub(crate) fn record_outcome(&mut self, now: Time, id: DeliveryId, outcome: &DeliveryOutcome) {
        self.advance(now);
        if id.generation == self.generation {
            self.state.record_outcome(id.number, outcome, &self.settings.hosts);
        }
    }

    /// Returns `true` if a webhook attempt is due or in flight.
    pub(crate) fn is_delivering(&self) -> bool {
        self.state.webhook_queue.is_busy()
    }

    pub(crate) fn settle_top_up(
        &mut self,
        id: &str,
        status: TopUpStatus,
    ) -> Result<Value, ControlError> {
        let top_up = self.state.settle_top_up(id, status)?;
        Ok(top_up.view(&self.settings.hosts))
    }

    /// Ends a job immediately and returns it. Setting the status that it already has changes nothing.
    pub(crate) fn end_job(
        &mut self,
        id: &str,
        status: JobStatus,
        code: Option<ErrorCode>,
    ) -> Result<Value, ControlError> {
        self.state.force_end_job(id, status, code)?;
        api::announce_ended(&mut self.state);
        self.job(id).ok_or_else(|| ControlError::NotFound(format!("job {id:?} not found")))
    }

    pub(crate) fn requests(&self, since: u64) -> Vec<Value> {
        self.state.request_log.since(since)
    }

    /// Returns all jobs with their workspaces, oldest first. The generation jobs that runs with
    /// `incomplete_assembly` left unfinished are included, with their `run_id`.
    pub(crate) fn jobs(&self) -> Vec<Value> {
        let jobs = api::control_jobs(&self.state, &self.settings.hosts);
        jobs.map(|job| json!(job)).collect()
    }
}

/// Handles everything that is due up to `now`, each at its own time, and queues the webhooks of
/// jobs and runs that ended.
fn advance(state: &mut State, now: Time) {
    while state.run_next_due(now).is_some() {
        api::announce_ended(state);
    }
    state.set_now(now);
}

pub(crate) fn with_workspace(mut view: Value, workspace: &str) -> Value {
    set_field(&mut view, "workspace", json!(workspace));
    view
}
