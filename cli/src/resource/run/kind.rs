//! The kinds of runs: of Actions, of Formats, and Agent Completions.

use svc_sdk::contract::Operation;
use svc_sdk::developer::Client;
use svc_sdk::runs::{ActionRun, AgentRun, FormatRun, Kind, RunHandle};
use svc_sdk::types::{FormatRef, Usd};

use crate::args::KindChoice;
use crate::types::Order;

/// A kind of run, and what the command line has to know of it.
pub(crate) trait RunOf: Kind {
    /// Takes a run up again, from its id alone.
    fn take_up(client: &Client, id: &str) -> RunHandle<Self>;

    /// The words of the command that lists the runs of what was ordered.
    fn listing(order: &Order) -> Vec<String>;

    /// What its generations may cost where the order says nothing.
    async fn own_cap(client: &Client, order: &Order) -> Option<Usd>;
}

impl RunOf for ActionRun {
    fn take_up(client: &Client, id: &str) -> RunHandle<Self> {
        client.action_run(id)
    }

    fn listing(order: &Order) -> Vec<String> {
        let action = order.segments.join("/");
        vec!["action".to_owned(), "runs".to_owned(), action]
    }

    async fn own_cap(_: &Client, _: &Order) -> Option<Usd> {
        None
    }
}

impl RunOf for FormatRun {
    fn take_up(client: &Client, id: &str) -> RunHandle<Self> {
        client.format_run(id)
    }

    fn listing(order: &Order) -> Vec<String> {
        let format = order.segments.join("/");
        vec!["format".to_owned(), "runs".to_owned(), format]
    }

    async fn own_cap(client: &Client, order: &Order) -> Option<Usd> {
        let format = match order.segments.as_slice() {
            [handle, slug] => FormatRef::slug(handle, slug),
            segments => FormatRef::id(segments.concat()),
        };
        // Whoever may run a Format but not read it learns its cap from the receipt.
        let format = client.formats_get(format).send().await.ok()?;
        format.generation_spend_cap()
    }
}

impl RunOf for AgentRun {
    fn take_up(client: &Client, id: &str) -> RunHandle<Self> {
        client.agent_run(id)
    }

    fn listing(_: &Order) -> Vec<String> {
        vec!["agent".to_owned(), "runs".to_owned()]
    }

    async fn own_cap(_: &Client, _: &Order) -> Option<Usd> {
        None
    }
}

/// The kind of run that an operation starts.
pub(crate) fn kind_started_by(operation: &str) -> Option<KindChoice> {
    let starts = |starts: &[Operation]| starts.iter().any(|it| it.name() == operation);
    if starts(ActionRun::STARTS) {
        Some(KindChoice::Action)
    } else if starts(FormatRun::STARTS) {
        Some(KindChoice::Format)
    } else if starts(AgentRun::STARTS) {
        Some(KindChoice::Agent)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_what_started_it() {
        assert_eq!(
            kind_started_by("formats_by_slug_runs_create"),
            Some(KindChoice::Format)
        );
        assert_eq!(
            kind_started_by("agent_completions_create"),
            Some(KindChoice::Agent)
        );
        assert_eq!(
            kind_started_by("actions_runs_create"),
            Some(KindChoice::Action)
        );
        assert_eq!(kind_started_by("formats_bulk_create"), None);
        assert_eq!(kind_started_by("video_generate"), None);
    }
}
