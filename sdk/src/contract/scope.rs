//! What a developer key may be allowed to do.

use crate::open_enum::open_enum;

open_enum! {
    /// A scope of a developer key. Scopes are fixed when a key is made.
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
        /// Rotate the signing secret, send test deliveries.
        AccountWrite = "account:write",
        /// Have a job's webhook delivered again.
        JobsWrite = "jobs:write",
    }
}
