//! The worker, in virtual time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use svc_webhook_inbox::{
    ClaimRequest, Clock, EventRetryPolicy, EventState, EventStore, EventStoreErrorKind,
    HandlerError, HandlingOutcome, Inbox, InsertOutcome, ListQuery, MemoryEventStore, StoredEvent,
    Worker,
};
use tokio::time::{Instant, sleep};

use crate::stores::job_event;

/// An inbox whose store follows the paused clock of the runtime.
async fn inbox(events: u32) -> Inbox {
    let start = Instant::now();
    let now =
        move || -> SystemTime { UNIX_EPOCH + Duration::from_secs(1_700_000_000) + start.elapsed() };
    let inbox = Inbox::new(MemoryEventStore::new().clock(Clock::new(now)));
    for number in 0..events {
        let event = job_event("job.completed", &format!("job_{number}"));
        inbox.store().insert(event).await.unwrap();
    }
    inbox
}

async fn events(inbox: &Inbox) -> Vec<StoredEvent> {
    inbox.store().list(&ListQuery::default()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn events_are_handled_concurrently_up_to_the_limit() {
    let inbox = inbox(20).await;
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let seen = Arc::clone(&most);
    Worker::new(inbox.clone(), move |_| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        async move {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            sleep(Duration::from_secs(1)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    })
    .concurrency(5)
    .run_until(sleep(Duration::from_secs(30)))
    .await;
    assert_eq!(seen.load(Ordering::SeqCst), 5);
    assert_eq!(inbox.store().stats().await.unwrap().handled, 20);
}

#[tokio::test(start_paused = true)]
async fn a_failed_event_is_retried_with_backoff_and_given_up_in_the_end() {
    let inbox = inbox(1).await.retry_policy(EventRetryPolicy {
        max_attempts: 3,
        initial_delay: Duration::from_secs(10),
        max_delay: Duration::from_secs(60),
    });
    let start = Instant::now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&times);
    Worker::new(inbox.clone(), move |_| {
        record.lock().unwrap().push(start.elapsed().as_secs());
        async { Err(HandlerError::retry("database locked")) }
    })
    .run_until(sleep(Duration::from_secs(120)))
    .await;
    assert_eq!(*times.lock().unwrap(), [0, 10, 30]);
    let events = events(&inbox).await;
    assert_eq!(events[0].state, EventState::Dead);
    assert_eq!(events[0].last_error.as_deref(), Some("database locked"));
}

#[tokio::test(start_paused = true)]
async fn a_handler_decides_when_to_retry_and_when_to_give_up() {
    let inbox = inbox(1).await;
    let start = Instant::now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&times);
    Worker::new(inbox.clone(), move |event| {
        record.lock().unwrap().push(start.elapsed().as_secs());
        async move {
            match event.attempts {
                1 => Err(HandlerError::retry_after(Duration::from_secs(45), "not yet")),
                _ => Err(HandlerError::permanent("the job is not ours")),
            }
        }
    })
    .run_until(sleep(Duration::from_secs(120)))
    .await;
    assert_eq!(*times.lock().unwrap(), [0, 45]);
    assert_eq!(events(&inbox).await[0].state, EventState::Dead);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_handler_is_a_failed_attempt() {
    let inbox = inbox(1).await;
    Worker::new(inbox.clone(), |event: StoredEvent| async move {
        assert!(event.attempts > 1, "the first attempt fails");
        Ok(())
    })
    .run_until(sleep(Duration::from_secs(10)))
    .await;
    let events = events(&inbox).await;
    assert_eq!((events[0].state, events[0].attempts), (EventState::Handled, 2));
    assert!(events[0].last_error.as_deref().unwrap().contains("panic"));
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_slow_handler_is_extended() {
    let inbox = inbox(1).await.lease_duration(Duration::from_secs(30));
    Worker::new(inbox.clone(), |_| async {
        sleep(Duration::from_secs(100)).await;
        Ok(())
    })
    .run_until(sleep(Duration::from_secs(110)))
    .await;
    let events = events(&inbox).await;
    assert_eq!((events[0].state, events[0].attempts), (EventState::Handled, 1));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_running_handlers() {
    let inbox = inbox(2).await;
    Worker::new(inbox.clone(), |_| async {
        sleep(Duration::from_secs(5)).await;
        Ok(())
    })
    .concurrency(1)
    .run_until(sleep(Duration::from_secs(1)))
    .await;
    let stats = inbox.store().stats().await.unwrap();
    assert_eq!((stats.handled, stats.pending), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_workers_die_is_given_up_after_its_attempts() {
    let inbox = inbox(1).await.lease_duration(Duration::from_secs(30));
    let policy = EventRetryPolicy { max_attempts: 2, ..EventRetryPolicy::default() };
    let inbox = inbox.retry_policy(policy);
    for _ in 0..2 {
        assert_eq!(inbox.claim("dies", 1).await.unwrap().len(), 1);
        sleep(Duration::from_secs(30)).await;
    }
    assert!(inbox.claim("dies", 1).await.unwrap().is_empty());
    let event = events(&inbox).await.remove(0);
    assert_eq!(event.state, EventState::Dead);
    assert!(event.last_error.unwrap().contains("2 attempts"));
}

#[tokio::test(start_paused = true)]
async fn finished_events_are_purged() {
    let inbox = inbox(1).await;
    Worker::new(inbox.clone(), |_| async { Ok(()) })
        .purge_after(Duration::from_secs(3600))
        .run_until(sleep(Duration::from_secs(3 * 3600)))
        .await;
    assert!(events(&inbox).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dead_event_is_forgotten_if_the_inbox_says_so() {
    for forget_dead in [false, true] {
        let inbox = inbox(1).await.forget_dead(forget_dead);
        Worker::new(inbox.clone(), |_| async { Err(HandlerError::permanent("not ours")) })
            .run_until(sleep(Duration::from_secs(1)))
            .await;
        assert_eq!(inbox.store().stats().await.unwrap().dead, 1);
        let again = inbox.store().insert(job_event("job.completed", "job_0")).await;
        let is_new = matches!(again.unwrap(), InsertOutcome::Inserted(_));
        assert_eq!(is_new, forget_dead);
    }
}

#[tokio::test]
async fn memory_is_limited_and_handled_events_make_room() {
    let store = MemoryEventStore::new().max_bytes(10_000);
    let large = |job: &str| {
        let mut event = job_event("job.completed", job);
        event.body = vec![b' '; 4000].into();
        event
    };
    store.insert(large("job_1")).await.unwrap();
    store.insert(large("job_2")).await.unwrap();
    let full = store.insert(large("job_3")).await.unwrap_err();
    assert_eq!(full.kind(), EventStoreErrorKind::Full);
    let request = ClaimRequest::new("a", Duration::from_secs(60));
    let claimed = store.claim(&request).await.unwrap().remove(0);
    let handled = store.finish(&claimed.lease, HandlingOutcome::Handled);
    handled.await.unwrap();
    store.insert(large("job_3")).await.unwrap();
    // Only the key of the first event is left.
    assert!(store.get(&claimed.event.id).await.unwrap().is_none());
    let again = store.insert(large("job_1")).await.unwrap();
    assert_eq!(again, InsertOutcome::Duplicate);
}
