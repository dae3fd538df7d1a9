//! The simulated service: requests and times go in, responses and webhook deliveries come out.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use crate::api;
use crate::engine::timers::TimerEvent;
use crate::engine::{
    AddedKey, Call, ControlError, Delivery, DeliveryId, DeliveryOutcome, Fault, Hosts, NewKey,
    PendingReply, Reply, RestoreError, Settings, State, Time, jobs, ledger, snapshot,
};

/// The whole service, in memory.
///
/// Every method that takes a moment does first what fell due by then. Moments never go back: one
/// that is earlier than the last counts as the last.
///
/// ```
/// use bytes::Bytes;
/// use svc_mock_server::Simulator;
/// use svc_mock_server::engine::{Call, Host, Settings};
///
/// let settings = Settings::default();
/// let (mut simulator, now) = (Simulator::new(settings.clone()), settings.epoch);
/// let request = http::Request::get("/v1/jobs")
///     .header("x-api-key", "svc_open_demo")
///     .body(Bytes::new())?;
/// let call = Call { host: Host::Open, peer: [127, 0, 0, 1].into(), request };
/// let reply = simulator.handle(now, &call);
/// assert_eq!(reply.response.status(), 200);
/// assert_eq!(reply.response.body().as_ref(), br#"{"data":[],"next_cursor":null}"#);
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    settings: Settings,
    state: State,
    /// How often the state was replaced: attempts of another one are not heard of.
    generation: u64,
}

