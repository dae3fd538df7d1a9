//! The rate limit of the key, and the requests under way.

use std::time::Duration;

use super::{JOB, RECEIPT, limited};
use crate::call::clock;
use crate::transport::scripted::{Script, developer_client, json, open_client};
use crate::types::Music1Generate;

#[tokio::test(start_paused = true)]
async fn a_client_learns_the_rate_limit_before_it_sends_more_than_can_be_under_way() {
    let accepted = limited(json(202, RECEIPT), 64, 0);
    let script = Script::with_latency([accepted], Duration::from_secs(1));
    let client = developer_client(&script);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..2 * crate::transport::MAX_IN_FLIGHT {
        tasks.spawn(client.music().generate(Music1Generate::new("p")));
    }
    clock::sleep(Duration::from_secs(20)).await;
    assert_eq!(script.requests().len(), crate::transport::MAX_IN_FLIGHT);
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_rate_limit_is_waited_for() {
    let script = Script::new([1, 0, 119].map(|remaining| limited(json(200, JOB), 120, remaining)));
    let client = open_client(&script);
    for _ in 0..3 {
        client.jobs().handle("job_1").get().await.unwrap();
    }
    assert_eq!(script.request_times(), [0, 0, 31_000]);
}

#[tokio::test(start_paused = true)]
async fn a_401_says_nothing_of_the_rate_limit_of_the_key() {
    let refused = r#"{"error": {"code": "unauthorized", "message": "no"}}"#;
    let script = Script::new([limited(json(401, refused), 120, 0), json(200, JOB)]);
    let client = open_client(&script);
    client.jobs().handle("job_1").get().await.unwrap_err();
    client.jobs().handle("job_1").get().await.unwrap();
    assert_eq!(script.request_times(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_that_resets_after_the_timeout_is_an_error_that_sent_nothing() {
    let script = Script::new([limited(json(200, JOB), 120, 0)]);
    let client = open_client(&script);
    client.jobs().handle("job_1").get().await.unwrap();
    let late = client.jobs().handle("job_1").get().timeout(Duration::from_secs(10));
    let error = late.await.unwrap_err();
    assert!(error.is_rate_limited() && !error.may_have_been_sent(), "{error:?}");
    assert_eq!(error.retry_after().unwrap().as_secs(), 31);
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_are_bounded() {
    let script = Script::with_latency([json(200, JOB)], Duration::from_secs(1));
    let client = open_client(&script);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let client = client.clone();
        tasks.spawn(async move { client.jobs().handle("job_1").get().await.map(drop) });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert_eq!(script.max_in_flight(), crate::transport::MAX_IN_FLIGHT);
}
