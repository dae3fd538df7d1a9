//! What an application stores, and keeps when its process ends.

use serde_json::Value;
use svc_sdk::contract::Operation;

use super::tools::PaidTool;

/// What is submitted, as the application stores it before the call.
#[derive(Clone, Debug)]
pub(super) struct Intent {
    /// Its identifier, which every request of it carries in a header.
    pub(super) id: String,
    pub(super) operation: Operation,
    /// The tool of the MCP endpoint that is called in place of the operation's own path.
    pub(super) tool: Option<&'static PaidTool>,
    pub(super) segments: Vec<String>,
    /// The body of the request, or the arguments of the tool.
    pub(super) body: Value,
    /// Whether the service promises to recognize the key.
    pub(super) is_key_honoured: bool,
    pub(super) key: String,
    /// How many calls were made for it.
    pub(super) calls: u32,
    pub(super) state: IntentState,
    /// The preview that it created.
    pub(super) preview: Option<String>,
    /// Whether a wait or a webhook said that it has ended.
    pub(super) ended: bool,
}

/// What the application knows of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IntentState {
    /// A call is under way, or ended without an answer.
    Open,
    /// The service accepted it.
    Accepted(String),
    /// Nothing was carried out.
    Rejected,
    /// It may have been carried out, and cannot be sent again.
    Unknown,
}

/// The journal of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    pub(super) intents: Vec<Intent>,
    next: u64,
}

impl Journal {
    pub(super) fn get(&self, id: &str) -> Option<&Intent> {
        self.intents.iter().find(|intent| intent.id == id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Intent> {
        self.intents.iter_mut().find(|intent| intent.id == id)
    }

    /// Returns the identifier of a new intent of a client.
    pub(super) fn next_id(&mut self, client: usize) -> String {
        self.next += 1;
        format!("c{client}i{}", self.next)
    }

    /// Returns the intents that have a resource, with its id.
    pub(super) fn accepted(&self) -> impl Iterator<Item = (&Intent, &str)> {
        self.intents
            .iter()
            .filter_map(|intent| match &intent.state {
                IntentState::Accepted(id) => Some((intent, id.as_str())),
                _ => None,
            })
    }

    /// Notes that the job or run of that id has ended.
    pub(super) fn note_end(&mut self, resource: &str) {
        for intent in &mut self.intents {
            intent.ended |= intent.state == IntentState::Accepted(resource.to_owned());
        }
    }
}

impl Intent {
    pub(super) fn kind(&self) -> ResourceKind {
        match self.tool {
            Some(tool) => tool.kind,
            None => ResourceKind::of(self.operation),
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
}
