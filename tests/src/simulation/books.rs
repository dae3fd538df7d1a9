//! The checks after each step: the service's books, the journals and the budgets.
//!
//! They read what is new since the last check, so that a simulation of ten times as many steps takes
//! about ten times as long. The check at the end reads everything anew.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use svc_mock_server::InProcess;
use svc_sdk::journal::EntryState;
use svc_sdk::journal::store::{ListFilter, Phase, Store};
use svc_sdk::types::Usd;

use super::mock::send;
use super::oracle::{Defect, Oracle};
use super::run::FINAL_WAIT_MS;
use super::world::{ENVIRONMENT_SLOT, World};

/// The name of the spend limit of each client.
pub(super) const BUDGET: &str = "simulation";

/// What was read of the service's books.
#[derive(Debug, Default)]
pub(super) struct Books {
    /// How many entries of the ledger were read.
    entries: usize,
    /// How many jobs at the beginning of the list have ended.
    ended_jobs: usize,
    /// The positions of the jobs in the list.
    positions: BTreeMap<String, usize>,
    movements: BTreeMap<String, Movements>,
    /// The sums of each workspace's entries: available and reserved.
    workspaces: BTreeMap<String, (i64, i64)>,
    /// The runs that were charged and that no request created.
    other_runs: BTreeSet<String>,
    /// What each client has spent under its limit, apart from runs of queues.
    spent: BTreeMap<usize, i64>,
}

impl World {
    pub(super) async fn check(&self) {
        let mut books = self.books.lock().await;
        self.read(&mut books).await;
        self.check_creations(false).await;
        self.check_budgets(&books).await;
    }

    /// Checks everything at the end, when nothing is under way.
    pub(super) async fn check_at_end(&self) {
        let mut books = self.books.lock().await;
        *books = Books::default();
        self.lock().forget_confirmations();
        let mut ledger = self.read(&mut books).await;
        if !reservations(&ledger).is_empty() {
            // A schedule may have begun a run just now.
            self.sleep(ENVIRONMENT_SLOT, FINAL_WAIT_MS).await;
            ledger = self.read(&mut books).await;
        }
        self.check_creations(true).await;
        self.check_budgets(&books).await;
        for message in reservations(&ledger) {
            self.violate(Oracle::Ledger, message);
        }
        let snapshot = self.mock().snapshot();
        let queues = runs_of_queues(&snapshot["state"]["queues"]);
        let scheduled = scheduled_runs(&snapshot["state"]["runs"]);
        for run in &books.other_runs {
            let queue = queues.get(run);
            if !scheduled.contains(run) && !queue.is_some_and(|queue| self.was_created(queue)) {
                let message = format!("{run} was charged, but no request created it");
                self.violate(Oracle::NothingLost, message);
            }
        }
        let mut charges: BTreeMap<&str, i64> = BTreeMap::new();
        for (id, movements) in &books.movements {
            let id = queues.get(id).unwrap_or(id);
            *charges.entry(id).or_default() += movements.charge();
        }
        for client in 0..self.stores.len() {
            self.check_entries(client).await;
            self.check_holds(client, &charges).await;
        }
    }

    /// Returns what the service made of an order.
    pub(super) async fn made_of(&self, order: &str) -> Option<String> {
        // A job whose request has no answer yet is in the list.
        self.read(&mut *self.books.lock().await).await;
        self.lock().made_of(order)
    }

    /// Returns a job as the service has it.
    pub(super) async fn job(&self, id: &str) -> Value {
        let mut books = self.books.lock().await;
        self.read(&mut books).await;
        let Some(position) = books.positions.get(id) else { return Value::Null };
        let path = format!("jobs?limit=1&cursor={position}");
        let mut page = read_control(&self.mock(), &path).await;
        page["data"][0].take()
    }

