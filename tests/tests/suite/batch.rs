//! Batches against the mock, in virtual time.

use svc_mock_server::{InProcess, Setup};
use svc_sdk::contract::Plan;
use svc_sdk::journal::{Journal, JournalError, MemoryStore, SpendLimit};
use svc_sdk::types::{ImageGenerate, Usd};
use svc_sdk::{Call, JobHandle, Open, open};

fn client(mock: &InProcess, journal: Journal) -> open::ClientBuilder {
    crate::open_client(mock).journal(journal).seed(7)
}

fn calls(client: &open::Client, count: u32) -> impl Iterator<Item = Call<JobHandle<Open>>> + Send {
    (0..count).map(|number| {
        let body = ImageGenerate::new("image-i").prompt("a red fox in snow");
        client.images().generate(body).submission_id(number.to_string())
    })
}

/// A service with places for five jobs.
fn small_service() -> InProcess {
    let setup = Setup::default().balance_usd(100);
    InProcess::new(setup.plan(Plan::Free).concurrent_jobs(Plan::Free, 5))
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_ended_again_and_again_pays_for_each_item_once() {
    let mock = small_service();
    let folder = tempfile::tempdir().unwrap();
    let mut store = MemoryStore::new();
    let mut returned = vec![0; 60];
    loop {
        let next = store.handle();
        let client = client(&mock, Journal::with_store(store)).build().unwrap();
        store = next;
        let path = folder.path().to_owned();
        let batch = client.batch(calls(&client, 60)).concurrency(40);
        let batch = batch.download(move |job, result| job.download_result(result, &path));
        let mut outcomes = batch.run();
        let mut ended = 0;
        // Each process ends after eleven items, of which it does not acknowledge the last one.
        while ended < 11
            && let Some(item) = outcomes.next().await
        {
            let item = item.unwrap();
            assert!(item.outcome.is_ok());
            assert_eq!(item.files.unwrap().len(), 1);
            returned[usize::try_from(item.index).unwrap()] += 1;
            ended += 1;
        }
        drop(outcomes);
        client.drain().await;
        if ended < 11 {
            break;
        }
    }
    assert!(returned.iter().all(|count| (1..=2).contains(count)), "{returned:?}");
    assert_eq!(returned.iter().sum::<i32>(), 60 + 5);
    assert_eq!(mock.jobs().len(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_spend_limit_holds_for_all_runs_of_a_batch() {
    let mock = small_service();
    let journal = Journal::with_store(MemoryStore::new());
    let limit: Usd = "0.10".parse().unwrap();
    let client = client(&mock, journal.clone()).spend_limit(SpendLimit::new("fox", limit));
    let client = client.build().unwrap();
    let mut spent = Usd::ZERO;
    for _ in 0..2 {
        let mut outcomes = client.batch(calls(&client, 60)).run();
        let mut over_budget = 0;
        while let Some(item) = outcomes.next().await {
            let item = item.unwrap();
            let Some(handle) = item.handle else {
                let error = item.outcome.unwrap_err();
                let journal = error.journal();
                assert!(matches!(journal, Some(JournalError::OverBudget { .. })));
                over_budget += 1;
                continue;
            };
            let price = handle.receipt().unwrap().job.price_usd.unwrap();
            spent = spent.checked_add(price).unwrap();
        }
        assert_eq!(over_budget, 40);
    }
    let totals = journal.budget("fox").await.unwrap();
    assert_eq!(totals.hold.captured, spent);
    assert!(Usd::ZERO < spent && spent <= limit, "{spent}");
}
