//! Submitting orders through the journal, and resolving what is left of them after a crash.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use svc_sdk::contract::Operation;
use svc_sdk::handle::{Handle, JobHandle, QueueHandle, Resource, RunHandle, TopUpHandle};
use svc_sdk::journal::{EntryState, IntentId, JournalError, Recovered, Settled};
use svc_sdk::types::Usd;
use svc_sdk::{
    ActionRun, AgentRun, Call, Client, ClientSurface, Developer, Error, FormatRun, Open, Result,
};
use tokio::task::JoinSet;

use super::oracle::{Defect, Oracle};
use super::orders::{Accepted, Order, ResourceKind};
use super::plan::Step;
use super::rng::Rng;
use super::session::Session;
use super::submit;

/// How long an item of a batch may take, with all that goes wrong.
const BATCH_ITEM_LIMIT_MS: u64 = 24 * 3_600_000;
/// How long a batch waits for an item.
const BATCH_WAIT: std::time::Duration = std::time::Duration::from_secs(600);
/// What a run without a cap may cost under a spend limit.
const RUN_CAP: Usd = Usd::from_micros(2_000_000);

/// A handle of whatever was submitted.
#[derive(Debug)]
pub(super) enum AnyHandle {
    OpenJob(JobHandle<Open>),
    DeveloperJob(JobHandle<Developer>),
    ActionRun(RunHandle<ActionRun>),
    FormatRun(RunHandle<FormatRun>),
    AgentRun(RunHandle<AgentRun>),
    Queue(QueueHandle),
    TopUp(TopUpHandle),
}

/// Evaluates an expression with the handle.
macro_rules! with_handle {
    ($any:expr, $handle:ident => $body:expr) => {
        match $any {
            AnyHandle::OpenJob($handle) => $body,
            AnyHandle::DeveloperJob($handle) => $body,
            AnyHandle::ActionRun($handle) => $body,
            AnyHandle::FormatRun($handle) => $body,
            AnyHandle::AgentRun($handle) => $body,
            AnyHandle::Queue($handle) => $body,
            AnyHandle::TopUp($handle) => $body,
        }
    };
}
pub(super) use with_handle;

impl Session {
    /// Adds an order of a random kind. Returns `None` if the operation is not possible now.
    pub(super) fn new_order(&self, rng: &mut Rng) -> Option<Arc<Order>> {
        let operations = submit::operations(self.world.spend_limit().is_some());
        let operation = *rng.pick(&operations);
        self.new_order_of(operation, &[], rng)
    }

    fn new_order_of(
        &self,
        operation: Operation,
        without: &[&str],
        rng: &mut Rng,
    ) -> Option<Arc<Order>> {
        let mut orders = self.orders();
        let preview = orders.pick_preview(rng);
        let segments = submit::segments(operation, self.workspace(), preview.as_deref())?;
        let name = orders.next_name(self.client);
        let hook = format!("https://hooks.example.com/c{}/{name}", self.client);
        let mut without = without.to_vec();
        if self.world.spend_limit().is_some() {
            without.push(submit::OTHER_PRICE);
        }
        let body = submit::body(operation, &name, &hook, &without, rng);
        Some(orders.add(Order { name, operation, tool: None, segments, body }))
    }

