//! Calls and waits that are held and not polled, on a runtime of one thread and on one of several.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, join_all, select};
use futures_util::{FutureExt, StreamExt, TryFutureExt, TryStreamExt, stream};
use tokio::runtime::{Builder, Handle};

use super::video;
use crate::call::clock;
use crate::call::task::TaskGroup;
use crate::surface::Open;
use crate::transport::scripted::{
    JOB, RECEIPT, Script, ScriptedTransport, Step, builder, busy, json, open_client,
};
use crate::transport::{ResponseFuture, Transport};
use crate::types::WebhookEvent;
use crate::{Client, WebhookNotifier};

const RUNNING: &str = r#"{"data": {"status": "processing", "next_poll_after_seconds": 60}}"#;
const COMPLETED: &str = r#"{"data": {"status": "completed", "terminal": true}}"#;
const RESULT: &str =
    r#"{"data": {"status": "completed", "artifacts": [{"url": "https://m/a.mp4"}]}}"#;

/// A service that answers after a while.
#[derive(Clone, Default)]
struct SlowService {
    /// The jobs that are in progress. All others have ended.
    running: Arc<Mutex<Vec<&'static str>>>,
}

impl Transport for SlowService {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let service = self.clone();
        Box::pin(async move {
            clock::sleep(Duration::from_millis(2)).await;
            let path = request.uri().path();
            let mut segments = path.rsplit('/');
            let body = match (segments.next(), segments.next()) {
                (Some("generate"), _) => RECEIPT,
                (Some("result"), _) => RESULT,
                (Some("status"), Some(id)) => {
                    let running = service.running.lock().unwrap();
                    let is_running = running.contains(&id);
                    if is_running { RUNNING } else { COMPLETED }
                }
                _ => JOB,
            };
            json(200, body).into_result().await
        })
    }
}

fn client(transport: impl Transport) -> Client<Open> {
    builder(transport).build().unwrap()
}

/// Runs a test on a runtime of one thread, in virtual time, and on one of several.
fn on_each_runtime(test: impl AsyncFn()) {
    const LIMIT: Duration = Duration::from_secs(60);

    let mut one = Builder::new_current_thread();
    let mut several = Builder::new_multi_thread();
    for runtime in [one.start_paused(true), several.worker_threads(2)] {
        let runtime = runtime.enable_time().build().unwrap();
        runtime.block_on(async {
            let ended = tokio::time::timeout(LIMIT, test()).await;
            ended.expect("it stops");
        });
    }
}

#[test]
fn jobs_are_waited_for_while_more_submits_are_held_than_may_be_in_flight() {
    on_each_runtime(async || {
        let client = builder::<Open>(SlowService::default()).max_in_flight(16).build().unwrap();
        let submits = stream::iter(0..60).map(|_| client.videos().generate(video()));
        let waits = submits
            .buffer_unordered(17)
            .try_for_each(|job| client.jobs().handle(job.id().clone()).wait().map_ok(drop));
        waits.await.unwrap();
    });
}

#[test]
fn calls_are_made_between_the_results_of_others() {
    on_each_runtime(async || {
        let client = client(SlowService::default());
        let mut jobs = stream::iter(0..300)
            .map(|number| client.jobs().handle(format!("job_{number}")).get())
            .buffer_unordered(100);
        while let Some(job) = jobs.next().await {
            let handle = client.jobs().handle(job.unwrap().id);
            handle.status().await.unwrap();
        }
    });
}

#[test]
fn updates_that_are_held_in_the_middle_of_a_poll_stop_no_wait() {
    on_each_runtime(async || {
        let client = client(SlowService::default());
        let job = client.jobs().handle("job_1");
        let mut updates = job.updates();
        drop(updates.next().now_or_never());
        job.wait().await.unwrap();
        updates.result().await.unwrap();
    });
}

#[test]
fn updates_that_are_held_take_no_place_of_a_call() {
    on_each_runtime(async || {
        let client = builder::<Open>(SlowService::default()).max_in_flight(16).build().unwrap();
        let jobs = (0..16).map(|number| client.jobs().handle(format!("job_{number}")));
        let mut held: Vec<_> = jobs.map(|job| job.updates()).collect();
        for updates in &mut held {
            drop(updates.next().now_or_never());
        }
        tokio::task::yield_now().await;
        client.jobs().handle("job_1").get().await.unwrap();
        drop(held);
    });
}

#[test]
fn an_event_ends_a_wait_while_another_poll_is_held() {
    on_each_runtime(async || {
        let service = SlowService::default();
        service.running.lock().unwrap().push("job_1");
        let client = client(service.clone());
        let job = client.jobs().handle("job_1");
        let mut held = job.updates();
        drop(held.next().now_or_never());
        let notifier = WebhookNotifier::new();
        let mut updates = job.updates().webhook_notifier(&notifier);
        let first = updates.next().await.unwrap().unwrap();
        assert!(!first.is_finished());

        let mut held_again = job.updates();
        drop(held_again.next().now_or_never());
        service.running.lock().unwrap().clear();
        let event = serde_json::json!({"event": "job.completed", "job_id": "job_1"});
        let event: WebhookEvent = serde_json::from_value(event).unwrap();
        notifier.notify(&event);
        let last = updates.next().await.unwrap().unwrap();
        assert!(last.is_finished());
        drop((held, held_again));
    });
}

