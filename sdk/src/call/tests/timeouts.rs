//! The time limits of calls and attempts.

use std::time::Duration;

use super::{JOB, RECEIPT, video};
use crate::call::clock;
use crate::transport::scripted::{Script, Step, developer_client, json, open_client};
use crate::types::Music1Generate;

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
    let client = crate::open::Client::builder()
        .base_url("https://api.example")
        .transport(std::sync::Arc::new(crate::transport::scripted::ScriptedTransport(script)))
        .attempt_timeout(Duration::MAX)
        .build()
        .unwrap();
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
