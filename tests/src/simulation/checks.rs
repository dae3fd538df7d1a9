//! The checks after each step: the service's books, and what the clients know of them.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use serde_json::{Value, json};
use svc_mock_server::InProcess;
use svc_sdk::types::Usd;

use super::defect::Defect;
use super::journal::Journal;
use super::oracle::{self, Oracle};
use super::world::{Creation, World};

impl World {
    pub(super) fn check(&self, is_final: bool) {
        let mock = self.mock();
        let ledger = self.ledger(&mock);
        let jobs = mock.jobs();
        self.note_jobs(&jobs);
        for message in oracle::check_ledger(&ledger, &jobs) {
            self.violate(Oracle::Ledger, message);
        }
        let created = self.lock().created.clone();
        let journals: Vec<Journal> = self
            .journals
            .iter()
            .map(|journal| {
                journal
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone()
            })
            .collect();
        for message in oracle::check_journals(journals.iter(), &created, is_final) {
            self.violate(Oracle::NothingLost, message);
        }
        for entry in ledger["data"].as_array().into_iter().flatten() {
            let id = oracle::subject(entry);
            if !created.contains_key(id) && !self.was_started_by_service(id, &mock, &created) {
                self.violate(
                    Oracle::NothingLost,
                    format!("{id} was charged, but no request created it"),
                );
            }
        }
        if is_final {
            for (workspace, balance) in ledger["workspaces"].as_object().into_iter().flatten() {
                if balance["reserved_usd"] != "0.0000" {
                    let reserved = &balance["reserved_usd"];
                    self.violate(
                        Oracle::Ledger,
                        format!("{workspace} still has {reserved} reserved"),
                    );
                }
            }
        }
    }

    /// Returns whether the schedule of an Action, or a bulk queue that was created, started the run.
    fn was_started_by_service(
        &self,
        run: &str,
        mock: &InProcess,
        created: &BTreeMap<String, Creation>,
    ) -> bool {
        let is_known = || {
            let state = self.lock();
            state.runs_of_queues.contains_key(run) || state.scheduled_runs.contains(run)
        };
        if !is_known() {
            let snapshot = mock.snapshot();
            let mut state = self.lock();
            let runs = runs_of_queues(&snapshot["state"]["queues"]);
            state.runs_of_queues.extend(runs);
            let runs = scheduled_runs(&snapshot["state"]["runs"]);
            state.scheduled_runs.extend(runs);
        }
        let state = self.lock();
        state.scheduled_runs.contains(run)
            || state
                .runs_of_queues
                .get(run)
                .is_some_and(|queue| created.contains_key(queue))
    }

    fn ledger(&self, mock: &InProcess) -> Value {
        let mut ledger = mock.ledger();
        let Some(entries) = ledger["data"].as_array_mut() else {
            return ledger;
        };
        let position =
            |kind: &str, entries: &[Value]| entries.iter().position(|entry| entry["kind"] == kind);
        match self.defect {
            Some(Defect::RefundLost) => {
                if let Some(index) = position("refund", entries) {
                    entries.remove(index);
                }
            }
            Some(Defect::DoubleCapture) => {
                if let Some(index) = position("capture", entries) {
                    entries.push(entries[index].clone());
                }
            }
            Some(Defect::ChargeRoundedUp) => {
                if let Some(index) = position("capture", entries) {
                    let amount: Usd = entries[index]["amount_usd"]
                        .as_str()
                        .unwrap_or_default()
                        .parse()
                        .unwrap();
                    let amount = Usd::from_micros(amount.micros() + 10_000);
                    entries[index]["amount_usd"] = json!(amount);
                }
            }
            _ => {}
        }
        ledger
    }
}

/// Returns the runs that the schedule of an Action has started.
fn scheduled_runs(runs: &Value) -> Vec<String> {
    let runs = runs.as_array().into_iter().flatten();
    let scheduled = runs.filter(|run| run["order"]["scheduled"] == true);
    scheduled
        .filter_map(|run| run["id"].as_str().map(str::to_owned))
        .collect()
}

/// Returns the queue of each run that a queue has started.
fn runs_of_queues(queues: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut visit = vec![queues];
    while let Some(value) = visit.pop() {
        match value {
            Value::Object(fields) => {
                let items = fields.get("items").and_then(Value::as_array);
                if let (Some(id), Some(items)) = (fields.get("id").and_then(Value::as_str), items) {
                    let runs = items.iter().filter_map(|item| item["run_id"].as_str());
                    found.extend(runs.map(|run| (run.to_owned(), id.to_owned())));
                } else {
                    visit.extend(fields.values());
                }
            }
            Value::Array(items) => visit.extend(items),
            _ => {}
        }
    }
    found
}
