//! Runs of Actions, Formats and Agent Completions, alone and in bulk queues.

mod attachments;
mod cancel;
mod continuing;
mod create_errors;
mod events;
mod failures;
mod fields;
mod hostile;
mod idempotency;
mod keys;
mod lifecycle;
mod lists;
mod order;
mod queue_progress;
mod queues;
mod read_errors;
mod schemas;
mod shapes;
mod snapshots;
mod spend;

use serde_json::{Value, json};
use svc_tests::{Caller, Mock};

use super::{text, with};

/// A Format without media, one with, and how they are addressed by handle and slug.
const DEMO: &str = "/v1/formats/fmt_demo";
const DEMO_BY_SLUG: &str = "/v1/formats/demo/teaser";
const MEDIA: &str = "/v1/formats/fmt_media";
const STORYBOARD: &str = "/v1/formats/studio/storyboard";
pub(super) const RUNS: &str = "/v1/formats/fmt_demo/runs";
const BULK: &str = "/v1/formats/fmt_demo/bulk-runs";
const COMPLETIONS: &str = "/v1/agent/completions";

/// What a run is of.
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

    /// Where runs of the kind are started.
    pub(super) fn start(self) -> &'static str {
        match self {
            Self::Action => "/v1/actions/act_daily/runs",
            Self::Format => RUNS,
            Self::Agent => COMPLETIONS,
        }
    }

    /// Where they are listed.
    fn list(self) -> &'static str {
        match self {
            Self::Agent => "/v1/agent-runs",
            other => other.start(),
        }
    }

    /// Where one of them is read.
    pub(super) fn run(self, id: &str) -> String {
        format!("/v1/{}-runs/{id}", self.name())
    }

    /// A body with those words in it.
    pub(super) fn body(self, words: &str) -> Value {
        match self {
            Self::Agent => json!({"instruction": words, "generation_spend_cap_usd": 5}),
            _ => json!({"instruction": words}),
        }
    }
}

/// A Format's run with those words in its instruction.
pub(super) fn run_of(words: &str) -> Value {
    json!({"instruction": words})
}

/// Starts a run, and gives its id.
pub(super) async fn start(caller: &Caller, path: &str, body: Value) -> String {
    text(&caller.post(path, body).await.expect(202).data()["run_id"])
}

/// Starts a run of that kind with those words, and gives its id.
async fn started(mock: &Mock, kind: Kind, words: &str) -> String {
    start(&mock.developer(), kind.start(), kind.body(words)).await
}

/// Starts a run of `fmt_demo` that takes its 10 seconds, and waits until it is over.
async fn ended(mock: &Mock, words: &str) -> String {
    let id = started(mock, Kind::Format, words).await;
    mock.advance(10).await;
    id
}

/// A run's receipt.
pub(super) async fn receipt(mock: &Mock, kind: Kind, id: &str) -> Value {
    mock.developer().get(&kind.run(id)).await.expect(200).data()
}

/// Where a run is.
async fn status(mock: &Mock, kind: Kind, id: &str) -> String {
    text(&receipt(mock, kind, id).await["status"])
}

/// What a receipt says was spent, in micros of a dollar.
#[track_caller]
fn billable(receipt: &Value) -> u64 {
    let amount = &receipt["usage"]["billable_amount_usd_micros"];
    amount
        .as_u64()
        .unwrap_or_else(|| panic!("no whole amount in {receipt}"))
}

/// Micros of a dollar of a decimal string with up to six places.
#[track_caller]
fn micros(amount: &Value) -> u64 {
    let amount = text(amount);
    let amount = amount.trim_start_matches('-');
    let (dollars, rest) = amount.split_once('.').unwrap_or((amount, ""));
    assert!(rest.len() <= 6, "more than six places in {amount}");
    format!("{dollars}{rest:0<6}").parse().unwrap()
}

/// What the ledger of the developer surface has for a run under that kind of entry, in micros.
async fn booked(caller: &Caller, kind: &str, run: &str) -> u64 {
    let entries = caller.get("/v1/usage?limit=100").await.expect(200).items();
    let of_run = |entry: &&Value| entry["kind"] == kind && entry["run_id"] == run;
    entries
        .iter()
        .filter(of_run)
        .map(|entry| micros(&entry["amount_usd"]))
        .sum()
}

/// What the caller's workspace can spend, in micros.
async fn available(caller: &Caller) -> u64 {
    let balance = caller.get("/v1/balance").await.expect(200).data();
    micros(&balance["available_usd"])
}

/// Asserts that no run was stored and nothing was booked in the demonstration's workspace.
async fn nothing_happened(mock: &Mock) {
    for path in [
        RUNS,
        "/v1/formats/fmt_media/runs",
        "/v1/agent-runs",
        Kind::Action.list(),
    ] {
        let runs = mock.developer().get(path).await.expect(200).items();
        assert!(runs.is_empty(), "{path}: {runs:?}");
    }
    let entries = mock.ledger().await;
    assert!(
        entries.iter().all(|entry| entry["run_id"].is_null()),
        "{entries:?}"
    );
}