    /// Submits an order, unless it was accepted before. Returns its handle if it is accepted.
    pub(super) async fn submit(&self, order: &Arc<Order>) -> Option<AnyHandle> {
        if let Some(tool) = order.tool {
            self.call_tool(tool, order).await;
            return None;
        }
        let name = self.orders().next_call(&order.name);
        macro_rules! submit {
            ($client:ident, $kind:ident) => {
                self.named_call(&name, self.call_of(&self.$client, order, &name))
                    .await?
                    .map(AnyHandle::$kind)
            };
        }
        let result = match order.kind() {
            ResourceKind::OpenJob => submit!(open, OpenJob),
            ResourceKind::TopUp => submit!(open, TopUp),
            ResourceKind::DeveloperJob => submit!(developer, DeveloperJob),
            ResourceKind::ActionRun => submit!(developer, ActionRun),
            ResourceKind::FormatRun => submit!(developer, FormatRun),
            ResourceKind::AgentRun => submit!(developer, AgentRun),
            ResourceKind::Queue => submit!(developer, Queue),
        };
        match result {
            Ok(handle) => {
                self.accept(&order.name, handle.id()).await;
                if let Some(preview) = handle.preview() {
                    self.orders().add_preview(preview);
                }
                Some(handle)
            }
            Err(error) => {
                self.not_accepted(order, Some(&error)).await;
                None
            }
        }
    }

    fn call_of<R: Resource>(
        &self,
        client: &Client<R::Surface>,
        order: &Order,
        call: &str,
    ) -> Call<Handle<R>> {
        let segments: Vec<_> = order.segments.iter().map(String::as_str).collect();
        let submission_id = match call.rsplit_once('#') {
            Some((name, number)) if self.is_another_id(order) => format!("{name}-{number}"),
            _ => order.name.clone(),
        };
        let mut submit = client
            .submit_json(order.operation, &segments, &order.body)
            .submission_id(submission_id);
        if self.world.spend_limit().is_some() && order.kind() == ResourceKind::ActionRun {
            submit = submit.at_most(RUN_CAP);
        }
        submit
    }

    /// Whether a defective application submits the order again under another id.
    fn is_another_id(&self, order: &Order) -> bool {
        self.world.has(Defect::NewIdOnResubmit) && self.world.was_sent(&order.name)
    }

    /// Notes what was made of an order.
    pub(super) async fn accept(&self, name: &str, id: &str) {
        let other = self.orders().accept(name, id);
        self.trace(|| format!("  = {name} is {id}"));
        if let Some(other) = other {
            let message = format!("{name} is {id}, and was {other} before");
            self.world.violate(Oracle::Once, message);
        }
        // A search finds a job whose request has no answer yet.
        let is_created =
            self.world.was_created(id) || self.world.made_of(name).await.as_deref() == Some(id);
        if !is_created {
            let message = format!("{name} is {id}, which was never created");
            self.world.violate(Oracle::NothingLost, message);
        }
    }

    /// Decides what is done about an order whose submit failed: what was refused is given up. A tool
    /// that refuses its call has no error of the SDK's own.
    pub(super) async fn not_accepted(&self, order: &Order, error: Option<&Error>) {
        match error.and_then(Error::journal) {
            Some(JournalError::Undecided(undecided)) => self.settle(order, &undecided.id).await,
            Some(JournalError::OverBudget { .. }) => self.orders().give_up(&order.name),
            Some(
                error @ (JournalError::AccountChanged { .. }
                | JournalError::SubmissionConflict { .. }),
            ) => {
                let message = format!("{} cannot be submitted again: {error}", order.name);
                self.world.violate(Oracle::NothingLost, message);
            }
            _ => {
                let entry = self.journal.find("", &order.name).await.unwrap();
                let open = entry.filter(|it| !matches!(it.state, EntryState::Released(_)));
                let passes = error.is_some_and(|it| it.is_ambiguous() || it.is_retryable());
                let is_tried_again =
                    (open.is_some() || passes) && self.orders().leave_open(&order.name);
                match open {
                    _ if is_tried_again => {}
                    Some(entry) => self.settle(order, &entry.id).await,
                    None => self.orders().give_up(&order.name),
                }
            }
        }
    }

