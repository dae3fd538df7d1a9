//! Batches against a small service, in virtual time.

mod service;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use self::service::{BatchService, ServiceTransport};
use super::batch_call::SendFuture;
use super::{BatchCall, BatchItem, Outcomes};
use crate::call::clock;
use crate::handle::JobResource;
use crate::journal::{BudgetTotals, Journal, JournalError, Reuse, SpendLimit};
use crate::types::{Usd, VideoGenerate};
use crate::{ApiKey, Call, Client, ClientBuilder, Error, ErrorKind, JobHandle, Open, Result};

fn builder(service: &Arc<BatchService>, journal: &Journal) -> ClientBuilder<Open> {
    Client::builder()
        .base_url("https://api.example")
        .api_key(ApiKey::new("canary-key").unwrap())
        .transport(Arc::new(ServiceTransport(Arc::clone(service))))
        .seed(7)
        .journal(journal.clone())
}

fn client(service: &Arc<BatchService>) -> Client<Open> {
    builder(service, &Journal::in_memory()).build().unwrap()
}

fn start(capacity: usize) -> (Arc<BatchService>, Client<Open>) {
    let service = BatchService::new(capacity);
    let client = client(&service);
    (service, client)
}

fn limited(service: &Arc<BatchService>, journal: &Journal, limit: &str) -> Client<Open> {
    let limit = SpendLimit::new("images", limit.parse().unwrap());
    let builder = builder(service, journal).spend_limit(limit);
    builder.build().unwrap()
}

fn is_over_budget(error: &Error) -> bool {
    matches!(error.journal(), Some(JournalError::OverBudget { .. }))
}

fn call(client: &Client<Open>, id: impl ToString, prompt: &str) -> Call<JobHandle<Open>> {
    let body = VideoGenerate::new("auto").prompt(prompt);
    client.videos().generate(body).submission_id(id.to_string())
}

fn calls<'a>(
    client: &'a Client<Open>,
    prompts: &'a [&str],
) -> impl Iterator<Item = Call<JobHandle<Open>>> + Send + 'a {
    let numbered = prompts.iter().enumerate();
    numbered.map(|(number, prompt)| call(client, number, prompt))
}

type BatchItems = Vec<BatchItem<JobResource<Open>>>;

/// Returns the items, and the error that ended the batch.
async fn all(mut outcomes: Outcomes<'_, JobResource<Open>>) -> (BatchItems, Option<Error>) {
    let mut items = Vec::new();
    while let Some(next) = outcomes.next().await {
        match next {
            Ok(item) => items.push(item),
            Err(error) => {
                assert!(outcomes.next().await.is_none());
                return (items, Some(error));
            }
        }
    }
    (items, None)
}

/// Returns the items of a batch that nothing ended.
async fn ended(outcomes: Outcomes<'_, JobResource<Open>>) -> BatchItems {
    let (items, error) = all(outcomes).await;
    assert!(error.is_none(), "{error:?}");
    items
}

fn ids(items: &BatchItems) -> BTreeSet<usize> {
    let ids = items.iter().map(|item| item.submission_id.as_ref().unwrap());
    ids.map(|id| id.parse().unwrap()).collect()
}

fn completed(items: &BatchItems) -> usize {
    items.iter().filter(|item| item.outcome.is_ok()).count()
}

#[tokio::test(start_paused = true)]
async fn calls_are_taken_when_there_is_room_for_them() {
    let (service, client) = start(1000);
    let taken = AtomicUsize::new(0);
    let calls = (0..100).map(|number| {
        taken.fetch_add(1, Ordering::SeqCst);
        call(&client, number, "fox")
    });
    let mut outcomes = client.batch(calls).concurrency(10).run();
    assert_eq!(taken.load(Ordering::SeqCst), 0);
    let mut count = 0;
    while let Some(item) = outcomes.next().await {
        assert!(item.unwrap().outcome.is_ok());
        count += 1;
        assert!(taken.load(Ordering::SeqCst) <= count + 10);
        assert!(outcomes.in_flight() <= 10);
    }
    assert_eq!(count, 100);
    assert_eq!(service.state().most_running, 10);
}

#[tokio::test(start_paused = true)]
async fn a_service_with_too_many_jobs_slows_a_batch_down_and_fails_no_item() {
    let (service, client) = start(5);
    let items = ended(client.batch(calls(&client, &["fox"; 60])).concurrency(50).run()).await;
    assert_eq!((items.len(), completed(&items)), (60, 60));
    let state = service.state();
    assert_eq!((state.jobs.len(), state.most_running), (60, 5));
    // Each round asks about once whether there is more room.
    assert!(state.refused[&429] < 40, "{:?}", state.refused);
}