    /// Reads what is new, checks it, and returns the last page of the ledger.
    async fn read(&self, books: &mut Books) -> Value {
        let mock = self.mock();
        let mut changed = BTreeMap::new();
        let ledger = loop {
            let path = format!("ledger?cursor={}", books.entries);
            let page = read_control(&mock, &path).await;
            let entries = page["data"].as_array();
            books.entries += entries.map_or(0, Vec::len);
            for entry in entries.into_iter().flatten() {
                for entry in self.entries_by_defect(entry) {
                    let is_run = entry["run_id"].is_string();
                    changed.insert(subject(&entry).to_owned(), is_run);
                    if let Err(message) = books.add(&entry) {
                        self.violate(Oracle::Ledger, message);
                    }
                }
            }
            if page["next_cursor"].is_null() {
                break page;
            }
        };
        for message in books.check_balances(&ledger["workspaces"]) {
            self.violate(Oracle::Ledger, message);
        }
        self.read_jobs(books, &mock).await;
        for (id, is_run) in changed {
            let movements = books.movements.entry(id.clone()).or_default();
            if let Some(message) = movements.check(&id) {
                self.violate(Oracle::Ledger, message);
            }
            let client = self.lock().client_with_limit(&id);
            match client {
                Ok(None) => {}
                Ok(Some(client)) => {
                    let charge = movements.charge();
                    *books.spent.entry(client).or_default() += charge - movements.counted;
                    movements.counted = charge;
                }
                Err(_) if is_run => drop(books.other_runs.insert(id)),
                Err(_) => {
                    let message = format!("{id} was charged, but no request created it");
                    self.violate(Oracle::NothingLost, message);
                }
            }
        }
        ledger
    }

    /// Reads the jobs from the first one on that has not ended.
    async fn read_jobs(&self, books: &mut Books, mock: &InProcess) {
        let mut position = books.ended_jobs;
        loop {
            let page = read_control(mock, &format!("jobs?cursor={position}")).await;
            for job in page["data"].as_array().into_iter().flatten() {
                let id = text(job, "id");
                books.positions.insert(id.to_owned(), position);
                if let Some(order) = job["metadata"]["intent"].as_str() {
                    self.note_creation(id, order, true);
                }
                if let Some(message) = books.movements.get(id).and_then(|it| check_job(job, it)) {
                    self.violate(Oracle::Ledger, message);
                }
                let has_ended = !matches!(text(job, "status"), "queued" | "processing");
                if has_ended && books.ended_jobs == position {
                    books.ended_jobs += 1;
                }
                position += 1;
            }
            if page["next_cursor"].is_null() {
                return;
            }
        }
    }

    /// Returns what a defective service has in place of an entry.
    fn entries_by_defect(&self, entry: &Value) -> Vec<Value> {
        let mut entry = entry.clone();
        match self.defect {
            Some(Defect::RefundLost) if entry["kind"] == "refund" => return Vec::new(),
            Some(Defect::DoubleCapture) if entry["kind"] == "capture" => {
                return vec![entry.clone(), entry];
            }
            Some(Defect::ChargeRoundedUp) if entry["kind"] == "capture" => {
                let amount = micros(&entry, "amount_usd") + 10_000;
                entry["amount_usd"] = json!(Usd::from_micros(amount));
            }
            _ => {}
        }
        vec![entry]
    }

    /// Checks that a journal has what was created, until it says so.
    async fn check_creations(&self, is_at_end: bool) {
        let unconfirmed = self.lock().unconfirmed();
        for (id, order) in unconfirmed {
            let Some(client) = client_of(&order) else {
                let message = format!("{id} was created for no order");
                self.violate(Oracle::NothingLost, message);
                continue;
            };
            let entry = self.journals[client].find("", &order).await.unwrap();
            let known = entry.as_ref().and_then(|entry| entry.resource.as_ref());
            let what = match (&entry, known) {
                (_, Some((_, known))) if *known == id => {
                    self.lock().unconfirmed.remove(&id);
                    continue;
                }
                (_, Some((_, known))) => format!("is journaled as {known}"),
                (None, _) => "is in no journal".to_owned(),
                (Some(entry), _) => match &entry.state {
                    EntryState::Released(reason) => format!("is journaled as {reason:?}"),
                    _ if is_at_end => "was never resolved".to_owned(),
                    _ => continue,
                },
            };
            let message = format!("{id} was created for {order}, which {what}");
            self.violate(Oracle::NothingLost, message);
        }
    }