    /// Settles an order that the journal cannot decide, as a person would who looks at what the
    /// service has.
    pub(super) async fn settle(&self, order: &Order, intent: &IntentId) {
        let is_blind = self.world.has(Defect::UndecidedTakenAsUnsent);
        if !is_blind && self.world.is_under_way(&order.name) {
            return;
        }
        let made = self.world.made_of(&order.name).await;
        let made = made.filter(|_| !is_blind);
        self.trace(|| format!("  = {} is settled: {made:?}", order.name));
        let settled = match &made {
            Some(id) => Settled::Executed {
                kind: order.kind().in_journal(),
                id: id.clone(),
                charge_usd: None,
            },
            None => {
                // Nothing was executed, so that the tool may be called again.
                self.world.update_call(&order.name, |record| record.is_ambiguous = false);
                Settled::NotExecuted
            }
        };
        if self.journal.settle(intent, settled).await.is_ok()
            && let Some(id) = made
        {
            self.accept(&order.name, &id).await;
        }
    }

    /// Settles what submitting it again does not decide, such as without funds.
    pub(super) async fn settle_rest(&self) {
        let open = self.orders().open();
        for order in open {
            let entry = self.journal.find("", &order.name).await.unwrap();
            if let Some(entry) = entry
                && !matches!(entry.state, EntryState::Released(_))
            {
                self.settle(&order, &entry.id).await;
            }
        }
    }