impl Simulator {
    /// A service as it is at the start.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let state = State::initial(&settings);
        Self {
            settings,
            state,
            generation: 0,
        }
    }

    /// Answers a request of any host but the control API, after doing all that fell due by `now`.
    pub fn handle(&mut self, now: Time, call: &Call) -> Reply {
        self.advance(now);
        api::handle(&mut self.state, &self.settings.hosts, call)
    }

    /// Does all that falls due up to `now`, in order.
    pub fn advance(&mut self, now: Time) {
        advance(&mut self.state, now);
    }

    /// When something falls due next.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.state.timers.next()
    }

    /// The moment that it has come to.
    #[must_use]
    pub fn now(&self) -> Time {
        self.state.now
    }

    /// The answer of a held submit. It is held on (the reply has a hold again) while the job runs
    /// and the wait is not over. The delay is that of the reply that was held, and is not repeated.
    pub fn resume(&mut self, now: Time, pending: &PendingReply) -> Reply {
        self.advance(now);
        api::resume(&mut self.state, &self.settings.hosts, pending)
    }

    /// What [`resume`](Self::resume) will answer at `pending.until` if nothing intervenes.
    #[must_use]
    pub fn predict(&self, pending: &PendingReply) -> Reply {
        api::predict(&self.state, &self.settings.hosts, pending)
    }

    /// Back to the start, the epoch included: added keys and faults gone, secrets as they were.
    pub fn reset(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.state = State::initial(&self.settings);
    }

    /// Where the hosts are reached, once that is known.
    pub fn set_hosts(&mut self, hosts: Hosts) {
        self.settings.hosts = hosts;
    }

    /// The whole state, the clock and the generation of identifiers included, as of `now`. Where
    /// the hosts are reached is no part of it.
    #[must_use]
    pub fn snapshot(&self, now: Time) -> Value {
        let mut state = self.state.clone();
        advance(&mut state, now);
        snapshot::take(&state)
    }

    /// Takes up a state that [`snapshot`](Self::snapshot) gave, and returns its clock's moment.
    ///
    /// # Errors
    ///
    /// The document is no state; nothing was changed.
    pub fn restore(&mut self, document: Value) -> Result<Time, RestoreError> {
        self.state = snapshot::read(document)?;
        self.generation = self.generation.wrapping_add(1);
        Ok(self.state.now)
    }

    /// Does all that falls due up to `now`, but goes no further than the next moment at which
    /// webhooks fall due. What is due already is to be taken before. Gives the moment that it has come to, which is `now` at last.
    ///
    /// ```
    /// use svc_mock_server::Simulator;
    /// use svc_mock_server::engine::{DeliveryOutcome, Settings};
    ///
    /// let settings = Settings::default();
    /// let (mut simulator, now) = (Simulator::new(settings.clone()), settings.epoch);
    /// loop {
    ///     for delivery in simulator.take_deliveries(|_url| true) {
    ///         // Send it, and say how that went.
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
        while let Some((at, due)) = self.state.run_next_due(until) {
            if matches!(due, TimerEvent::WebhookAttempt(_)) {
                until = at;
            }
            api::announce_ended(&mut self.state);
        }
        self.advance(until);
        self.state.now
    }

    /// The webhooks that are to be sent now to a URL that is wanted. Each is under way until
    /// [`delivered`](Self::record_outcome) says how it went.
    pub fn take_deliveries(&mut self, matches: impl FnMut(&str) -> bool) -> Vec<Delivery> {
        self.take_deliveries_up_to(usize::MAX, matches)
    }

    /// The same, but so many at most.
    pub fn take_deliveries_up_to(
        &mut self,
        limit: usize,
        matches: impl FnMut(&str) -> bool,
    ) -> Vec<Delivery> {
        let (generation, hosts) = (self.generation, &self.settings.hosts);
        self.state
            .take_deliveries(generation, hosts, limit, matches)
    }

    /// Another one as soon as webhooks have fallen due that had not before.
    #[cfg(feature = "face")]
    pub(crate) fn delivery_mark(&self) -> (u64, u64) {
        (self.generation, self.state.webhook_queue.due_count())
    }

    /// How an attempt went that was under way. One that is not is not heard of: its state was
    /// replaced, or it has been told of before.
    pub fn record_outcome(&mut self, now: Time, id: DeliveryId, outcome: &DeliveryOutcome) {
        self.advance(now);
        if id.generation == self.generation {
            self.state.record_outcome(id.number, outcome);
        }
    }

    /// Whether a webhook is to be sent now, or is under way.
    #[must_use]
    pub fn is_delivering(&self) -> bool {
        self.state.webhook_queue.is_busy()
    }

    /// Every attempt to deliver a webhook, oldest first; the newest 10,000 are kept.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Value> {
        self.state.delivery_log.all()
    }

    /// Makes the next matching requests fail.
    ///
    /// # Errors
    ///
    /// The rule can never fit anything.
    pub fn add_fault(&mut self, fault: Fault) -> Result<(), ControlError> {
        self.state.fault_rules.add(fault)
    }

    /// Takes all faults away.
    pub fn clear_faults(&mut self) {
        self.state.fault_rules.clear();
    }

    /// The faults in force.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        self.state.fault_rules.all()
    }

    /// Makes a key, and its workspace where that is new.
    ///
    /// # Errors
    ///
    /// A scope or the plan is unknown, or the workspace is on another plan.
    pub fn add_key(&mut self, now: Time, key: NewKey) -> Result<AddedKey, ControlError> {
        self.advance(now);
        self.state.add_key(key)
    }

    /// What the payer does: `paid`, `failed` or `expired`. Gives the top-up as it then is; the same
    /// again changes nothing.
    ///
    /// # Errors
    ///
    /// There is no such top-up, it is settled otherwise, or the status is none of the three.
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

    /// Ends a job now. Gives the job as it then is; the same again changes nothing.
    ///
    /// # Errors
    ///
    /// There is no such job, it has ended otherwise, or the status is not terminal.
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
        let job = job.ok_or_else(|| ControlError::NotFound(format!("there is no job {id:?}")))?;
        Ok(self.view(job))
    }

    /// The requests after that sequence number, oldest first; the newest 10,000 are kept.
    #[must_use]
    pub fn journal(&self, since: u64) -> Vec<Value> {
        self.state.journal.since(since)
    }

    /// Every entry of the ledger with its workspace, oldest first. Opening balances are no entries.
    #[must_use]
    pub fn ledger(&self) -> Vec<Value> {
        let entries = self.state.ledger.entries().into_iter();
        entries
            .map(|(workspace, entry)| with_workspace(entry.view(), workspace))
            .collect()
    }

    /// The balance of every workspace: `opening_usd`, `available_usd`, `reserved_usd`.
    #[must_use]
    pub fn balances(&self) -> Vec<Value> {
        let accounts = self.state.ledger.accounts();
        let view = |(workspace, account): (&str, &ledger::Account)| {
            let view = json!({
                "opening_usd": account.opening,
                "available_usd": account.available,
                "reserved_usd": account.reserved,
            });
            with_workspace(view, workspace)
        };
        accounts.map(view).collect()
    }

    /// Every job with its workspace, oldest first.
    #[must_use]
    pub fn jobs(&self) -> Vec<Value> {
        let jobs = self.state.jobs.all().iter();
        jobs.map(|job| with_workspace(self.view(job), &job.workspace))
            .collect()
    }

    fn view(&self, job: &jobs::Job) -> Value {
        api::job_view(&self.state, job, job.surface, &self.settings.hosts)
    }

    /// The webhook signing secret of a workspace, such as `ws_demo`.
    #[must_use]
    pub fn signing_secret(&self, workspace: &str) -> Option<&str> {
        self.state
            .workspaces
            .get(workspace)
            .map(|workspace| workspace.signing_secret.as_str())
    }
}

/// Does all that falls due up to `now`, in order, each at its own time, and announces what ended.
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

#[cfg(test)]
mod tests;
