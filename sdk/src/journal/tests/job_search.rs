//! Jobs that are found by the idempotency key in their metadata.

use serde_json::Value;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns two pages of jobs, the second of which has the job with that key, and other ones.
fn pages(key: &str) -> [Step; 2] {
    let job = |id: &str, metadata: Value| json!({"id": id, "status": "queued", "price_usd": "0.1500", "metadata": metadata});
    let first = json!({"data": [job("job_8", Value::Null)], "next_cursor": "more"});
    let second = json!({"data": [
        job("job_9", json!({"svc_idempotency_key": "svc-other"})),
        job("job_1", json!({"svc_idempotency_key": key, "order": 7})),
    ]});
    [answer(200, &first.to_string()), answer(200, &second.to_string())]
}

/// Submits `order-1` in a process that ends before an answer arrives. Returns the key.
async fn submit_and_crash(journal: Journal) -> String {
    let script = Script::new([price("0.2000"), Step::ConnectionReset]);
    let body = fox().metadata("order", 7);
    let client = limited_client(&script, &journal, 500_000);
    client.videos().generate(body).submission_id("order-1").await.unwrap_err();
    let sent: Value = serde_json::from_slice(&script.requests()[1].body).unwrap();
    let key = keys(&script).remove(0);
    assert_eq!(sent["metadata"], json!({"order": 7, "svc_idempotency_key": key}));
    key
}

#[tokio::test(start_paused = true)]
async fn the_same_call_finds_a_job_whose_key_is_forgotten() {
    let (first, second) = two_processes();
    let key = submit_and_crash(first.search_jobs()).await;
    clock::sleep_computer(DAY);
    let script = Script::new(pages(&key));
    let submit = |journal: &Journal| {
        let client = limited_client(&script, journal, 500_000);
        client.videos().generate(fox().metadata("order", 7)).submission_id("order-1").into_future()
    };
    let error = submit(&second).await.unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::KeyExpired), "it does not search");
    assert_eq!(script.requests().len(), 0);
    let job = submit(&second.clone().search_jobs()).await.unwrap();
    assert_eq!((job.id().as_str(), job.is_resumed()), ("job_1", true));
    assert_eq!(script.requests().len(), 2);
    let hold = second.budget("images").await.unwrap().hold;
    assert_eq!(hold.captured, Usd::from_micros(150_000), "{hold:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_not_in_the_list_stays_undecided() {
    let (first, second) = two_processes();
    submit_and_crash(first.search_jobs()).await;
    clock::sleep_computer(DAY);
    let script = Script::new(pages("svc-another"));
    let client = open_client(&script, &second.search_jobs());
    let body = fox().metadata("order", 7);
    let error = client.videos().generate(body).submission_id("order-1").await.unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::KeyExpired));
}

#[tokio::test(start_paused = true)]
async fn recovery_returns_a_job_that_it_finds() {
    let (first, second) = two_processes();
    let key = submit_and_crash(first.search_jobs()).await;
    let script = Script::new(pages(&key));
    let mut recovery = open_client(&script, &second.search_jobs()).recover();
    let Some(Ok(Recovered::Job(job))) = recovery.next().await else {
        panic!("it is not found");
    };
    assert_eq!((job.id().as_str(), job.submission_id()), ("job_1", Some("order-1")));
    assert!(recovery.next().await.is_none());
}

/// The bytes of a repeated request are those of the first attempt, whatever the option says now.
#[tokio::test(start_paused = true)]
async fn a_repeated_request_has_the_metadata_of_its_first_attempt() {
    for was_searching in [false, true] {
        let (first, second) = two_processes();
        let (first, second) = match was_searching {
            true => (first.search_jobs(), second),
            false => (first, second.search_jobs()),
        };
        let script = Script::new([Step::ConnectionReset, receipt("job_1")]);
        submit_order(&script, &first).await.unwrap_err();
        drop(first);
        submit_order(&script, &second).await.unwrap();
        let requests = script.requests();
        assert_eq!(requests[0].body, requests[1].body);
        let body = String::from_utf8_lossy(&requests[0].body);
        assert_eq!(body.contains("svc_idempotency_key"), was_searching);
    }
}
