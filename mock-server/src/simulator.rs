//! The simulated service, as a state machine without I/O.

#[cfg(feature = "frontend")]
use serde::Serialize;
use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use crate::api;
use crate::engine::ledger::ControlEntry;
#[cfg(feature = "frontend")]
use crate::engine::ledger::ControlLedger;
#[cfg(feature = "frontend")]
use crate::engine::page::Page;
use crate::engine::snapshot::{self, Snapshot};
use crate::engine::timers::TimerEvent;
use crate::engine::{
    AddedKey, ControlError, Delivery, DeliveryId, DeliveryOutcome, Fault, HostRequest, Hosts,
    NewKey, PendingReply, Reply, RestoreError, Settings, State, Time, jobs,
};
#[cfg(feature = "frontend")]
use crate::media;

mod workspaces;

#[cfg(feature = "frontend")]
pub(crate) use self::inspection::CallerView;

/// An in-memory simulation of the service.
///
/// It takes requests and the current time, and returns responses and webhook deliveries. Every
/// method with the parameter `now` first handles everything that is due by then. Time never goes
/// back: a time before the latest one is treated as the latest one.
///
/// ```
/// use bytes::Bytes;
/// use svc_mock_server::Simulator;
/// use svc_mock_server::engine::{HostRequest, Host, Settings};
///
/// let settings = Settings::default();
/// let (mut simulator, now) = (Simulator::new(settings.clone()), settings.epoch);
/// let request = http::Request::get("/v1/jobs")
///     .header("x-api-key", "svc_open_demo")
///     .body(Bytes::new())?;
/// let call = HostRequest { host: Host::Open, peer: [127, 0, 0, 1].into(), request };
/// let reply = simulator.handle(now, &call);
/// assert_eq!(reply.response.status(), 200);
/// assert_eq!(reply.response.body().as_ref(), br#"{"data":[],"next_cursor":null}"#);
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    settings: Settings,
    state: State,
    /// The number of times that the state was replaced. Outcomes of webhook attempts from an
    /// earlier state are ignored.
    generation: u64,
}