#[tokio::test(start_paused = true)]
async fn places_that_others_leave_are_taken() {
    let (service, client) = start(0);
    let mut outcomes = client.batch(calls(&client, &["fox"; 3])).run();
    let ended = clock::before(clock::after(Duration::from_secs(600)), outcomes.next()).await;
    assert!(ended.is_none() && outcomes.is_slowed());
    // About twenty pauses of half a minute.
    let asked = service.state().refused[&429];
    assert!((15..80).contains(&asked), "{asked}");
    outcomes.stop();
    assert!(outcomes.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn only_the_program_acknowledges_if_it_says_so() {
    let (service, client) = start(1000);
    let run = || client.batch(calls(&client, &["fox", "fox"])).manual_acknowledge().run();
    let items = ended(run()).await;
    items[0].acknowledge().await.unwrap();
    let mut again = run();
    let item = again.next().await.unwrap().unwrap();
    assert_eq!(item.submission_id, items[1].submission_id);
    assert!(again.next().await.is_none());
    assert_eq!((again.skipped(), service.state().jobs.len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn unsuccessful_items_are_submitted_again_on_request() {
    let (service, client) = start(1000);
    let prompts = ["fox", "fails"];
    let items = ended(client.batch(calls(&client, &prompts)).run()).await;
    assert_eq!((items.len(), completed(&items)), (2, 1));
    let polls = service.state().polls;
    let mut outcomes = client.batch(calls(&client, &prompts)).run();
    assert!(outcomes.next().await.is_none());
    assert_eq!(outcomes.skipped(), 2);
    assert_eq!(service.state().polls, polls, "finished items are not asked again");
    let again = calls(&client, &prompts).map(|call| call.reuse(Reuse::RetryUnsuccessful));
    let items = ended(client.batch(again).run()).await;
    assert_eq!(ids(&items), BTreeSet::from([1]));
    assert_eq!(service.state().jobs.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_one_item_is_its_outcome() {
    let client = client(&BatchService::new(1000));
    call(&client, 1, "another body").await.unwrap();
    let prompts = ["invalid", "fox", "fails", "fox"];
    let items = ended(client.batch(calls(&client, &prompts)).run()).await;
    let error_of = |id: &str| {
        let item = items.iter().find(|item| item.submission_id.as_deref() == Some(id));
        item.unwrap().outcome.as_ref().err()
    };
    assert_eq!(error_of("0").unwrap().status(), Some(400));
    let conflict = error_of("1").unwrap().journal();
    assert!(matches!(conflict, Some(JournalError::SubmissionConflict { .. })));
    assert_eq!(error_of("2").unwrap().kind(), ErrorKind::JobFailed);
    assert!(error_of("3").is_none());
    assert_eq!(items.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_would_happen_to_every_submit_ends_the_batch() {
    for (status, code) in
        [(401, "unauthorized"), (402, "insufficient_funds"), (403, "insufficient_scope")]
    {
        let service = BatchService::new(1000);
        service.state().fails_after = Some((10, status, code));
        let client = client(&service);
        let taken = AtomicUsize::new(0);
        let prompts = ["fox"; 50];
        let calls = calls(&client, &prompts).inspect(|_| {
            taken.fetch_add(1, Ordering::SeqCst);
        });
        let (items, error) = all(client.batch(calls).concurrency(4).run()).await;
        assert_eq!(error.unwrap().status(), Some(status));
        assert_eq!(completed(&items), 10, "what was in flight is waited for");
        let failed = service.state().refused[&status];
        assert_eq!(items.len(), 10 + failed - 1);
        assert_eq!(taken.load(Ordering::SeqCst), 10 + failed);

        service.state().fails_after = None;
        let items = ended(client.batch(self::calls(&client, &prompts)).run()).await;
        assert_eq!(completed(&items), 40);
        assert_eq!(service.state().jobs.len(), 50);
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_service_is_asked_until_it_accepts() {
    let service = BatchService::new(1000);
    service.state().fails_after = Some((5, 503, "database_busy"));
    let client = client(&service);
    let batch = ended(client.batch(calls(&client, &["fox"; 20])).concurrency(3).run());
    let recovery = async {
        clock::sleep(Duration::from_secs(1200)).await;
        service.state().fails_after = None;
    };
    let (items, ()) = tokio::join!(batch, recovery);
    assert_eq!(completed(&items), 20);
    let refused = service.state().refused[&503];
    assert!((20..1000).contains(&refused), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_refund_makes_room_within_the_spend_limit() {
    let service = BatchService::new(1000);
    let journal = Journal::in_memory();
    let client = limited(&service, &journal, "0.45");
    let prompts = ["fails", "fox", "fox", "fox"];
    let items = ended(client.batch(calls(&client, &prompts)).run()).await;
    assert_eq!((items.len(), completed(&items)), (4, 2));
    let error = items[3].outcome.as_ref().unwrap_err();
    assert!(is_over_budget(error), "{error}");
    assert_eq!(service.state().jobs.len(), 3);
    let totals = journal.budget("images").await.unwrap();
    assert_eq!(totals.hold.captured, "0.40".parse().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_stopped_returns_what_is_in_flight() {
    let (service, client) = start(1000);
    let prompts = ["fox"; 50];
    let mut outcomes = client.batch(calls(&client, &prompts)).concurrency(4).run();
    outcomes.next().await.unwrap().unwrap();
    let in_flight = outcomes.in_flight();
    outcomes.stop();
    let items = ended(outcomes).await;
    assert_eq!((items.len(), service.state().jobs.len()), (in_flight, in_flight + 1));
}

#[tokio::test(start_paused = true)]
async fn an_item_that_takes_too_long_is_waited_for_by_the_next_batch() {
    let (service, client) = start(1000);
    let batch = || client.batch(calls(&client, &["fox"]));
    let items = ended(batch().wait_timeout(Duration::from_secs(10)).run()).await;
    let outcome: &Result<_> = &items[0].outcome;
    assert!(outcome.as_ref().unwrap_err().is_wait_timeout());
    let items = ended(batch().run()).await;
    assert_eq!((items.len(), completed(&items)), (1, 1));
    assert_eq!(service.state().jobs.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_cheaper_goes_on_within_the_spend_limit() {
    let service = BatchService::new(1000);
    let client = limited(&service, &Journal::in_memory(), "0.46");
    let calls = (0..12).map(|number| {
        let mut body = VideoGenerate::new("auto").prompt(number.to_string());
        body.duration = (number == 11).then_some(4);
        client.videos().generate(body).submission_id(number.to_string())
    });
    let items = ended(client.batch(calls).run()).await;
    let over_budget = items.iter().filter(|item| item.outcome.as_ref().is_err_and(is_over_budget));
    assert_eq!((over_budget.count(), completed(&items)), (9, 3));
    assert_eq!(service.state().jobs[2].0, "11");
    let estimates = service.state().estimates;
    assert_eq!(estimates, 3, "one for each shape, and one after a minute");
}

/// The last item in flight ends while the refusal of the next one is on its way.
#[tokio::test(start_paused = true)]
async fn room_that_is_made_during_a_submit_is_used() {
    let submission = |sent_for, results: Vec<Option<JournalError>>| {
        let mut results = results.into_iter();
        let send = move || -> SendFuture<()> {
            let refusal = results.next().flatten();
            Box::pin(async move {
                clock::sleep(Duration::from_secs(sent_for)).await;
                let outcome: Pin<Box<dyn Future<Output = ()> + Send>> =
                    Box::pin(clock::sleep(Duration::from_secs(1)));
                refusal.map_or(Ok(Some(outcome)), |it| Err(it.into()))
            })
        };
        BatchCall { submission_id: None, send: Box::new(send) }
    };
    let over_budget = JournalError::OverBudget {
        budget: "images".into(),
        amount: Usd::ZERO,
        limit: Usd::ZERO,
        totals: BudgetTotals::default(),
    };
    let calls = vec![submission(0, vec![None]), submission(5, vec![Some(over_budget), None])];
    let client = client(&BatchService::new(1000));
    let mut outcomes = client.mixed_batch(futures_util::stream::iter(calls)).run();
    while let Some(item) = outcomes.next().await {
        item.unwrap().outcome.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_spend_limit_without_room_ends_a_long_batch() {
    let service = BatchService::new(1000);
    let client = limited(&service, &Journal::in_memory(), "0.20");
    let taken = AtomicUsize::new(0);
    let calls = (0..10_000).map(|number| {
        taken.fetch_add(1, Ordering::SeqCst);
        call(&client, number, "fox")
    });
    let (items, error) = all(client.batch(calls).run()).await;
    assert!(is_over_budget(&error.unwrap()));
    assert_eq!(completed(&items), 1);
    assert_eq!(items.len(), taken.load(Ordering::SeqCst) - 1);
    assert!(items.len() < 300, "{}", items.len());
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_batch_submitted_is_waited_for_beyond_the_concurrency() {
    let (service, client) = start(1000);
    for number in 0..20 {
        call(&client, number, "fox").await.unwrap();
    }
    let submissions = (0..40).map(|number| {
        call(&client, number, "fox").followed_by(|job| async move { job.wait().await.is_ok() })
    });
    let batch = client.mixed_batch(futures_util::stream::iter(submissions));
    let mut outcomes = batch.concurrency(1).already_submitted(20).run();
    assert!(outcomes.next().await.unwrap().unwrap().outcome.unwrap());
    assert_eq!((outcomes.in_flight(), outcomes.submitting()), (19, 0));
    assert_eq!(service.state().jobs.len(), 20);
    let mut ended = 1;
    while let Some(item) = outcomes.next().await {
        ended += usize::from(item.unwrap().outcome.unwrap());
    }
    assert_eq!((ended, service.state().jobs.len()), (40, 40));
    assert_eq!(service.state().most_running, 20);
}
