//! Runs of Actions, Formats and Agent Completions, and bulk queues.

mod queues;
mod schemas;
mod shapes;
mod snapshots;

use super::*;

/// Paths of seeded Formats: one without media output, by id and by slug, and another one.
pub(super) const RUNS: &str = "/v1/formats/fmt_demo/runs";
pub(super) const RUNS_BY_SLUG: &str = "/v1/formats/demo/teaser/runs";
const MEDIA_RUNS: &str = "/v1/formats/fmt_media/runs";
pub(super) const BULK: &str = "/v1/formats/fmt_demo/bulk-runs";
const COMPLETIONS: &str = "/v1/agent/completions";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Action,
    Format,
    Agent,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Action, Self::Format, Self::Agent];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Format => "format",
            Self::Agent => "agent",
        }
    }

    /// Returns the path to start a run.
    pub(super) fn start(self) -> &'static str {
        match self {
            Self::Action => "/v1/actions/act_daily/runs",
            Self::Format => RUNS,
            Self::Agent => COMPLETIONS,
        }
    }

    /// Returns the path to list runs.
    fn list(self) -> &'static str {
        match self {
            Self::Agent => "/v1/agent-runs",
            other => other.start(),
        }
    }

    /// Returns the path of a run.
    pub(super) fn run(self, id: &str) -> String {
        format!("/v1/{}-runs/{id}", self.name())
    }

    /// Returns a body with an instruction.
    pub(super) fn body(self, prompt: &str) -> Value {
        match self {
            Self::Agent => json!({"instruction": prompt, "generation_spend_cap_usd": 5}),
            _ => json!({"instruction": prompt}),
        }
    }
}

/// Returns the body of a Format run with an instruction.
pub(super) fn instruction(prompt: &str) -> Value {
    json!({"instruction": prompt})
}

/// Starts a run and returns its id.
pub(super) async fn start(client: &Client, path: &str, body: Value) -> String {
    text(&client.post_data(path, body, 202).await["run_id"])
}

/// Starts a run of `fmt_demo` and returns its id.
pub(super) async fn start_demo(mock: &Mock, body: Value) -> String {
    start(&mock.developer(), RUNS, body).await
}

/// Starts a run of a kind with an instruction and returns its id.
async fn start_run(mock: &Mock, kind: Kind, prompt: &str) -> String {
    start(&mock.developer(), kind.start(), kind.body(prompt)).await
}

/// Returns a run's receipt.
pub(super) async fn receipt(mock: &Mock, kind: Kind, id: &str) -> Value {
    mock.developer().get_data(&kind.run(id)).await
}

/// Parses the absolute value of a dollar amount with up to six decimal places, in micro-dollars.
#[track_caller]
fn micros(amount: &Value) -> u64 {
    let amount = text(amount);
    let amount = amount.trim_start_matches('-');
    let (format_usd, rest) = amount.split_once('.').unwrap_or((amount, ""));
    assert!(rest.len() <= 6, "decimal places of {amount}");
    format!("{format_usd}{rest:0<6}").parse().unwrap()
}

/// Returns the sum of a run's ledger entries of a kind, in micro-dollars.
async fn ledger_total(client: &Client, kind: &str, run: &str) -> u64 {
    let entries = client.get_items("/v1/usage?limit=100").await;
    let of_run = |entry: &&Value| entry["kind"] == kind && entry["run_id"] == run;
    entries.iter().filter(of_run).map(|entry| micros(&entry["amount_usd"])).sum()
}

/// Asserts that the demo workspace has neither runs nor ledger entries of runs.
pub(super) async fn assert_no_runs(mock: &Mock) {
    for path in [RUNS, MEDIA_RUNS, "/v1/agent-runs", Kind::Action.list()] {
        let runs = mock.developer().get_items(path).await;
        assert!(runs.is_empty(), "{path}: {runs:?}");
    }
    let entries = mock.ledger().await;
    assert!(entries.iter().all(|entry| entry["run_id"].is_null()), "{entries:?}");
}
