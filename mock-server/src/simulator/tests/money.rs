//! The ledger under random operations, with and without a retention period. That it agrees with jobs and
//! runs is tested by the simulations of clients.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, TopUpStatus};
use svc_sdk::types::Usd;

use super::{DEMO, IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::Settings;

/// The texts of prompts and instructions.
const WORDS: [&str; 4] = ["x", "[mock:fail]", "[mock:stuck]", "[mock:seconds=0]"];
const JOB_OUTCOMES: [JobStatus; 3] = [JobStatus::Completed, JobStatus::Failed, JobStatus::Canceled];
const TOP_UP_OUTCOMES: [TopUpStatus; 3] =
    [TopUpStatus::Paid, TopUpStatus::Failed, TopUpStatus::Expired];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An operation that moves money, or reads: its number in `Session::perform`, and what it is about.
#[derive(Clone, Debug)]
struct Action {
    number: u8,
    word: &'static str,
    index: usize,
    cents: u32,
}

fn action() -> impl Strategy<Value = Action> {
    let parts = (0..11_u8, 0..WORDS.len(), 0..100_usize, 0..3_000_u32);
    parts.prop_map(|(number, word, index, cents)| Action {
        number,
        word: WORDS[word],
        index,
        cents,
    })
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

    fn perform(&mut self, &Action { number, word, index, cents }: &Action) {
        let id_of = |ids: &[String]| ids.get(index % ids.len().max(1)).cloned().unwrap_or_default();
        let mock = &mut self.mock;
        match number {
            0..3 => {
                let (path, body) =
                    if number == 0 { (IMAGE, image(word)) } else { (VIDEO, video(word)) };
                let response = mock.open().post(path, body);
                self.jobs.extend(id_in(&response.json(), "/data/job/id"));
            }
            3 => {
                let path = format!("/v1/jobs/{}/cancel", id_of(&self.jobs));
                mock.developer().post(&path, json!({}));
            }
            4 => {
                let status = JOB_OUTCOMES[index % 3].clone();
                drop(mock.simulator.end_job(&id_of(&self.jobs), status, None));
            }
            5 => {
                let response = mock.open().post(TOP_UPS, json!({"amount_usd_cents": cents}));
                let id = id_in(&response.json(), "/data/id");
                // Of four, one stays pending.
                if let (Some(id), Some(status)) = (id, TOP_UP_OUTCOMES.get(index % 4)) {
                    mock.simulator.settle_top_up(&id, status.clone()).unwrap();
                }
            }
            6..8 => {
                let cost = Usd::from_cents((cents % 90).into()).unwrap();
                let cap = f64::from(1 + cents / 51) / 100.0;
                let instruction = format!("{word}[mock:cost={cost}]");
                let body = json!({"instruction": instruction, "generation_spend_cap_usd": cap});
                let response = mock.developer().post(DEMO, body);
                self.runs.extend(id_in(&response.json(), "/data/run_id"));
            }
            8 => {
                let item = |word: &str| json!({"instruction": format!("{word}[mock:cost=0.1]")});
                let items = [item(word), item("[mock:skip]"), item("[mock:degraded]")];
                let body = json!({"items": items, "concurrency": 1});
                drop(mock.developer().post("/v1/formats/fmt_media/bulk-runs", body));
            }
            9 => {
                let path = format!("/v1/format-runs/{}/cancel", id_of(&self.runs));
                drop(mock.developer().post(&path, json!({})));
            }
            _ => drop(mock.open().get("/v1/jobs")),
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