    /// Submits several orders at once.
    pub(super) async fn submit_many(self: &Arc<Self>, count: u64, rng: &mut Rng) {
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            if let Some(order) = self.new_order(rng) {
                let session = Arc::clone(self);
                tasks.spawn(async move { session.submit(&order).await });
            }
        }
        while let Some(result) = tasks.join_next().await {
            result.unwrap();
        }
    }

    /// Submits an order in this process and in another one.
    pub(super) async fn submit_twice(&self, step: &Step, rng: &mut Rng) {
        let Some(order) = self.new_order(rng) else { return };
        let is_stopped = rng.per_mille(200);
        let another = self.start_another(step, is_stopped || rng.per_mille(300));
        self.world.is_stopped_at_begin[self.client].store(is_stopped, Ordering::Relaxed);
        // Many begin in the same moment.
        let pause_ms = if is_stopped { 2_000 } else { *rng.pick(&[0, 0, 300, 2_000]) };
        let later = async {
            if pause_ms > 0 {
                self.world.sleep(self.slot(), pause_ms).await;
            }
            // A submission that another process works on is never free, however often it is tried.
            for _ in 0..2 {
                Box::pin(another.submit(&order)).await;
            }
        };
        tokio::join!(self.submit(&order), later);
        self.world.is_stopped_at_begin[self.client].store(false, Ordering::Relaxed);
    }

    /// Submits several orders as a batch, which waits for them.
    pub(super) async fn run_batch(&self, count: u64, rng: &mut Rng) {
        let mut orders = Vec::new();
        for _ in 0..count {
            let operation = *rng.pick(&[Operation::ImageGenerate, Operation::VideoGenerate]);
            // A batch tries again for as long as the service is busy.
            orders.extend(self.new_order_of(operation, &[submit::ALWAYS_BUSY], rng));
        }
        let calls = orders.iter().map(|order| {
            let name = self.orders().next_call(&order.name);
            let call: Call<JobHandle<Open>> = self.call_of(&self.open, order, &name);
            let limit = std::time::Duration::from_millis(self.call_timeout_ms());
            call.timeout(limit).header(super::transport::CALL_HEADER, &name)
        });
        let batch = self.open.batch(calls).concurrency(rng.between(1, 4) as usize);
        let mut outcomes = batch.wait_timeout(BATCH_WAIT).run();
        while let Some(Some(item)) =
            self.within("batch", BATCH_ITEM_LIMIT_MS, outcomes.next()).await
        {
            match item {
                Err(error) => self.trace(|| format!("  ! batch {}", self.describe(&error))),
                Ok(item) => {
                    let order = &orders[item.index as usize];
                    let error = item.outcome.as_ref().err();
                    match (&item.handle, error) {
                        (Some(handle), error) => {
                            let id = handle.id().as_str();
                            self.accept(&order.name, id).await;
                            if error.is_none_or(|error| error.terminal_status().is_some()) {
                                self.orders().finish(id);
                            }
                        }
                        (None, error @ Some(_)) => self.not_accepted(order, error).await,
                        (None, None) => {}
                    }
                }
            }
        }
    }

    /// Takes over what gone processes have left behind, and submits what is not accepted.
    pub(super) async fn resolve(&self) {
        self.recover(&self.open, AnyHandle::OpenJob).await;
        self.recover(&self.developer, AnyHandle::DeveloperJob).await;
        let open = self.orders().open();
        for order in open {
            Box::pin(self.submit(&order)).await;
        }
    }

    async fn recover<S: ClientSurface>(
        &self,
        client: &Client<S>,
        job: fn(JobHandle<S>) -> AnyHandle,
    ) {
        let mut recovery = client.recover();
        while let Some(recovered) = recovery.next().await {
            let handle = match recovered.unwrap() {
                Recovered::Job(handle) => job(handle),
                Recovered::ActionRun(handle) => AnyHandle::ActionRun(handle),
                Recovered::FormatRun(handle) => AnyHandle::FormatRun(handle),
                Recovered::AgentRun(handle) => AnyHandle::AgentRun(handle),
                Recovered::Queue(handle) => AnyHandle::Queue(handle),
                Recovered::TopUp(handle) => AnyHandle::TopUp(handle),
                // The same submit finds out what can be found out.
                Recovered::Undecided(undecided) => {
                    let name = undecided.submission_id.unwrap_or_default();
                    self.orders().reopen(&name);
                    continue;
                }
                _ => continue,
            };
            let name = with_handle!(&handle, it => it.submission_id()).map(str::to_owned);
            let is_known = self.orders().by_id(handle.id()).is_some();
            self.accept(&name.unwrap_or_default(), handle.id()).await;
            if is_known {
                // The table of an earlier process has it already.
                handle.acknowledge().await.unwrap();
            }
        }
    }

    /// Returns a handle of what was accepted, as the journal has it. What a tool made is in no
    /// journal of the SDK's clients.
    pub(super) async fn handle_of(&self, accepted: &Accepted) -> Option<AnyHandle> {
        match accepted.order.tool {
            None => Box::pin(self.submit(&accepted.order)).await,
            Some(_) => Some(self.handle(accepted.order.kind(), &accepted.id)),
        }
    }

    /// Returns a handle of an id alone.
    pub(super) fn handle(&self, kind: ResourceKind, id: &str) -> AnyHandle {
        let (open, developer) = (&self.open, &self.developer);
        match kind {
            ResourceKind::OpenJob => AnyHandle::OpenJob(open.jobs().handle(id)),
            ResourceKind::TopUp => AnyHandle::TopUp(open.top_ups().handle(id)),
            ResourceKind::DeveloperJob => AnyHandle::DeveloperJob(developer.jobs().handle(id)),
            ResourceKind::ActionRun => AnyHandle::ActionRun(developer.action_runs().handle(id)),
            ResourceKind::FormatRun => AnyHandle::FormatRun(developer.format_runs().handle(id)),
            ResourceKind::AgentRun => AnyHandle::AgentRun(developer.agent_runs().handle(id)),
            ResourceKind::Queue => AnyHandle::Queue(developer.queues().handle(id)),
        }
    }
}

impl AnyHandle {
    pub(super) fn id(&self) -> &str {
        with_handle!(self, handle => handle.id().as_ref())
    }

    /// Returns the preview that the receipt names.
    fn preview(&self) -> Option<String> {
        let Self::DeveloperJob(job) = self else { return None };
        let preview: Value = job.receipt()?.extra.get_as("preview")?;
        preview["id"].as_str().map(str::to_owned)
    }

    pub(super) async fn acknowledge(&self) -> Result<()> {
        with_handle!(self, handle => handle.acknowledge().await)
    }
}
