//! The ledger's invariants under random operations.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, TopUpStatus};
use svc_sdk::types::Usd;

use super::{DEMO, IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::{Host, Settings};

/// The texts of prompts and instructions.
const WORDS: [&str; 4] = ["x", "[mock:fail]", "[mock:stuck]", "[mock:seconds=0]"];
const JOB_OUTCOMES: [JobStatus; 3] = [JobStatus::Completed, JobStatus::Failed, JobStatus::Canceled];
const TOP_UP_OUTCOMES: [TopUpStatus; 3] =
    [TopUpStatus::Paid, TopUpStatus::Failed, TopUpStatus::Expired];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An operation that moves money, or reads.
#[derive(Clone, Debug)]
enum Action {
    Video(usize),
    Image(usize),
    CancelJob(usize),
    EndJob(usize, usize),
    TopUp {
        cents: u32,
        outcome: Option<usize>,
    },
    Run {
        word: usize,
        cost_cents: u32,
        cap_cents: u32,
    },
    BulkRuns(usize),
    CancelRun(usize),
    Read,
}

fn action() -> impl Strategy<Value = Action> {
    let word = || 0..WORDS.len();
    let index = || 0..100_usize;
    prop_oneof![
        2 => word().prop_map(Action::Video),
        1 => word().prop_map(Action::Image),
        1 => index().prop_map(Action::CancelJob),
        1 => (index(), 0..3_usize).prop_map(|(index, outcome)| Action::EndJob(index, outcome)),
        1 => (0..3_000_u32, proptest::option::of(0..3_usize))
            .prop_map(|(cents, outcome)| Action::TopUp { cents, outcome }),
        2 => (word(), 0..90_u32, 1..60_u32)
            .prop_map(|(word, cost_cents, cap_cents)| Action::Run { word, cost_cents, cap_cents }),
        1 => word().prop_map(Action::BulkRuns),
        1 => index().prop_map(Action::CancelRun),
        1 => Just(Action::Read),
    ]
}

/// A mock, and the ids of what was created.
struct Session {
    mock: Mock,
    jobs: Vec<String>,
    runs: Vec<String>,
    /// The amounts of the top-ups that were paid.
    paid_cents: BTreeMap<String, u32>,
}

impl Session {
    fn new(settings: Settings) -> Self {
        Self {
            mock: Mock::with(settings),
            jobs: Vec::new(),
            runs: Vec::new(),
            paid_cents: BTreeMap::new(),
        }
    }

    fn perform(&mut self, action: &Action) {
        let pick = |ids: &[String], index: usize| {
            let index = index % ids.len().max(1);
            ids.get(index).cloned().unwrap_or_default()
        };
        let mock = &mut self.mock;
        match *action {
            Action::Video(word) => {
                let response = mock.open().post(VIDEO, video(WORDS[word]));
                self.jobs.extend(created(&response.json(), "/data/job/id"));
            }
            Action::Image(word) => {
                let response = mock.open().post(IMAGE, image(WORDS[word]));
                self.jobs.extend(created(&response.json(), "/data/job/id"));
            }
            Action::CancelJob(index) => {
                let path = format!("/v1/jobs/{}/cancel", pick(&self.jobs, index));
                mock.developer().post(&path, json!({}));
            }
            Action::EndJob(index, outcome) => {
                let (id, status) = (pick(&self.jobs, index), JOB_OUTCOMES[outcome].clone());
                drop(mock.simulator.end_job(mock.now, &id, status, None));
            }
            Action::TopUp { cents, outcome } => {
                let response = mock
                    .open()
                    .post(TOP_UPS, json!({"amount_usd_cents": cents}));
                let id = created(&response.json(), "/data/id");
                if let (Some(id), Some(outcome)) = (id, outcome) {
                    let status = TOP_UP_OUTCOMES[outcome].clone();
                    if status == TopUpStatus::Paid {
                        self.paid_cents.insert(id.clone(), cents);
                    }
                    mock.simulator.settle_top_up(mock.now, &id, status).unwrap();
                }
            }
            Action::Run {
                word,
                cost_cents,
                cap_cents,
            } => {
                let cost = Usd::from_cents(cost_cents.into()).unwrap();
                let instruction = format!("{}[mock:cost={cost}]", WORDS[word]);
                let cap = f64::from(cap_cents) / 100.0;
                let body = json!({"instruction": instruction, "generation_spend_cap_usd": cap});
                let response = mock.developer().post(DEMO, body);
                self.runs.extend(created(&response.json(), "/data/run_id"));
            }
            Action::BulkRuns(word) => {
                let item = |word: &str| json!({"instruction": format!("{word}[mock:cost=0.1]")});
                let items = [
                    item(WORDS[word]),
                    item("[mock:skip]"),
                    item("[mock:degraded]"),
                ];
                let body = json!({"items": items, "concurrency": 1});
                let path = "/v1/formats/fmt_media/bulk-runs";
                drop(mock.developer().post(path, body));
            }
            Action::CancelRun(index) => {
                let path = format!("/v1/format-runs/{}/cancel", pick(&self.runs, index));
                drop(mock.developer().post(&path, json!({})));
            }
            Action::Read => {
                let request = mock.request(Host::Open).key("svc_open_demo");
                drop(request.get("/v1/jobs"));
            }
        }
    }

    /// Checks the ledger as the control API shows it against the balances and the receipts.
    fn check(&self) -> Result<(), TestCaseError> {
        self.check_stored()?;
        self.check_top_ups(&self.mock.simulator.ledger())
    }

    /// Checks like [`check`](Self::check), but not that every top-up has an entry.
    fn check_stored(&self) -> Result<(), TestCaseError> {
        self.mock
            .simulator
            .state
            .check()
            .map_err(TestCaseError::fail)?;
        let entries = self.mock.simulator.ledger();
        for balance in self.mock.simulator.balances() {
            let mut available = micros(&balance["opening_usd"]);
            let mut reserved = 0;
            let own = entries
                .iter()
                .filter(|it| it["workspace"] == balance["workspace"]);
            for entry in own {
                let amount = micros(&entry["amount_usd"]);
                let (to_available, to_reserved) = match entry["kind"].as_str() {
                    Some("reservation") => (-amount, amount),
                    Some("capture") => (0, -amount),
                    Some("refund") => (amount, -amount),
                    Some("top_up" | "carried_forward") => (amount, 0),
                    _ => return Err(TestCaseError::fail(entry.to_string())),
                };
                available += to_available;
                reserved += to_reserved;
                let may_be_negative = entry["kind"] == "carried_forward";
                prop_assert!(amount >= 0 || may_be_negative, "{}", entry);
                prop_assert!(available >= 0 && reserved >= 0, "{}", entry);
            }
            prop_assert_eq!(micros(&balance["available_usd"]), available);
            prop_assert_eq!(micros(&balance["reserved_usd"]), reserved);
        }
        self.check_jobs(&entries)?;
        self.check_runs(&entries)
    }

    /// Each job is paid for once: its price is reserved, and captured or refunded when it has ended.
    fn check_jobs(&self, entries: &[Value]) -> Result<(), TestCaseError> {
        for job in self.mock.simulator.jobs() {
            let price = micros(&job["price_usd"]);
            let own = entries.iter().filter(|it| it["job_id"] == job["id"]);
            let booked: Vec<_> = own
                .map(|entry| {
                    (
                        entry["kind"].as_str().unwrap_or_default(),
                        micros(&entry["amount_usd"]),
                    )
                })
                .collect();
            let mut expected = vec![("reservation", price)];
            match job["status"].as_str() {
                Some("completed") => expected.push(("capture", price)),
                Some("failed" | "canceled") => expected.push(("refund", price)),
                _ => {}
            }
            prop_assert_eq!(booked, expected, "{}", job);
        }
        Ok(())
    }

    /// The amount on the receipt of a run is what it has reserved and not got back.
    fn check_runs(&self, entries: &[Value]) -> Result<(), TestCaseError> {
        for run in self.mock.simulator.state.runs.all() {
            let own = || entries.iter().filter(|it| it["run_id"] == run.id.as_str());
            let total = |kind: &str| -> i64 {
                let booked = own().filter(|it| it["kind"] == kind);
                booked.map(|entry| micros(&entry["amount_usd"])).sum()
            };
            let (reserved, refunded) = (total("reservation"), total("refund"));
            let billable = run.spend.billable().as_micros();
            prop_assert_eq!(reserved - refunded, billable, "{}", run.id);
            if run.status.is_terminal() {
                prop_assert_eq!(total("capture"), billable, "{}", run.id);
            }
        }
        Ok(())
    }

    /// A top-up is credited once if it was paid, and not at all otherwise.
    fn check_top_ups(&self, entries: &[Value]) -> Result<(), TestCaseError> {
        let credited: BTreeMap<_, _> = entries
            .iter()
            .filter(|entry| entry["kind"] == "top_up")
            .map(|entry| {
                (
                    entry["top_up_id"].as_str().unwrap_or_default(),
                    micros(&entry["amount_usd"]),
                )
            })
            .collect();
        let paid: BTreeMap<_, _> = self
            .paid_cents
            .iter()
            .map(|(id, cents)| (id.as_str(), i64::from(*cents) * 10_000))
            .collect();
        let count = entries
            .iter()
            .filter(|entry| entry["kind"] == "top_up")
            .count();
        prop_assert_eq!(count, paid.len());
        prop_assert_eq!(credited, paid);
        Ok(())
    }

    /// Checks the receipts of runs as clients read them.
    fn check_receipts(&mut self) -> Result<(), TestCaseError> {
        for id in std::mem::take(&mut self.runs) {
            self.mock.advance_millis(2_000);
            let receipt = self
                .mock
                .developer()
                .get(&format!("/v1/format-runs/{id}"))
                .json();
            let entries = self.mock.simulator.ledger();
            let own = entries.iter().filter(|it| it["run_id"] == id.as_str());
            let billable: i64 = own
                .map(|entry| match entry["kind"].as_str() {
                    Some("reservation") => micros(&entry["amount_usd"]),
                    Some("refund") => -micros(&entry["amount_usd"]),
                    _ => 0,
                })
                .sum();
            let shown = &receipt["data"]["usage"]["billable_amount_usd_micros"];
            prop_assert_eq!(shown, &json!(billable), "{}", receipt);
        }
        Ok(())
    }
}

/// Returns the id in a receipt; `None` if the request was rejected.
fn created(body: &Value, pointer: &str) -> Option<String> {
    Some(body.pointer(pointer)?.as_str()?.to_owned())
}

fn micros(amount: &Value) -> i64 {
    let amount: Usd = amount.as_str().unwrap_or("0").parse().unwrap();
    amount.as_micros()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_ledger_matches_balances_and_receipts_after_every_operation(
        seed: u64,
        steps in proptest::collection::vec((0..2_000_u64, action()), 1..120),
    ) {
        let balance = "2.0000".parse()?;
        let mut session = Session::new(Settings { balance, seed, ..Settings::default() });
        for (pause, action) in &steps {
            session.mock.advance_millis(*pause);
            session.perform(action);
            session.check()?;
        }
        session.mock.advance_millis(1_000_000);
        session.check_receipts()?;
        session.check()?;
    }

    #[test]
    fn dropping_old_entries_changes_no_balance(
        seed: u64,
        steps in proptest::collection::vec((0..30_000_u64, action()), 1..120),
    ) {
        let balance = "2.0000".parse()?;
        let everything = Settings { balance, seed, ..Settings::default() };
        let retain = Some(DAY);
        let mut retaining = Session::new(Settings { retain, ..everything.clone() });
        let mut complete = Session::new(everything);
        for (pause, action) in &steps {
            for session in [&mut retaining, &mut complete] {
                // Up to half an hour: jobs take seconds, and are dropped within the test.
                session.mock.advance_millis(*pause * 60);
                session.perform(action);
            }
            retaining.check_stored()?;
            let [balances, expected] = [&retaining, &complete].map(|it| it.mock.simulator.balances());
            prop_assert_eq!(balances, expected);
        }
    }
}
