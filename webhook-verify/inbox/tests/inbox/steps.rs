//! The steps of `conformance.txt`, which are calls of a store. The language around them (conditions, variables,
//! `for`) is that of the crate `svc_test_script`.
//!
//! `insert TYPE JOB` or `insert BODY` gives the `id` or `duplicate`; `claim worker=a limit=1 in-order` gives
//! events with a `lease` of 60 seconds each, which `finish LEASE handled`, `finish LEASE retry SECONDS ERROR`,
//! `finish LEASE dead REASON` and `extend LEASE SECONDS` need (`finish next …` claims one before). `get ID`,
//! `list STATE limit=50 before=ID`, `forget TYPE JOB`, `replay ID`, `replay dead`, `replay received FROM TO`
//! (in seconds from now), `purge SECONDS`, `stats` and `advance SECONDS` are the others. `other …` is a step of
//! another process. A step without `=>` must not fail; a failure is `error=KIND`, and `.` is the whole result.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use svc_test_script::{Steps, Variables, at, check, split, substitute};
use svc_webhook_inbox::{
    ClaimRequest, EventId, EventState, EventStore, EventStoreError, HandlingOutcome, InsertOutcome,
    Lease, ListQuery, ReplayFilter, StoredEvent,
};
use svc_webhook_verify::DedupeKey;

use crate::stores::{TestStore, event, job_event, key};

const LEASE: Duration = Duration::from_secs(60);

/// A store under test, as two processes have it.
pub(crate) struct StoreSteps {
    test: TestStore,
    other: Arc<dyn EventStore>,
}

impl StoreSteps {
    pub(crate) async fn new(test: TestStore) -> Self {
        let other = test.open_again().await;
        Self { test, other }
    }

    async fn call(&self, store: &dyn EventStore, words: &[&str]) -> Value {
        match words {
            ["other", words @ ..] => Box::pin(self.call(&*self.other, words)).await,
            ["advance", duration] => {
                self.test.advance(seconds(duration));
                Value::Null
            }
            ["insert", new @ ..] => {
                let new = match new {
                    [event_type, job] => job_event(event_type, job),
                    body => event(&body.concat()),
                };
                match store.insert(new).await.unwrap() {
                    InsertOutcome::Inserted(id) => json!({"id": id.as_str()}),
                    InsertOutcome::Duplicate => json!({"duplicate": true}),
                }
            }
            ["claim", options @ ..] => {
                let worker = option(options, "worker").unwrap_or("a");
                let limit = option(options, "limit").map_or(1, |limit| limit.parse().unwrap());
                let request = ClaimRequest::new(worker, LEASE).limit(limit);
                let request = request.in_order(options.contains(&"in-order"));
                let claimed = store.claim(&request).await.unwrap();
                assert!(claimed.len() <= limit);
                let shown = claimed.iter().map(|claimed| {
                    let mut event = shown(&claimed.event);
                    event["lease"] =
                        format!("{}/{}", claimed.lease.id(), claimed.lease.token()).into();
                    event
                });
                shown.collect()
            }
            ["finish", "next", outcome @ ..] => {
                let claimed = store.claim(&ClaimRequest::new("a", LEASE)).await.unwrap();
                result(store.finish(&claimed[0].lease, outcome_of(outcome)).await)
            }
            ["finish", lease, outcome @ ..] => {
                result(store.finish(&lease_of(lease), outcome_of(outcome)).await)
            }
            ["extend", lease, duration] => {
                result(store.extend(&lease_of(lease), seconds(duration)).await)
            }
            ["get", id] => {
                let event = store.get(&EventId::new(*id)).await.unwrap();
                event.as_ref().map_or(Value::Null, shown)
            }
            ["list", options @ ..] => {
                let mut query = ListQuery::default();
                let is_named = |state: &EventState| options.contains(&state.as_str());
                query.state = EventState::ALL.into_iter().find(is_named);
                query.before = option(options, "before").map(EventId::new);
                query.limit = option(options, "limit").map_or(50, |limit| limit.parse().unwrap());
                store.list(&query).await.unwrap().iter().map(shown).collect()
            }
            ["forget", event_type, job] => {
                store.forget(&key(event_type, job)).await.unwrap().into()
            }
            ["replay", selected @ ..] => {
                let filter = match selected {
                    ["dead"] => ReplayFilter::Dead,
                    ["received", from, to] => {
                        ReplayFilter::ReceivedIn(self.ago(from)..self.ago(to))
                    }
                    id => ReplayFilter::Id(EventId::new(id.concat())),
                };
                store.replay(&filter).await.unwrap().into()
            }
            ["purge", age] => store.purge(seconds(age)).await.unwrap().into(),
            ["stats"] => {
                let stats = store.stats().await.unwrap();
                json!({
                    "pending": stats.pending,
                    "in_progress": stats.in_progress,
                    "handled": stats.handled,
                    "dead": stats.dead,
                    "oldest": stats.oldest_unfinished_age.map(|age| age.as_secs()),
                })
            }
            other => panic!("no step is {other:?}"),
        }
    }

    fn ago(&self, negative: &str) -> SystemTime {
        self.test.now() - seconds(negative.trim_start_matches('-'))
    }
}

impl Steps for StoreSteps {
    async fn run(&self, line: &str, _: &[String], variables: &mut Variables) -> Option<String> {
        let (step, expected) = line.split_once(" => ").unwrap_or((line, "!error"));
        let found = self.call(self.test.store(), &split(step, ' ')).await;
        split(expected, ' ').into_iter().find_map(|condition| {
            let condition = substitute(condition, variables);
            let actual = check(&condition, variables, |left| at(&found, left))?;
            Some(format!("{line}\n  not {condition}, but {actual} in {found}"))
        })
    }
}

fn seconds(number: &str) -> Duration {
    Duration::from_secs(number.parse().unwrap())
}

fn option<'w>(options: &[&'w str], name: &str) -> Option<&'w str> {
    options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
}

fn outcome_of(words: &[&str]) -> HandlingOutcome {
    match words {
        ["handled"] => HandlingOutcome::Handled,
        ["retry", after, error] => {
            HandlingOutcome::Retry { after: seconds(after), error: (*error).to_owned() }
        }
        ["dead", reason] => HandlingOutcome::Dead { reason: (*reason).to_owned() },
        other => panic!("no outcome is {other:?}"),
    }
}

fn lease_of(word: &str) -> Lease {
    let (id, token) = word.split_once('/').unwrap();
    Lease::new(EventId::new(id), token)
}

fn result(result: Result<(), EventStoreError>) -> Value {
    result.map_or_else(|error| json!({"error": format!("{:?}", error.kind())}), |()| Value::Null)
}

fn shown(event: &StoredEvent) -> Value {
    json!({
        "id": event.id.as_str(),
        "event_type": event.event_type,
        "resource": event.dedupe_key.as_ref().map(DedupeKey::resource_id),
        "state": event.state.as_str(),
        "attempts": event.attempts,
        "last_error": event.last_error,
    })
}