    /// Checks the sums of the spend limits.
    async fn check_budgets(&self, books: &Books) {
        let Some(limit) = self.spend_limit() else { return };
        for (client, store) in self.stores.iter().enumerate() {
            let totals = store.budget("", BUDGET).await.unwrap();
            let hold = totals.hold;
            let sum = [hold.reserved, hold.captured, hold.undecided].map(Usd::as_micros);
            let sum: i64 = sum.iter().sum();
            let spent = books.spent.get(&client).copied().unwrap_or_default();
            if sum > limit.as_micros() || spent > sum || totals.is_stopped {
                let message =
                    format!("client {client} has spent {spent} micros of {limit}: {totals:?}");
                self.violate(Oracle::Budget, message);
            }
        }
    }

    /// Checks that nothing is left undecided.
    async fn check_entries(&self, client: usize) {
        let mut entries = self.journals[client].unacknowledged_entries();
        while let Some(entry) = entries.next().await {
            let entry = entry.unwrap();
            if matches!(entry.state, EntryState::InProgress | EntryState::Undecided(_)) {
                let order = entry.submission_id.unwrap_or_default();
                let message = format!("{order} was never resolved: {:?}", entry.state);
                self.violate(Oracle::NothingLost, message);
            }
        }
    }

    /// Checks that what was submitted under a limit holds what it cost, and nothing more is reserved.
    async fn check_holds(&self, client: usize, charges: &BTreeMap<&str, i64>) {
        let all = ListFilter { include_closed: true, limit: usize::MAX, ..ListFilter::default() };
        for intent in self.stores[client].list(&all).await.unwrap().intents {
            let order = intent.submission_id.unwrap_or_default();
            let made = self.lock().made_of(&order);
            let is_job = made.as_deref().is_some_and(|id| id.starts_with("job_"));
            let charge = made.and_then(|id| charges.get(&*id).copied());
            let charge = charge.unwrap_or_default();
            let hold = intent.hold;
            let captured = hold.captured.as_micros();
            let is_open = hold.reserved != Usd::ZERO || hold.undecided != Usd::ZERO;
            // Of a run whose result could not be read, what was reserved counts.
            let is_wrong = captured < charge || (is_job && captured != charge);
            if intent.budget.is_some() && (is_open || (is_wrong && intent.phase != Phase::Released))
            {
                let message = format!("{order} cost {charge} micros, and has {hold:?}");
                self.violate(Oracle::Budget, message);
            }
        }
    }
}

impl Books {
    fn add(&mut self, entry: &Value) -> Result<(), String> {
        let amount = micros(entry, "amount_usd");
        let movements = self.movements.entry(subject(entry).to_owned()).or_default();
        let workspace = text(entry, "workspace").to_owned();
        let (available, reserved) = self.workspaces.entry(workspace).or_default();
        match text(entry, "kind") {
            "reservation" => {
                movements.reserved.push(amount);
                (*available, *reserved) = (*available - amount, *reserved + amount);
            }
            "capture" => {
                movements.captured.push(amount);
                *reserved -= amount;
            }
            "refund" => {
                movements.refunded.push(amount);
                (*available, *reserved) = (*available + amount, *reserved - amount);
            }
            "top_up" => *available += amount,
            kind => return Err(format!("unknown kind of entry `{kind}`")),
        }
        Ok(())
    }

    /// Returns the balances that the entries do not add up to.
    fn check_balances(&self, balances: &Value) -> Vec<String> {
        let balances = balances.as_object().into_iter().flatten();
        let wrong = balances.filter_map(|(workspace, balance)| {
            let sums = self.workspaces.get(workspace).copied();
            let (available, reserved) = sums.unwrap_or_default();
            let expected = (micros(balance, "opening_usd") + available, reserved);
            let actual = (micros(balance, "available_usd"), micros(balance, "reserved_usd"));
            (actual != expected).then(|| {
                format!("{workspace} has {actual:?}, its entries make {expected:?} micros")
            })
        });
        wrong.collect()
    }
}

