//! Runs and bulk queues through the SDK, on the mock, in virtual time: the whole way of each kind.

use svc_mock_server::{InProcess, Setup};
use svc_sdk::contract::RunStatus;
use svc_sdk::types::{
    ActionRunCreate, AgentCompletionCreate, BulkRunCreate, FormatRunCreate, OutputSchema, RunKind,
    Usd,
};
use svc_sdk::{ErrorKind, FormatRun, RetryPolicy, RunHandle, developer};

fn client(mock: &InProcess) -> developer::Client {
    let client = crate::developer_client(mock, "svc_dev_demo").seed(7);
    client.retry(RetryPolicy::default().max_retries(0)).build().unwrap()
}

fn demo() -> (InProcess, developer::Client) {
    let mock = InProcess::new(Setup::default());
    let client = client(&mock);
    (mock, client)
}

async fn started(
    client: &developer::Client,
    format: &str,
    body: &FormatRunCreate,
) -> RunHandle<FormatRun> {
    client.formats().run(format, body).await.unwrap()
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Shot {
    /// At most ten words.
    title: String,
    hero: Option<String>,
    tags: Vec<String>,
}

#[tokio::test(start_paused = true)]
async fn a_format_is_found_run_with_ones_own_type_and_its_files_fetched() {
    let (_mock, client) = demo();
    let formats = client.formats().list().await.unwrap();
    let media = formats
        .items
        .iter()
        .find(|format| format.io.as_ref().is_some_and(|io| io.output_kind.is_some()))
        .unwrap();
    assert_eq!(media.to_ref().to_string(), "demo/product-shot");

    let schema = OutputSchema::for_type::<Shot>().unwrap();
    let body = FormatRunCreate::new("a red fox").output_schema(schema);
    let run = started(&client, &media.to_ref().to_string(), &body).await;
    let receipt = run.wait().await.unwrap();
    let shot: Shot = receipt.output_as().unwrap();
    assert!(!shot.title.is_empty(), "{shot:?}");
    assert!(shot.hero.is_none_or(|hero| !hero.is_empty()));
    assert!(shot.tags.iter().all(|tag| !tag.is_empty()));
    assert!(receipt.primary_output_url.is_some());
    assert!(receipt.billable_amount().unwrap() > Usd::ZERO);

    let folder = tempfile::tempdir().unwrap();
    let files = run.download(folder.path()).await.unwrap();
    assert_eq!(files.len(), receipt.artifacts.len());
    assert!(std::fs::read(&files[0].path).unwrap().starts_with(b"\x89PNG"));

    let events = run.events().await.unwrap();
    let phases: Vec<_> = events.items.iter().filter_map(|event| event.phase.as_deref()).collect();
    assert_eq!((phases.first(), phases.contains(&"ended")), (Some(&"queued"), true));
    let runs = client.formats().list_runs("fmt_media").await.unwrap();
    assert_eq!(runs.items[0].id().as_ref(), Some(run.id()));
}

#[tokio::test(start_paused = true)]
async fn an_action_and_a_completion_are_runs_like_any_other() {
    let (_mock, client) = demo();
    let actions = client.actions().list().trigger_type("api_call").await.unwrap();
    let action = &actions.items[0];
    let body = ActionRunCreate::default().instruction("only the news of today");
    let run = client.actions().run(&action.id, &body).await.unwrap();
    let receipt = run.wait().await.unwrap();
    assert_eq!(
        (receipt.kind.as_ref(), receipt.events_url.as_ref()),
        (Some(&RunKind::Action), None)
    );
    let same = client.actions().get_run(&action.id, run.id()).await.unwrap();
    assert_eq!(same.id().as_ref(), Some(run.id()));

    let cap = Usd::from_micros(1_500_000);
    let completion = AgentCompletionCreate::new("three posters", cap);
    let run = client.agents().run(&completion).await.unwrap();
    let taken_up = client.agent_runs().handle(run.id().clone());
    let receipt = taken_up.wait().await.unwrap();
    assert_eq!(receipt.kind, Some(RunKind::Agent));
    assert_eq!(receipt.usage.unwrap().generation_spend_cap(), Some(cap));
    let runs = client.agent_runs().list().await.unwrap();
    assert_eq!(runs.items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_a_skipped_and_a_degraded_run_are_told_apart() {
    let (_mock, client) = demo();
    let run = started(&client, "fmt_media", &FormatRunCreate::new("x")).await;
    assert_eq!(run.cancel().await.unwrap().status, RunStatus::Canceled);
    assert_eq!(run.cancel().await.unwrap().status, RunStatus::Canceled);
    assert_eq!(run.wait().await.unwrap_err().kind(), ErrorKind::RunCanceled);

    let run = started(&client, "fmt_demo", &FormatRunCreate::new("[mock:skip]")).await;
    let error = run.wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RunSkipped);
    assert_eq!(error.run_receipt().unwrap().billable_amount(), Some(Usd::ZERO));

    let run = started(&client, "fmt_media", &FormatRunCreate::new("[mock:degraded]")).await;
    let receipt = run.wait().await.unwrap();
    assert!(receipt.is_degraded(), "{receipt:?}");
    assert!(receipt.output.is_none() && !receipt.artifacts.is_empty());

    let run = started(&client, "fmt_demo", &FormatRunCreate::new("[mock:usage-unreadable]")).await;
    assert_eq!(run.wait().await.unwrap().usage, None, "which is not 0");
}

#[tokio::test(start_paused = true)]
async fn a_completed_run_that_is_canceled_stays_completed() {
    let (_mock, client) = demo();
    let run = started(&client, "fmt_demo", &FormatRunCreate::new("x")).await;
    let receipt = run.wait().await.unwrap();
    assert_eq!(run.cancel().await.unwrap(), receipt);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_runs_at_sixteen_are_right_at_every_read_and_survive_the_client() {
    let mock = InProcess::new(Setup::default().balance_usd(10_000));
    let first = client(&mock);
    let items = (0..100).map(|n| match n % 10 {
        3 => FormatRunCreate::new("[mock:fail=unattended_blocked]"),
        7 => FormatRunCreate::new("[mock:skip]"),
        _ => FormatRunCreate::new(format!("teaser [mock:seconds={}]", 5 + (n * 7) % 23)),
    });
    let bulk = BulkRunCreate::new(items).concurrency(16);
    let queue = first.formats().bulk_run("fmt_demo", &bulk).await.unwrap();
    let id = queue.id().clone();
    drop((queue, first));

    let second = client(&mock);
    let queue = second.queues().handle(id);
    let (mut looks, mut busiest) = (0, 0);
    let mut updates = queue.updates();
    while let Some(update) = updates.next().await {
        let standing = update.unwrap().status;
        let counts = standing.counts();
        assert_eq!(counts.total, 100);
        assert_eq!(counts.queued + counts.running + counts.ended(), 100);
        assert!(counts.running <= 16, "{counts:?}");
        for (status, count) in [
            (RunStatus::Queued, counts.queued),
            (RunStatus::Running, counts.running),
            (RunStatus::Completed, counts.completed),
            (RunStatus::Failed, counts.failed),
            (RunStatus::Skipped, counts.skipped),
        ] {
            let items = standing.items.iter().filter(|item| item.status == status);
            assert_eq!(items.count() as u64, count, "{status}");
        }
        // In order: nothing is started before what stands ahead of it.
        let begun = standing.items.iter().rposition(|item| item.run_id.is_some());
        let waits = standing.items.iter().position(|item| item.run_id.is_none());
        assert!(waits.is_none_or(|waits| begun.is_none_or(|begun| begun < waits)));
        busiest = busiest.max(counts.running);
        looks += 1;
    }
    assert!(looks > 5 && busiest > 8, "{looks} looks, {busiest} at once");
    let counts = queue.wait().await.unwrap().counts();
    assert_eq!((counts.completed, counts.failed, counts.skipped), (80, 10, 10));

    let results = queue.results().await.unwrap();
    assert_eq!(results.len(), 100);
    for result in &results {
        let receipt = result.receipt.as_ref().unwrap();
        assert_eq!(receipt.status, result.item.status);
        assert_eq!(receipt.output.is_some(), result.item.status == RunStatus::Completed);
    }
}
