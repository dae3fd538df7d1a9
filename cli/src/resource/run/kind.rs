//! The kinds of runs: Action runs, Format runs and Agent Completions.

use svc_sdk::contract::Operation;
use svc_sdk::developer::Client;
use svc_sdk::handle::{ActionRun, AgentRun, FormatRun, Resource, RunHandle, RunResource};
use svc_sdk::types::{FormatRef, Usd};

use crate::args::RunKindChoice;
use crate::types::SubmitRequest;

/// A kind of run.
pub(crate) trait RunKind: RunResource {
    /// Returns the handle of a run with that id.
    fn handle(client: &Client, id: &str) -> RunHandle<Self>;

    /// Returns the words of the command that lists the runs.
    fn list_command(request: &SubmitRequest) -> Vec<String>;

    /// Returns the spend cap of a run whose request has none.
    async fn default_cap(client: &Client, request: &SubmitRequest) -> Option<Usd>;
}

impl RunKind for ActionRun {
    fn handle(client: &Client, id: &str) -> RunHandle<Self> {
        client.action_runs().handle(id)
    }

    fn list_command(request: &SubmitRequest) -> Vec<String> {
        let action = request.segments.join("/");
        vec!["action".to_owned(), "runs".to_owned(), action]
    }

    async fn default_cap(_: &Client, _: &SubmitRequest) -> Option<Usd> {
        None
    }
}

impl RunKind for FormatRun {
    fn handle(client: &Client, id: &str) -> RunHandle<Self> {
        client.format_runs().handle(id)
    }

    fn list_command(request: &SubmitRequest) -> Vec<String> {
        let format = request.segments.join("/");
        vec!["format".to_owned(), "runs".to_owned(), format]
    }

    async fn default_cap(client: &Client, request: &SubmitRequest) -> Option<Usd> {
        let format = match request.segments.as_slice() {
            [handle, slug] => FormatRef::slug(handle, slug),
            segments => FormatRef::id(segments.concat()),
        };
        // A key may be allowed to run a Format but not to read it. Then the cap is unknown.
        let format = client.formats().get(format).await.ok()?;
        format.generation_spend_cap()
    }
}

impl RunKind for AgentRun {
    fn handle(client: &Client, id: &str) -> RunHandle<Self> {
        client.agent_runs().handle(id)
    }

    fn list_command(_: &SubmitRequest) -> Vec<String> {
        vec!["agent".to_owned(), "runs".to_owned()]
    }

    async fn default_cap(_: &Client, _: &SubmitRequest) -> Option<Usd> {
        None
    }
}

/// Returns the kind of run that an operation submits.
pub(crate) fn kind_of_operation(operation: &str) -> Option<RunKindChoice> {
    let operation = Operation::ALL.iter().find(|it| it.name() == operation);
    let operation = *operation?;
    if ActionRun::is_submitted_by(operation) {
        Some(RunKindChoice::Action)
    } else if FormatRun::is_submitted_by(operation) {
        Some(RunKindChoice::Format)
    } else if AgentRun::is_submitted_by(operation) {
        Some(RunKindChoice::Agent)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_follows_from_the_operation() {
        assert_eq!(
            kind_of_operation("formats_by_slug_runs_create"),
            Some(RunKindChoice::Format)
        );
        assert_eq!(
            kind_of_operation("agent_completions_create"),
            Some(RunKindChoice::Agent)
        );
        assert_eq!(
            kind_of_operation("actions_runs_create"),
            Some(RunKindChoice::Action)
        );
        assert_eq!(kind_of_operation("formats_bulk_create"), None);
        assert_eq!(kind_of_operation("video_generate"), None);
    }
}