/// The movements of one job, run or top-up.
#[derive(Debug, Default)]
struct Movements {
    reserved: Vec<i64>,
    captured: Vec<i64>,
    refunded: Vec<i64>,
    /// How much of its charge is in the sums of spend limits.
    counted: i64,
}

impl Movements {
    /// Returns what it costs, as far as that is known.
    fn charge(&self) -> i64 {
        self.reserved.iter().sum::<i64>() - self.refunded.iter().sum::<i64>()
    }

    /// Returns why they do not add up.
    fn check(&self, id: &str) -> Option<String> {
        let sums = [&self.reserved, &self.captured, &self.refunded];
        let [reserved, captured, refunded] = sums.map(|amounts| amounts.iter().sum::<i64>());
        (captured + refunded > reserved).then(|| {
            format!("{id}: {reserved} reserved, but {captured} captured, {refunded} refunded")
        })
    }
}

/// Returns the client whose order has that name.
pub(super) fn client_of(order: &str) -> Option<usize> {
    order.strip_prefix('c')?.split_once('i')?.0.parse().ok()
}

/// Reads a document of the control API.
async fn read_control(mock: &InProcess, path: &str) -> Value {
    let request = Request::get(format!("{}/{path}", mock.control_url()));
    let reply = send(mock, request.body(Bytes::new()).unwrap()).await.unwrap();
    serde_json::from_slice(reply.body()).unwrap()
}

/// Says which workspaces still have something reserved.
fn reservations(ledger: &Value) -> Vec<String> {
    let balances = ledger["workspaces"].as_object().into_iter().flatten();
    let reserved = balances.filter(|(_, balance)| micros(balance, "reserved_usd") != 0);
    let message = |(workspace, balance): (&String, &Value)| {
        format!("{workspace} still has {} reserved", balance["reserved_usd"])
    };
    reserved.map(message).collect()
}

/// Returns the runs that the schedule of an Action has started.
fn scheduled_runs(runs: &Value) -> BTreeSet<String> {
    let runs = runs.as_array().into_iter().flatten();
    let scheduled = runs.filter(|run| run["order"]["scheduled"] == true);
    scheduled.filter_map(|run| run["id"].as_str().map(str::to_owned)).collect()
}

/// Returns the queue of each run that a queue has started.
fn runs_of_queues(queues: &Value) -> BTreeMap<String, String> {
    let queues = queues.as_array().into_iter().flatten();
    let items = queues.flat_map(|queue| {
        let items = queue["items"].as_array().into_iter().flatten();
        items.filter_map(|item| Some((item["run_id"].as_str()?, text(queue, "id"))))
    });
    items.map(|(run, queue)| (run.to_owned(), queue.to_owned())).collect()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn micros(value: &Value, field: &str) -> i64 {
    text(value, field).parse::<Usd>().map_or(i64::MIN / 8, Usd::as_micros)
}

/// Returns what an entry of the ledger is about.
fn subject(entry: &Value) -> &str {
    let fields = ["job_id", "run_id", "top_up_id"];
    fields.iter().find_map(|field| entry[field].as_str()).unwrap_or_default()
}

/// Returns why the movements of a job do not agree with its status.
fn check_job(job: &Value, movements: &Movements) -> Option<String> {
    let Movements { reserved, captured, refunded, .. } = movements;
    let expected: (&[i64], &[i64]) = match text(job, "status") {
        "completed" => (reserved, &[]),
        "failed" | "canceled" => (&[], reserved),
        _ => (&[], &[]),
    };
    let is_right = reserved.len() == 1 && (captured.as_slice(), refunded.as_slice()) == expected;
    (!is_right).then(|| {
        let (id, status) = (text(job, "id"), text(job, "status"));
        format!(
            "{id} is {status}: reserved {reserved:?}, captured {captured:?}, refunded {refunded:?}"
        )
    })
}