impl Simulator {
    /// Creates a newly started service.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let state = State::initial(&settings);
        Self { settings, state, generation: 0 }
    }

    /// Handles a request to any host except the control API.
    pub fn handle(&mut self, now: Time, call: &HostRequest) -> Reply {
        self.advance(now);
        api::handle(&mut self.state, &self.settings.hosts, call)
    }

    /// Returns the specification of the file that a request is for, unless it is rendered already.
    #[cfg(feature = "frontend")]
    pub(crate) fn file_to_render(&self, call: &HostRequest) -> Option<media::Spec> {
        let file = api::requested_file(&self.state, &self.settings.hosts, call)?;
        (!media::is_rendered(&file)).then_some(file)
    }

    /// Handles everything that is due up to `now`, in order.
    pub fn advance(&mut self, now: Time) {
        advance(&mut self.state, now);
    }

    /// Returns the time of the next scheduled event.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
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

    /// Returns the current service time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.state.now
    }

    /// Returns the reply to a pending submit.
    ///
    /// The reply is pending again while the job runs and the wait is not over. The delay applies
    /// once, from the original reply, and is not repeated here.
    pub fn resume(&mut self, now: Time, pending: &PendingReply) -> Reply {
        self.advance(now);
        api::resume(&mut self.state, &self.settings.hosts, pending)
    }

    /// Returns what [`resume`](Self::resume) will return at `pending.until` if nothing intervenes.
    #[must_use]
    pub fn predict(&self, pending: &PendingReply) -> Reply {
        api::predict(&self.state, &self.settings.hosts, pending)
    }

    /// Resets the service to its initial state, including its clock, keys, faults and secrets.
    pub fn reset(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.state = State::initial(&self.settings);
    }

    /// Sets the base URLs of the hosts.
    pub fn set_hosts(&mut self, hosts: Hosts) {
        self.settings.hosts = hosts;
    }

    /// Returns the complete state as of `now`, including the clock and the random number generator.
    /// The base URLs of the hosts are not part of it.
    #[must_use]
    pub fn snapshot(&self, now: Time) -> Value {
        if now <= self.state.now && self.next_due().is_none_or(|due| due > now) {
            return Snapshot::of(&self.state).to_value();
        }
        let mut state = self.state.clone();
        advance(&mut state, now);
        Snapshot::of(&state).to_value()
    }

    /// Returns a copy of the state to be written, which shares the parts that grow.
    #[cfg(feature = "frontend")]
    pub(crate) fn copy_to_write(&self) -> Snapshot {
        Snapshot::of(&self.state)
    }

    /// Returns a page of the ledger, or all of it, as the control API shows it.
    #[cfg(feature = "frontend")]
    pub(crate) fn ledger_page(&self, page: Option<Page>) -> impl Serialize {
        let ledger = &self.state.ledger;
        ControlLedger { ledger, page }
    }

    /// Returns a page of the jobs, or all of them, as the control API shows them.
    #[cfg(feature = "frontend")]
    pub(crate) fn jobs_page(&self, page: Option<Page>) -> impl Serialize {
        let (state, hosts) = (&self.state, self.hosts());
        api::ControlJobs { state, hosts, page }
    }

    /// Returns the base URLs of the hosts.
    #[cfg(feature = "frontend")]
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.settings.hosts
    }

    /// Restores a state returned by [`snapshot`](Self::snapshot) and returns its time.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the document is not a valid state.
    pub fn restore(&mut self, document: Value) -> Result<Time, RestoreError> {
        self.replace_state(snapshot::from_value(document)?);
        Ok(self.state.now)
    }

    /// Continues from a state, and returns the one before.
    pub(crate) fn replace_state(&mut self, state: State) -> State {
        let before = std::mem::replace(&mut self.state, state);
        self.state.set_retention(self.settings.retain);
        self.generation = self.generation.wrapping_add(1);
        before
    }

    /// Handles everything that is due up to `now`, but stops at the time of the next webhook
    /// attempts. Returns the time that was reached.
    ///
    /// Call [`take_deliveries`](Self::take_deliveries) before, for the attempts that are already
    /// due.
    ///
    /// ```
    /// use svc_mock_server::Simulator;
    /// use svc_mock_server::engine::{DeliveryOutcome, Settings};
    ///
    /// let settings = Settings::default();
    /// let (mut simulator, now) = (Simulator::new(settings.clone()), settings.epoch);
    /// loop {
    ///     for delivery in simulator.take_deliveries(|_url| true) {
    ///         // Send the request and record its outcome.
    ///         let outcome = DeliveryOutcome::answered(204);
    ///         simulator.record_outcome(simulator.now(), delivery.id, &outcome);
    ///     }
    ///     if simulator.now() == now && simulator.next_due().is_none_or(|due| due > now) {
    ///         break;
    ///     }
    ///     simulator.advance_to_next_delivery(now);
    /// }
    /// ```
    pub fn advance_to_next_delivery(&mut self, now: Time) -> Time {
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

    /// Returns the due webhook attempts to URLs that match.
    ///
    /// Each is in flight until [`record_outcome`](Self::record_outcome) is called.
    pub fn take_deliveries(&mut self, matches: impl FnMut(&str) -> bool) -> Vec<Delivery> {
        self.take_deliveries_up_to(usize::MAX, matches)
    }

    /// Returns up to `limit` due webhook attempts to URLs that match.
    pub fn take_deliveries_up_to(
        &mut self,
        limit: usize,
        matches: impl FnMut(&str) -> bool,
    ) -> Vec<Delivery> {
        let (generation, hosts) = (self.generation, &self.settings.hosts);
        self.state.take_deliveries(generation, hosts, limit, matches)
    }

    /// Returns a value that changes whenever further webhook attempts become due.
    #[cfg(feature = "frontend")]
    pub(crate) fn delivery_version(&self) -> (u64, u64) {
        (self.generation, self.state.webhook_queue.due_count())
    }

    /// Records the outcome of a webhook attempt.
    ///
    /// It is ignored if the attempt is not in flight, or was started before a reset or restore.
    pub fn record_outcome(&mut self, now: Time, id: DeliveryId, outcome: &DeliveryOutcome) {
        self.advance(now);
        if id.generation == self.generation {
            self.state.record_outcome(id.number, outcome, &self.settings.hosts);
        }
    }

    /// Returns `true` if a webhook attempt is due or in flight.
    #[must_use]
    pub fn is_delivering(&self) -> bool {
        self.state.webhook_queue.is_busy()
    }

    /// Returns the newest 10,000 webhook attempts, oldest first.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Value> {
        self.state.delivery_log.all()
    }

    /// Adds a fault rule, which makes the next matching requests fail.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule can never apply.
    pub fn add_fault(&mut self, fault: Fault) -> Result<(), ControlError> {
        self.state.fault_rules.add(fault)
    }

    /// Removes all fault rules.
    pub fn clear_faults(&mut self) {
        self.state.fault_rules.clear();
    }

    /// Returns the active fault rules.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        self.state.fault_rules.all()
    }

    /// Creates a key, and its workspace if that does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace id, a scope or the plan is invalid, or if the workspace
    /// is on another plan.
    pub fn add_key(&mut self, now: Time, key: NewKey) -> Result<AddedKey, ControlError> {
        self.advance(now);
        self.state.add_key(key)
    }

    /// Settles a top-up as `paid`, `failed` or `expired`, and returns it. Setting the status that it
    /// already has changes nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the top-up does not exist or is settled with another status, or if
    /// the status is not terminal.
    pub fn settle_top_up(
        &mut self,
        now: Time,
        id: &str,
        status: TopUpStatus,
    ) -> Result<Value, ControlError> {
        self.advance(now);
        let top_up = self.state.settle_top_up(id, status)?;
        Ok(api::top_up_view(top_up, &self.settings.hosts))
    }

    /// Ends a job immediately and returns it. Setting the status that it already has changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the job does not exist or has ended with another status, if the status
    /// is not terminal, or if there is a code for a status other than `failed`.
    pub fn end_job(
        &mut self,
        now: Time,
        id: &str,
        status: JobStatus,
        code: Option<ErrorCode>,
    ) -> Result<Value, ControlError> {
        self.advance(now);
        self.state.force_end_job(id, status, code)?;
        api::announce_ended(&mut self.state);
        let job = self.state.jobs.by_id(id);
        let job = job.ok_or_else(|| ControlError::NotFound(format!("job {id:?} not found")))?;
        Ok(self.view(job))
    }

    /// Returns the requests after the sequence number, oldest first. The request log stores the newest
    /// 10,000 requests.
    #[must_use]
    pub fn requests(&self, since: u64) -> Vec<Value> {
        self.state.request_log.since(since)
    }

    /// Returns all ledger entries with their workspaces, oldest first. Opening balances are not
    /// entries.
    ///
    /// The first entries are those with the kind `carried_forward`, one for each workspace whose
    /// old entries were dropped. Their amount is what the dropped entries added to the balance of
    /// the workspace, negative if they reduced it.
    #[must_use]
    pub fn ledger(&self) -> Vec<Value> {
        let ledger = &self.state.ledger;
        let entries = ledger.entries_from(0);
        let entries = entries.map(|(_, entry)| ControlEntry::Entry(entry));
        let all = ledger.closing_entries().chain(entries);
        all.map(|entry| json!(entry)).collect()
    }

    /// Returns the balance of every workspace: `opening_usd`, `available_usd`, `reserved_usd`. The
    /// wallet of its organization, if it has one, is in `organization`.
    #[must_use]
    pub fn balances(&self) -> Vec<Value> {
        let balances = self.state.ledger.balances();
        balances.map(|(workspace, balance)| with_workspace(balance, workspace)).collect()
    }

    /// Returns all jobs with their workspaces, oldest first. The generation jobs that runs with
    /// `incomplete_assembly` left unfinished are included, with their `run_id`.
    #[must_use]
    pub fn jobs(&self) -> Vec<Value> {
        let (state, hosts) = (&self.state, &self.settings.hosts);
        let jobs = api::control_jobs(state, hosts);
        jobs.map(|job| json!(job)).collect()
    }

    fn view(&self, job: &jobs::Job) -> Value {
        json!(api::JobView::new(&self.state, job, job.surface, &self.settings.hosts))
    }

    /// Returns the webhook signing secret of a workspace, such as `ws_demo`.
    #[must_use]
    pub fn signing_secret(&self, workspace: &str) -> Option<&str> {
        self.state.workspaces.get(workspace).map(|workspace| workspace.signing_secret.as_str())
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

fn with_workspace(mut view: Value, workspace: &str) -> Value {
    if let Some(fields) = view.as_object_mut() {
        fields.insert("workspace".to_owned(), json!(workspace));
    }
    view
}

mod inspection;
#[cfg(test)]
mod tests;