#[test]
fn calls_and_waits_are_futures_for_tasks() {
    on_each_runtime(async || {
        let client = client(SlowService::default());
        let job = client.jobs().handle("job_1");
        let calls = join_all([job.get(), job.get()]).await;
        assert!(calls.iter().all(Result::is_ok));
        tokio::spawn(job.get().with_response()).await.unwrap().unwrap();
        let mut waits = tokio::task::JoinSet::new();
        waits.spawn(job.wait());
        waits.spawn(job.wait());
        assert!(waits.join_all().await.iter().all(Result::is_ok));
    });
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_neither_a_task_nor_a_place_behind() {
    let mut ended = 0;
    for steps in 0..40 {
        let responses = [busy(1), json(202, RECEIPT)];
        let script = Script::with_latency(responses, Duration::from_millis(300));
        let client = builder::<Open>(ScriptedTransport(script)).max_in_flight(1).build().unwrap();
        let mut submit = client.videos().generate(video());
        let mut has_ended = (&mut submit).now_or_never().is_some();
        for _ in 0..steps {
            tokio::time::advance(Duration::from_millis(50)).await;
            has_ended = has_ended || (&mut submit).now_or_never().is_some();
        }
        ended += usize::from(has_ended);
        drop(submit);
        tokio::task::yield_now().await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
        assert_eq!(client.core.in_flight.available_permits(), 1);
    }
    assert!((1..10).contains(&ended), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn a_poll_ends_with_the_last_wait_that_shares_it() {
    let script = Script::new([Step::NoResponse]);
    let client = open_client(&script);
    let job = client.jobs().handle("job_1");
    let mut waits = [job.updates(), job.updates()];
    for wait in &mut waits {
        assert!(wait.next().now_or_never().is_none());
    }
    clock::sleep(Duration::from_secs(1)).await;
    let alive = || Handle::current().metrics().num_alive_tasks();
    let [first, second] = waits;
    drop(first);
    tokio::task::yield_now().await;
    assert_eq!((alive(), script.requests().len()), (1, 1));
    drop(second);
    tokio::task::yield_now().await;
    assert_eq!(alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_holds_on_a_thread_that_is_busy() {
    const BUSY: Duration = Duration::from_secs(4);

    let script = Script::new([Step::NoResponse]);
    let job = open_client(&script).jobs().handle("job_1");
    for (seconds, is_wait) in [(8, false), (8, true), (10, false), (10, true)] {
        let limit = Duration::from_secs(seconds);
        let limited = match is_wait {
            true => job.wait().timeout(limit).map_ok(drop).boxed(),
            false => job.get().timeout(limit).map_ok(drop).boxed(),
        };
        let began = clock::now();
        let busy = pin!(async {
            loop {
                tokio::time::advance(BUSY).await;
            }
        });
        let Either::Left((result, _)) = select(limited, busy).await;
        let error = result.unwrap_err();
        assert!(error.is_timeout() || error.is_wait_timeout(), "{error}");
        let late = clock::now() - began - limit;
        assert!(late <= 2 * BUSY, "{error} {late:?} late");
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_begins_with_the_first_poll() {
    let script = Script::with_latency([json(200, JOB)], Duration::from_secs(3));
    let job = open_client(&script).jobs().handle("job_1");
    let call = job.get().timeout(Duration::from_secs(5));
    clock::sleep(Duration::from_secs(10)).await;
    call.await.unwrap();

    let mut call = job.get().timeout(Duration::from_secs(5));
    assert!((&mut call).now_or_never().is_none());
    clock::sleep(Duration::from_secs(10)).await;
    call.await.expect("the answer arrived in time");
}

#[tokio::test]
#[should_panic(expected = "the observer fails")]
async fn a_panic_goes_on_in_the_caller() {
    struct Panicking;

    impl crate::observe::Observer for Panicking {
        fn on_call_end(&self, _: &crate::observe::CallEnd<'_>) {
            panic!("the observer fails");
        }
    }

    let client = builder::<Open>(SlowService::default()).observer(Panicking);
    let client = client.build().unwrap();
    drop(client.jobs().handle("job_1").get().await);
}

#[test]
fn a_runtime_is_needed_and_may_be_shut_down() {
    let client = client(SlowService::default());
    let job = client.jobs().handle("job_1");
    for error in [
        job.get().now_or_never().unwrap().unwrap_err(),
        job.wait().now_or_never().unwrap().unwrap_err(),
    ] {
        assert!(error.to_string().contains("no tokio runtime"), "{error}");
        assert!(!error.may_have_been_sent());
    }

    let runtime = Builder::new_current_thread().build().unwrap();
    let mut submit = client.videos().generate(video());
    runtime.block_on(async { assert!((&mut submit).now_or_never().is_none()) });
    drop(runtime);
    let error = submit.now_or_never().unwrap().unwrap_err();
    assert!(error.is_ambiguous() && error.idempotency_key().is_some(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_group_ends_with_its_tasks() {
    let script = Script::new([Step::NoResponse]);
    let group = TaskGroup::default();
    let client = builder::<Open>(ScriptedTransport(Arc::clone(&script))).task_group(&group);
    let client = client.build().unwrap();
    let job = client.jobs().handle("job_1");
    let mut calls = [job.get(), job.get()];
    assert!((&mut calls[0]).now_or_never().is_none());
    tokio::task::yield_now().await;
    group.end();
    for error in join_all(calls).await {
        error.unwrap_err();
    }
    assert_eq!(script.requests().len(), 1);
}
