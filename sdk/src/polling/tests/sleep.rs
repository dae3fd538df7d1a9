//! Waits while the computer sleeps.

use std::time::Duration;

use super::{COMPLETED, RESULT, job, receipt, status};
use crate::call::clock;
use crate::transport::scripted::{Script, Step, developer_client, json, open_client};

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn a_wait_polls_at_once_after_the_computer_slept() {
    let script = Script::new([receipt(60.0), json(200, COMPLETED), json(200, RESULT)]);
    let job = job(&script).await;
    tokio::spawn(async {
        clock::sleep(Duration::from_secs(7)).await;
        clock::sleep_computer(HOUR);
    });
    job.wait().await.unwrap();
    // A pause looks at the clocks every five seconds.
    assert_eq!(script.request_times(), [0, 10_000, 10_000]);
    let requests = script.requests();
    assert_eq!(requests[0].reconnects, 0);
    assert_eq!(requests[1].reconnects, 1);
    assert_eq!(script.reconnects(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_waits_share_the_budget_after_the_computer_slept() {
    const WAITS: usize = 120;

    let limited = |step: Step| {
        step.header("ratelimit-limit", 60)
            .header("ratelimit-remaining", 59)
            .header("ratelimit-reset", 60)
    };
    let running =
        r#"{"data": {"status": "running", "terminal": false, "next_poll_after_seconds": 60}}"#;
    let script = Script::new([limited(json(200, running))]);
    let client = developer_client(&script);
    for number in 0..WAITS {
        let run = client.format_runs().handle(format!("run_{number}"));
        tokio::spawn(async move { run.wait().no_timeout().await });
    }
    clock::sleep(Duration::from_secs(300)).await;
    let before = script.requests().len();
    clock::sleep_computer(HOUR);
    clock::sleep(Duration::from_secs(60)).await;
    let after = script.requests().len() - before;
    assert!((1..=2 * 60).contains(&after), "{after} requests in a minute");
    assert_eq!(script.reconnects(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_sleep_interrupted_is_repeated() {
    let script = Script::new([Step::NoResponse, json(200, COMPLETED), json(200, RESULT)]);
    tokio::spawn(async {
        clock::sleep(Duration::from_secs(2)).await;
        clock::sleep_computer(HOUR);
    });
    let job = open_client(&script).jobs().handle("job_1");
    job.wait().await.unwrap();
    let requests = script.requests();
    assert!(requests[1].at < Duration::from_secs(10), "{requests:?}");
    assert_eq!(requests[1].reconnects, 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_a_wait_does_not_count_sleep() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let script = Script::new([status("processing", 30.0)]);
    let began = clock::now();
    tokio::spawn(async move {
        clock::sleep(minutes(1)).await;
        clock::sleep_computer(HOUR);
    });
    let job = open_client(&script).jobs().handle("job_1");
    let error = job.wait().timeout(minutes(10)).await.unwrap_err();
    assert!(error.is_wait_timeout(), "{error}");
    assert_eq!((clock::now() - began).as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_counts_the_time_between_two_updates() {
    let script = Script::new([status("processing", 2.0)]);
    let job = open_client(&script).jobs().handle("job_1");
    let mut updates = job.updates().timeout(Duration::from_secs(10));
    updates.next().await.unwrap().unwrap();
    tokio::time::advance(HOUR).await;
    let error = loop {
        if let Err(error) = updates.next().await.unwrap() {
            break error;
        }
    };
    assert!(error.is_wait_timeout(), "{error}");
    // The poll that was due is made before the wait ends.
    assert_eq!(script.requests().len(), 2);
}
