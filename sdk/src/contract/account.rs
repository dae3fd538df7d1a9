//! Plans of workspaces, and scopes of keys.

use crate::open_enum::open_enum;

open_enum! {
    /// The plan of a workspace, which sets its rate limits.
    pub enum Plan {
        /// 120 writes per minute.
        Free = "free",
        /// 300 writes per minute.
        Pro = "pro",
        /// 600 writes per minute.
        Startup = "startup",
        /// 1200 writes per minute.
        Scale = "scale",
        /// As contracted; until then the same as [`Plan::Scale`].
        Enterprise = "enterprise",
    }
}

open_enum! {
    /// A scope of a developer key. The scopes of a key are fixed when it is created.
    pub enum Scope {
        /// Read Actions and their runs.
        ActionsRead = "actions:read",
        /// Start and cancel Action runs.
        ActionsWrite = "actions:write",
        /// Read Formats, their runs and queues.
        FormatsRead = "formats:read",
        /// Start, cancel and redeliver Format runs.
        FormatsWrite = "formats:write",
        /// Read agent runs.
        AgentCompletionsRead = "agent_completions:read",
        /// Start and cancel agent runs.
        AgentCompletionsWrite = "agent_completions:write",
        /// Read the webhook signing secret.
        AccountRead = "account:read",
        /// Rotate the signing secret and send test deliveries.
        AccountWrite = "account:write",
        /// Redeliver a job's webhook event.
        JobsWrite = "jobs:write",
    }
}
