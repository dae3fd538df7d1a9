//! The rate limit of the key, the requests under way, and the time limits of calls and attempts.

use std::time::Duration;

use super::{limited, video};
use crate::call::clock;
use crate::surface::Open;
use crate::transport::scripted::{
    JOB, RECEIPT, Script, ScriptedTransport, Step, builder, developer_client, json, open_client,
};
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
async fn a_request_that_waits_for_its_turn_was_not_sent() {
    let script = Script::with_latency([json(202, RECEIPT)], Duration::from_secs(50));
    let client = developer_client(&script);
    let submit = |deadline| {
        let body = Music1Generate::new("p");
        client.music().generate(body).timeout(Duration::from_secs(deadline))
    };
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..crate::transport::MAX_IN_FLIGHT {
        tasks.spawn(submit(60));
    }
    clock::sleep(Duration::from_secs(1)).await;
    let error = submit(20).await.unwrap_err();
    assert!(error.is_timeout() && !error.may_have_been_sent(), "{error:?}");
    assert!(!error.is_ambiguous());
    // An attempt has 60 s, of which the wait for its turn takes none: it is answered 79 s later.
    submit(150).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_longest_timeouts_are_accepted() {
    let script = Script::new([json(200, JOB)]);
    let client = builder::<Open>(ScriptedTransport(script)).attempt_timeout(Duration::MAX);
    let client = client.build().unwrap();
    client.jobs().handle("job_1").get().timeout(Duration::MAX).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_silent_submit_times_out_and_is_ambiguous() {
    let script = Script::new([Step::NoResponse]);
    let submit = open_client(&script).videos().generate(video()).timeout(Duration::from_secs(20));
    let began = clock::now();
    let error = submit.await.unwrap_err();
    assert_eq!((clock::now() - began).as_secs(), 20);
    assert!(error.is_timeout() && error.is_ambiguous() && error.is_unreachable());
    assert!(error.idempotency_key().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_silent_attempt_is_retried_within_the_timeout() {
    let script = Script::new([Step::NoResponse, json(200, JOB)]);
    open_client(&script).jobs().handle("job_1").get().await.unwrap();
    let times = script.request_times();
    assert!((60_000..61_000).contains(&times[1]), "{times:?}");
}
