//! The ledger's invariants under random operations.

use serde_json::json;
use svc_sdk::contract::{JobStatus, TopUpStatus};

use super::{DEMO, IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::rng::Rng;
use crate::engine::{Host, Settings};

#[test]
fn the_ledger_balances_after_every_operation() {
    for seed in 0..8 {
        let mut rng = Rng::new(seed);
        let balance = "2.0000".parse().unwrap();
        let mut mock = Mock::with(Settings {
            balance,
            seed,
            ..Settings::default()
        });
        let mut jobs: Vec<String> = Vec::new();
        let mut runs: Vec<String> = Vec::new();
        for _ in 0..400 {
            mock.advance_millis(rng.next() % 2_000);
            let word =
                ["x", "[mock:fail]", "[mock:stuck]", "[mock:seconds=0]"][(rng.next() % 4) as usize];
            let some_job = |rng: &mut Rng| {
                let at = rng.next() as usize % jobs.len().max(1);
                jobs.get(at).cloned().unwrap_or_default()
            };
            match rng.next() % 11 {
                0 | 1 => {
                    let response = mock.open().post(VIDEO, video(word));
                    if response.status() == 202 {
                        jobs.push(
                            response.json()["data"]["job"]["id"]
                                .as_str()
                                .unwrap()
                                .to_owned(),
                        );
                    }
                }
                2 => drop(mock.open().post(IMAGE, image(word))),
                3 => {
                    let path = format!("/v1/jobs/{}/cancel", some_job(&mut rng));
                    mock.developer().post(&path, json!({}));
                }
                4 => {
                    let outcome = [JobStatus::Completed, JobStatus::Failed, JobStatus::Canceled];
                    let status = outcome[(rng.next() % 3) as usize].clone();
                    drop(
                        mock.simulator
                            .end_job(mock.now, &some_job(&mut rng), status, None),
                    );
                }
                5 => {
                    let response = mock.open().post(TOP_UPS, json!({"amount_usd_cents": 500}));
                    if response.status() == 201 {
                        let id = response.json()["data"]["id"].as_str().unwrap().to_owned();
                        let outcome =
                            [TopUpStatus::Paid, TopUpStatus::Failed, TopUpStatus::Expired];
                        let status = outcome[(rng.next() % 3) as usize].clone();
                        mock.simulator.settle_top_up(mock.now, &id, status).unwrap();
                    }
                }
                6 | 7 => {
                    let cost = rng.next() % 90;
                    let words = format!("{word}[mock:cost=0.{cost:02}]");
                    let body = json!({"instruction": words, "generation_spend_cap_usd": 0.5});
                    let response = mock.developer().post(DEMO, body);
                    if response.status() == 202 {
                        let id = response.json()["data"]["run_id"].take();
                        runs.push(id.as_str().unwrap().to_owned());
                    }
                }
                8 => {
                    let item =
                        |word: &str| json!({"instruction": format!("{word}[mock:cost=0.1]")});
                    let items = [item(word), item("[mock:skip]"), item("[mock:degraded]")];
                    let body = json!({"items": items, "concurrency": 1});
                    let path = "/v1/formats/fmt_media/bulk-runs";
                    drop(mock.developer().post(path, body));
                }
                9 => {
                    let index = rng.next() as usize % runs.len().max(1);
                    let id = runs.get(index).cloned().unwrap_or_default();
                    let path = format!("/v1/format-runs/{id}/cancel");
                    drop(mock.developer().post(&path, json!({})));
                }
                _ => drop(
                    mock.request(Host::Open)
                        .key("svc_open_demo")
                        .get("/v1/jobs"),
                ),
            }
            mock.assert_ledger_is_balanced();
        }
        let counts = (jobs.len(), runs.len());
        assert!(counts.0 > 20 && counts.1 > 20, "seed {seed}: {counts:?}");
    }
}
