//! Waits against scripted responses, in virtual time: what the scripts of [`crate::scripts`] cannot say.

mod many_jobs;

use std::time::Duration;

use crate::call::clock;
use crate::transport::scripted::{Script, Step, data, developer_client, open_client};
use crate::types::VideoGenerate;

const HOUR: Duration = Duration::from_secs(3_600);

fn status(status: &str, hint: u64) -> Step {
    let payload = serde_json::json!({
        "status": status, "terminal": false, "next_poll_after_seconds": hint,
    });
    data(200, &payload)
}

#[tokio::test(start_paused = true)]
async fn an_update_is_returned_before_the_pause() {
    let job = serde_json::json!({"id": "job_1", "status": "queued"});
    let receipt = serde_json::json!({"job": job, "next_poll_after_seconds": 4});
    let script = Script::new([data(202, &receipt), status("processing", 5)]);
    let job = open_client(&script).videos().generate(VideoGenerate::new("auto")).await.unwrap();
    let mut updates = job.updates();
    let began = clock::now();
    let first = updates.next().await.unwrap().unwrap();
    assert_eq!(clock::now(), began, "the receipt's word costs no time");
    assert_eq!(first.status.status.unwrap().as_str(), "queued");
    assert!(first.next_poll.unwrap() >= Duration::from_secs(4));
    let second = updates.next().await.unwrap().unwrap();
    assert_eq!(second.status.status.unwrap().as_str(), "processing");
    assert_eq!(second.poll_count, 1);
}

#[tokio::test(start_paused = true)]
async fn many_waits_share_the_budget_after_the_computer_slept() {
    const WAITS: usize = 120;

    let running = status("running", 60)
        .header("ratelimit-limit", 60)
        .header("ratelimit-remaining", 59)
        .header("ratelimit-reset", 60);
    let script = Script::new([running]);
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
async fn the_time_limit_counts_the_time_between_two_updates() {
    let script = Script::new([status("processing", 2)]);
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
