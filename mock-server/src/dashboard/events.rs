//! `GET /events`: what happens in the mock, as server-sent events.
//!
//! The event `request` has an entry of the request log as its data and the sequence number as
//! its id, so that a client that reconnects misses nothing. The event `change` says that anything
//! else may have changed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, unfold};
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use super::values::count;
use crate::control;
use crate::service::Service;

/// The time between comments that keep an idle connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long changes are collected before they are sent, so that a busy mock does not flood its clients.
const COLLECTION_TIME: Duration = Duration::from_millis(100);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// The sequence number after which requests are sent. The default is the last one.
    since: Option<u64>,
    only: Option<Only>,
}

/// The kind of events to send.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Only {
    Request,
    Change,
}

/// A client of the stream, and what was sent to it so far.
struct Subscriber {
    service: Service,
    revision: u64,
    generation: u64,
    since: u64,
    only: Option<Only>,
    unsent: VecDeque<Event>,
}

/// Starts the stream. `Last-Event-ID` takes precedence over `since`.
pub(super) async fn stream(
    State(service): State<Service>,
    parameters: Result<Query<Parameters>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let Parameters { since, only } = match parameters {
        Ok(Query(parameters)) => parameters,
        Err(error) => {
            let message =
                format!("{}: expected ?since=N, ?only=request or ?only=change", error.body_text());
            let body = json!({"error": {"code": "invalid_request", "message": message}});
            let json = [(axum::http::header::CONTENT_TYPE, "application/json")];
            return (StatusCode::BAD_REQUEST, json, body.to_string()).into_response();
        }
    };
    let last_id = headers.get("last-event-id");
    let last_id = last_id.and_then(|id| id.to_str().ok()?.parse().ok());
    let revision = service.revision();
    let (generation, last) = service.read(|state| {
        let simulator = &state.simulator;
        (simulator.generation(), simulator.state.request_log.last_seq())
    });
    let subscriber = Subscriber {
        service,
        // Requests before the start of the stream are sent at once.
        revision: if since.or(last_id).is_some() { u64::MAX } else { revision },
        generation,
        // A larger number is from before a reset or a restart.
        since: last_id.or(since).map_or(last, |seq| if seq > last { 0 } else { seq }),
        only,
        // The first event tells the client that the stream has started.
        unsent: VecDeque::from([Event::default().comment("started")]),
    };
    Sse::new(events(subscriber)).into_response()
}

fn events(subscriber: Subscriber) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(subscriber, |mut subscriber| async {
        loop {
            if let Some(event) = subscriber.unsent.pop_front() {
                return Some((Ok(event), subscriber));
            }
            subscriber.wait_and_collect().await;
        }
    })
}

impl Subscriber {
    async fn wait_and_collect(&mut self) {
        let changed = self.service.wait_for_change(self.revision, KEEP_ALIVE);
        let Some(revision) = changed.await else {
            self.unsent.push_back(Event::default().comment("idle"));
            return;
        };
        sleep(COLLECTION_TIME).await;
        self.revision = revision;
        let generation = self.service.read(|state| state.simulator.generation());
        if generation != self.generation {
            // After a reset or restore, the sequence numbers start again.
            (self.generation, self.since) = (generation, 0);
        }
        if self.only != Some(Only::Change) {
            let since = self.since;
            for entry in self.service.read(|state| state.simulator.requests(since)) {
                self.since = count(&entry, "/seq");
                let event = Event::default().event("request").id(self.since.to_string());
                self.unsent.push_back(event.data(entry.to_string()));
            }
        }
        if self.only != Some(Only::Request) {
            let clock = self.service.read(control::clock_view);
            let now = json!({"now": clock.get("now")});
            self.unsent.push_back(Event::default().event("change").data(now.to_string()));
        }
    }
}
