//! What an application wants to submit: its own table, which outlives its processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use svc_sdk::contract::Operation;
use svc_sdk::journal;

use super::rng::Rng;
use super::tools::PaidTool;

/// How often an order is submitted before a person decides about it.
const MAX_FAILURES: u32 = 6;

/// What is submitted once.
#[derive(Debug)]
pub(super) struct Order {
    /// Its submission id, which every request of it carries in a header.
    pub(super) name: String,
    pub(super) operation: Operation,
    /// The tool of the MCP endpoint that is called in place of the operation's own path.
    pub(super) tool: Option<&'static PaidTool>,
    pub(super) segments: Vec<String>,
    /// The body of the request, or the arguments of the tool.
    pub(super) body: Value,
}

impl Order {
    pub(super) fn kind(&self) -> ResourceKind {
        match self.tool {
            Some(tool) => tool.kind,
            None => ResourceKind::of(self.operation),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) order: Arc<Order>,
    pub(super) id: String,
}

#[derive(Debug, Default)]
pub(super) struct Orders {
    orders: u64,
    calls: u64,
    all: BTreeMap<String, Arc<Order>>,
    /// The names of those that are neither accepted nor given up.
    open: BTreeSet<String>,
    /// How often each was left open.
    failures: BTreeMap<String, u32>,
    accepted: BTreeMap<String, Accepted>,
    /// The names of what was accepted, by the ids.
    names: BTreeMap<String, String>,
    /// The ids of what has not ended, and of what has, as far as is known.
    running: Vec<String>,
    ended: Vec<String>,
    /// The names of what is not waited for to its end.
    unfinished: BTreeSet<String>,
    previews: Vec<String>,
}

impl Orders {
    /// Returns the name of a new order of a client.
    pub(super) fn next_name(&mut self, client: usize) -> String {
        self.orders += 1;
        format!("c{client}i{}", self.orders)
    }

    /// Names a call for an order, which is open again: what an earlier call learned says nothing of it.
    pub(super) fn next_call(&mut self, order: &str) -> String {
        self.calls += 1;
        self.reopen(order);
        format!("{order}#{}", self.calls)
    }

    /// Notes that an order is to be submitted, unless it was accepted.
    pub(super) fn reopen(&mut self, name: &str) {
        if self.all.contains_key(name) && !self.accepted.contains_key(name) {
            self.open.insert(name.to_owned());
        }
    }

    pub(super) fn add(&mut self, order: Order) -> Arc<Order> {
        let order = Arc::new(order);
        self.all.insert(order.name.clone(), Arc::clone(&order));
        self.open.insert(order.name.clone());
        order
    }

    pub(super) fn open(&self) -> Vec<Arc<Order>> {
        let names = self.open.iter();
        names.filter_map(|name| self.all.get(name).cloned()).collect()
    }

    /// Notes that it is not known what became of an order, or that it was refused for a reason that
    /// passes. Returns whether it is submitted again.
    pub(super) fn leave_open(&mut self, name: &str) -> bool {
        self.reopen(name);
        let failures = self.failures.entry(name.to_owned()).or_default();
        *failures += 1;
        *failures < MAX_FAILURES
    }

    /// Notes that an order is not submitted any more.
    pub(super) fn give_up(&mut self, name: &str) {
        self.open.remove(name);
    }

    /// Notes what was made of an order. Returns the id of something else that was made of it.
    pub(super) fn accept(&mut self, name: &str, id: &str) -> Option<String> {
        if let Some(known) = self.accepted.get(name) {
            return (known.id != id).then(|| known.id.clone());
        }
        self.open.remove(name);
        if let Some(order) = self.all.get(name).cloned() {
            let id = id.to_owned();
            self.names.insert(id.clone(), name.to_owned());
            self.unfinished.insert(name.to_owned());
            self.running.push(id.clone());
            self.accepted.insert(name.to_owned(), Accepted { order, id });
        }
        None
    }

    pub(super) fn add_preview(&mut self, id: String) {
        self.previews.push(id);
    }

    pub(super) fn pick_preview(&self, rng: &mut Rng) -> Option<String> {
        (!self.previews.is_empty()).then(|| rng.pick(&self.previews).clone())
    }

    /// Returns something that was accepted, and has ended if `is_ended`.
    pub(super) fn pick(&self, rng: &mut Rng, is_ended: bool) -> Option<Accepted> {
        let ids = if is_ended { &self.ended } else { &self.running };
        let id = (!ids.is_empty()).then(|| rng.pick(ids))?;
        self.by_id(id)
    }

    pub(super) fn by_id(&self, id: &str) -> Option<Accepted> {
        self.accepted.get(self.names.get(id)?).cloned()
    }

    /// Returns what was not waited for to its end.
    pub(super) fn unfinished(&self) -> Vec<Accepted> {
        let names = self.unfinished.iter();
        names.filter_map(|name| self.accepted.get(name).cloned()).collect()
    }

    /// Notes that the resource of that id has ended.
    pub(super) fn note_end(&mut self, id: &str) {
        if let Some(index) = self.running.iter().position(|running| running == id) {
            self.ended.push(self.running.swap_remove(index));
        }
    }

    /// Notes that the end of the resource was waited for.
    pub(super) fn finish(&mut self, id: &str) {
        self.note_end(id);
        if let Some(name) = self.names.get(id) {
            self.unfinished.remove(name);
        }
    }
}

/// What a submit creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    OpenJob,
    DeveloperJob,
    ActionRun,
    FormatRun,
    AgentRun,
    Queue,
    TopUp,
}

impl ResourceKind {
    pub(super) fn of(operation: Operation) -> Self {
        use Operation as Op;

        match operation {
            Op::ImageGenerate | Op::VideoGenerate => Self::OpenJob,
            Op::TopUpsCreate => Self::TopUp,
            Op::ActionsRunsCreate => Self::ActionRun,
            Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => Self::FormatRun,
            Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => Self::Queue,
            Op::AgentCompletionsCreate => Self::AgentRun,
            _ => Self::DeveloperJob,
        }
    }

    pub(super) fn in_journal(self) -> journal::ResourceKind {
        match self {
            Self::OpenJob | Self::DeveloperJob => journal::ResourceKind::Job,
            Self::ActionRun => journal::ResourceKind::ActionRun,
            Self::FormatRun => journal::ResourceKind::FormatRun,
            Self::AgentRun => journal::ResourceKind::AgentRun,
            Self::Queue => journal::ResourceKind::Queue,
            Self::TopUp => journal::ResourceKind::TopUp,
        }
    }
}
