//! The ledger under random operations, with and without a retention period. That it agrees with jobs and
//! runs is tested by the simulations of clients.

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
enum MoneyAction {
    Video(usize),
    Image(usize),
    CancelJob(usize),
    EndJob(usize, usize),
    TopUp { cents: u32, outcome: Option<usize> },
    Run { word: usize, cost_cents: u32, cap_cents: u32 },
    BulkRuns(usize),
    CancelRun(usize),
    Read,
}

fn action() -> impl Strategy<Value = MoneyAction> {
    let word = || 0..WORDS.len();
    let index = || 0..100_usize;
    prop_oneof![
        2 => word().prop_map(MoneyAction::Video),
        1 => word().prop_map(MoneyAction::Image),
        1 => index().prop_map(MoneyAction::CancelJob),
        1 => (index(), 0..3_usize).prop_map(|(index, outcome)| MoneyAction::EndJob(index, outcome)),
        1 => (0..3_000_u32, proptest::option::of(0..3_usize))
            .prop_map(|(cents, outcome)| MoneyAction::TopUp { cents, outcome }),
        2 => (word(), 0..90_u32, 1..60_u32)
            .prop_map(|(word, cost_cents, cap_cents)| MoneyAction::Run { word, cost_cents, cap_cents }),
        1 => word().prop_map(MoneyAction::BulkRuns),
        1 => index().prop_map(MoneyAction::CancelRun),
        1 => Just(MoneyAction::Read),
    ]
}

/// A mock, and the ids of what was created.
struct Session {
    mock: Mock,
    jobs: Vec<String>,
    runs: Vec<String>,
}

impl Session {
    fn new(settings: Settings) -> Self {
        Self { mock: Mock::with(settings), jobs: Vec::new(), runs: Vec::new() }
    }

    fn perform(&mut self, action: &MoneyAction) {
        let pick = |ids: &[String], index: usize| {
            let index = index % ids.len().max(1);
            ids.get(index).cloned().unwrap_or_default()
        };
        let mock = &mut self.mock;
        match *action {
            MoneyAction::Video(word) => {
                let response = mock.open().post(VIDEO, video(WORDS[word]));
                self.jobs.extend(id_in(&response.json(), "/data/job/id"));
            }
            MoneyAction::Image(word) => {
                let response = mock.open().post(IMAGE, image(WORDS[word]));
                self.jobs.extend(id_in(&response.json(), "/data/job/id"));
            }
            MoneyAction::CancelJob(index) => {
                let path = format!("/v1/jobs/{}/cancel", pick(&self.jobs, index));
                mock.developer().post(&path, json!({}));
            }
            MoneyAction::EndJob(index, outcome) => {
                let (id, status) = (pick(&self.jobs, index), JOB_OUTCOMES[outcome].clone());
                drop(mock.simulator.end_job(&id, status, None));
            }
            MoneyAction::TopUp { cents, outcome } => {
                let response = mock.open().post(TOP_UPS, json!({"amount_usd_cents": cents}));
                let id = id_in(&response.json(), "/data/id");
                if let (Some(id), Some(outcome)) = (id, outcome) {
                    let status = TOP_UP_OUTCOMES[outcome].clone();
                    mock.simulator.settle_top_up(&id, status).unwrap();
                }
            }
            MoneyAction::Run { word, cost_cents, cap_cents } => {
                let cost = Usd::from_cents(cost_cents.into()).unwrap();
                let instruction = format!("{}[mock:cost={cost}]", WORDS[word]);
                let cap = f64::from(cap_cents) / 100.0;
                let body = json!({"instruction": instruction, "generation_spend_cap_usd": cap});
                let response = mock.developer().post(DEMO, body);
                self.runs.extend(id_in(&response.json(), "/data/run_id"));
            }
            MoneyAction::BulkRuns(word) => {
                let item = |word: &str| json!({"instruction": format!("{word}[mock:cost=0.1]")});
                let items = [item(WORDS[word]), item("[mock:skip]"), item("[mock:degraded]")];
                let body = json!({"items": items, "concurrency": 1});
                let path = "/v1/formats/fmt_media/bulk-runs";
                drop(mock.developer().post(path, body));
            }
            MoneyAction::CancelRun(index) => {
                let path = format!("/v1/format-runs/{}/cancel", pick(&self.runs, index));
                drop(mock.developer().post(&path, json!({})));
            }
            MoneyAction::Read => {
                let request = mock.request(Host::Open).key("svc_open_demo");
                drop(request.get("/v1/jobs"));
            }
        }
    }
}

/// Returns the id in a receipt; `None` if the request was rejected.
fn id_in(body: &Value, pointer: &str) -> Option<String> {
    Some(body.pointer(pointer)?.as_str()?.to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

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
            for session in [&retaining, &complete] {
                session.mock.simulator.state.check().map_err(TestCaseError::fail)?;
            }
            let [balances, expected] =
                [&retaining, &complete].map(|it| json!(it.mock.simulator.state.ledger.balances(None).collect::<Vec<_>>()));
            prop_assert_eq!(balances, expected);
        }
    }
}
