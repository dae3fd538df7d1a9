//! Bulk queues.

use svc_mock_server::{InProcess, Setup};
use svc_sdk::contract::RunStatus;
use svc_sdk::types::{BulkRunCreate, FormatRunCreate};

use super::client;

#[tokio::test(start_paused = true)]
async fn a_hundred_runs_at_sixteen_are_right_at_every_read_and_survive_the_client() {
    let mock = InProcess::new(Setup::default().balance_usd(10_000));
    let first = client(&mock, "svc_dev_demo");
    let items = (0..100).map(|n| match n % 10 {
        3 => FormatRunCreate::new("[mock:fail=unattended_blocked]"),
        7 => FormatRunCreate::new("[mock:skip]"),
        _ => FormatRunCreate::new(format!("teaser {n}")),
    });
    let bulk = BulkRunCreate::new(items).concurrency(16);
    let queue = first.formats().bulk_run("fmt_demo", &bulk).await.unwrap();
    let id = queue.id().clone();
    drop((queue, first));

    let second = client(&mock, "svc_dev_demo");
    let queue = second.queues().handle(id);
    let (mut looks, mut busiest) = (0, 0);
    let mut updates = queue.updates();
    while let Some(update) = updates.next().await {
        let standing = update.unwrap().status;
        let counts = standing.counts();
        assert_eq!(counts.total, 100);
        assert_eq!(counts.queued + counts.running + counts.ended(), 100);
        assert!(counts.running <= 16, "{counts:?}");
        let running = |item: &&svc_sdk::types::QueueItem| item.status == RunStatus::Running;
        assert_eq!(standing.items.iter().filter(running).count() as u64, counts.running);
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
