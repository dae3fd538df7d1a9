//! What jobs cost, and that the books always balance.

use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, TopUpStatus};

use super::{IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::rng::Rng;
use crate::engine::{Host, Settings};

fn balance(mock: &Mock) -> (String, String) {
    let balances = mock.simulator.balances();
    let ours = balances
        .iter()
        .find(|balance| balance["workspace"] == "ws_demo")
        .unwrap();
    let text = |field: &str| ours[field].as_str().unwrap().to_owned();
    (text("available_usd"), text("reserved_usd"))
}

fn dollars(available: &str, reserved: &str) -> (String, String) {
    (available.to_owned(), reserved.to_owned())
}

#[test]
fn a_price_is_reserved_then_captured_or_refunded() {
    let mut mock = Mock::new();
    let done = mock.submit(VIDEO, video("x"));
    let failed = mock.submit(VIDEO, video("[mock:fail]"));
    let canceled = mock.submit(VIDEO, video("x"));
    assert_eq!(balance(&mock), dollars("99.6250", "0.3750"));
    mock.open()
        .post(&format!("/v1/jobs/{canceled}/cancel"), json!({}));
    assert_eq!(balance(&mock), dollars("99.7500", "0.2500"));
    mock.pass(8_000);
    mock.simulator.advance(mock.now);
    assert_eq!(balance(&mock), dollars("99.8750", "0.0000"));
    let entries: Vec<Value> = mock
        .simulator
        .ledger()
        .into_iter()
        .map(|entry| {
            json!([
                entry["kind"],
                entry["amount_usd"],
                entry["job_id"],
                entry["workspace"]
            ])
        })
        .collect();
    let row = |kind: &str, id: &str| json!([kind, "0.1250", id, "ws_demo"]);
    let expected = [
        row("reservation", &done),
        row("reservation", &failed),
        row("reservation", &canceled),
        row("refund", &canceled),
        row("capture", &done),
        row("refund", &failed),
    ];
    assert_eq!(entries, expected);
    assert_eq!(
        mock.simulator.ledger()[4]["created_at"],
        "2026-01-01T00:00:08Z"
    );
}

#[test]
fn the_last_dollar_can_be_spent_and_not_more() {
    let balance_usd = "0.2500".parse().unwrap();
    let mut mock = Mock::with(Settings {
        balance: balance_usd,
        ..Settings::default()
    });
    mock.submit(VIDEO, video("x"));
    let second = mock.submit(VIDEO, video("x"));
    let error = mock
        .open()
        .post(VIDEO, video("x"))
        .refused(402, "insufficient_funds");
    assert_eq!(
        error["details"],
        json!({"required_usd": "0.1250", "available_usd": "0.0000"})
    );
    mock.open()
        .post(&format!("/v1/jobs/{second}/cancel"), json!({}));
    mock.submit(VIDEO, video("x"));
    mock.books_are_balanced();
}

#[test]
fn the_books_balance_whatever_happens() {
    for seed in 0..8 {
        let mut dice = Rng::new(seed);
        let balance = "2.0000".parse().unwrap();
        let mut mock = Mock::with(Settings {
            balance,
            seed,
            ..Settings::default()
        });
        let mut jobs: Vec<String> = Vec::new();
        for _ in 0..400 {
            mock.pass(dice.next() % 2_000);
            let word = ["x", "[mock:fail]", "[mock:stuck]", "[mock:seconds=0]"]
                [(dice.next() % 4) as usize];
            let some_job = |dice: &mut Rng| {
                let at = dice.next() as usize % jobs.len().max(1);
                jobs.get(at).cloned().unwrap_or_default()
            };
            match dice.next() % 7 {
                0 | 1 => {
                    let answer = mock.open().post(VIDEO, video(word));
                    if answer.status() == 202 {
                        jobs.push(
                            answer.json()["data"]["job"]["id"]
                                .as_str()
                                .unwrap()
                                .to_owned(),
                        );
                    }
                }
                2 => drop(mock.open().post(IMAGE, image(word))),
                3 => {
                    let path = format!("/v1/jobs/{}/cancel", some_job(&mut dice));
                    mock.developer().post(&path, json!({}));
                }
                4 => {
                    let outcome = [JobStatus::Completed, JobStatus::Failed, JobStatus::Canceled];
                    let status = outcome[(dice.next() % 3) as usize].clone();
                    drop(
                        mock.simulator
                            .end_job(mock.now, &some_job(&mut dice), status, None),
                    );
                }
                5 => {
                    let answer = mock.open().post(TOP_UPS, json!({"amount_usd_cents": 500}));
                    if answer.status() == 201 {
                        let id = answer.json()["data"]["id"].as_str().unwrap().to_owned();
                        let outcome =
                            [TopUpStatus::Paid, TopUpStatus::Failed, TopUpStatus::Expired];
                        let status = outcome[(dice.next() % 3) as usize].clone();
                        mock.simulator.settle_top_up(mock.now, &id, status).unwrap();
                    }
                }
                _ => drop(mock.ask(Host::Open).key("svc_open_demo").get("/v1/jobs")),
            }
            mock.books_are_balanced();
        }
        assert!(jobs.len() > 20, "seed {seed} made {} jobs only", jobs.len());
    }
}
