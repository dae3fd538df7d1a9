//! A store in Redis.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{
    AsyncCommands, Client, FromRedisValue, IntoConnectionInfo, RedisError, Script, ScriptInvocation,
};
use svc_webhook_verify::DedupeKey;
use tokio::sync::Mutex;

use super::row;
use crate::clock::{Clock, duration_millis, from_millis, to_millis};
use crate::event::{EventId, EventState, NewEvent, StoredEvent};
use crate::headers;
use crate::store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreError, EventStoreErrorKind, HandlingOutcome,
    InsertOutcome, Lease, ListQuery, ReplayFilter, StoreStats,
};

/// The prefix of all keys.
const DEFAULT_PREFIX: &str = "svc-webhook-inbox:";
/// The time to wait for a connection or a response, so that a delivery is answered in time.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The number of events that are read, or replayed, in one step.
const BATCH: usize = 100;

/// The fields of an event, as Redis returns them.
type Fields = HashMap<String, Vec<u8>>;

/// A store in Redis 6.2 or later, or in a server that is compatible with it.
///
/// ```no_run
/// use svc_webhook_inbox::{Inbox, RedisEventStore};
///
/// # async fn open() -> Result<(), svc_webhook_inbox::EventStoreError> {
/// let inbox = Inbox::new(RedisEventStore::connect("redis://127.0.0.1/").await?);
/// # Ok(())
/// # }
/// ```
///
/// Any number of receivers and workers can share it. Every change is one script, which Redis
/// executes as a whole. Leases are measured by the clock of the server. Redis Cluster is not
/// supported.
///
/// An accepted event is as durable as a write to the server: with `appendfsync everysec`, the
/// default of its append-only file, a crash of the server's machine loses up to a second of events
/// that were acknowledged. Set `appendonly yes` and `appendfsync always` if no event may be lost.
#[derive(Clone)]
pub struct RedisEventStore {
    client: Client,
    connection: ConnectionManager,
    /// The connection on which an idle worker waits, which blocks it.
    waiting: Arc<Mutex<Option<MultiplexedConnection>>>,
    prefix: String,
    clock: Option<Clock>,
}

/// Defines scripts, each the library followed by a file.
macro_rules! scripts {
    ($($name:ident $file:literal,)+) => {
        $(static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(include_str!("redis/library.lua"), include_str!($file)))
        });)+
    };
}

scripts! {
    INSERT "redis/insert.lua",
    CLAIM "redis/claim.lua",
    EXTEND "redis/extend.lua",
    FINISH "redis/finish.lua",
    FORGET "redis/forget.lua",
    REPLAY "redis/replay.lua",
    PURGE "redis/purge.lua",
    STATS "redis/stats.lua",
}

impl RedisEventStore {
    /// Connects to a server, with an address such as `redis://127.0.0.1:6379/0`, or `rediss://…`
    /// for TLS.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is invalid, or if the server cannot be reached.
    pub async fn connect(address: &str) -> Result<Self, EventStoreError> {
        let invalid = |error: RedisError| {
            // The message of the parser does not quote the address, which may contain a password.
            let message = format!("invalid Redis address: {error}");
            EventStoreError::new(EventStoreErrorKind::Invalid, message)
        };
        let address = address.into_connection_info().map_err(invalid)?;
        let client = Client::open(address).map_err(invalid)?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(TIMEOUT))
            .set_response_timeout(Some(TIMEOUT))
            .set_number_of_retries(1);
        let connection = ConnectionManager::new_with_config(client.clone(), config)
            .await
            .map_err(|error| EventStoreError::unavailable("cannot connect to Redis", error))?;
        Ok(Self {
            client,
            connection,
            waiting: Arc::default(),
            prefix: DEFAULT_PREFIX.to_owned(),
            clock: None,
        })
    }

    /// Sets the prefix of the keys, for several inboxes on one server. The default is
    /// `svc-webhook-inbox:`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the clock, for tests. By default it is the clock of the server.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Returns the call of a script, with the prefix and the time.
    fn call(&self, script: &'static Script) -> ScriptInvocation<'static> {
        let now = self.clock.as_ref().map(|clock| clock.millis().to_string());
        let mut call = script.prepare_invoke();
        call.arg(&self.prefix).arg(now.unwrap_or_default());
        call
    }

    async fn run<T: FromRedisValue>(
        &self,
        call: &ScriptInvocation<'_>,
    ) -> Result<T, EventStoreError> {
        let mut connection = self.connection.clone();
        call.invoke_async(&mut connection).await.map_err(redis_error)
    }

    async fn now(&self) -> Result<i64, EventStoreError> {
        if let Some(clock) = &self.clock {
            return Ok(clock.millis());
        }
        let mut connection = self.connection.clone();
        let time: Result<(i64, i64), _> = redis::cmd("TIME").query_async(&mut connection).await;
        let (seconds, micros) = time.map_err(redis_error)?;
        Ok(seconds * 1000 + micros / 1000)
    }

    fn key(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.prefix)
    }

    async fn events(&self, ids: &[String], now: i64) -> Result<Vec<StoredEvent>, EventStoreError> {
        let mut pipeline = redis::pipe();
        for id in ids {
            pipeline.hgetall(self.key(&format!("event:{id}")));
        }
        let mut connection = self.connection.clone();
        let events: Vec<Fields> =
            pipeline.query_async(&mut connection).await.map_err(redis_error)?;
        // An event may have been purged in between.
        let present = events.iter().filter(|fields| !fields.is_empty());
        Ok(present.map(|fields| stored_event(fields, now)).collect())
    }

    async fn replay_ids(&self, ids: Vec<String>) -> Result<u64, EventStoreError> {
        let mut count = 0;
        for ids in ids.chunks(BATCH) {
            let mut call = self.call(&REPLAY);
            for id in ids {
                call.arg(id);
            }
            count += self.run::<u64>(&call).await?;
        }
        Ok(count)
    }
}

#[async_trait]
impl EventStore for RedisEventStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, EventStoreError> {
        let key = event.dedupe_key.as_ref().map(key_text).unwrap_or_default();
        let resource = event.dedupe_key.as_ref().map_or("", DedupeKey::resource_id);
        let mut call = self.call(&INSERT);
        call.arg(key).arg(&event.event_type).arg(resource);
        call.arg(headers::to_json(&event.headers)).arg(&event.body[..]);
        let id: Option<String> = self.run(&call).await?;
        Ok(id.map_or(InsertOutcome::Duplicate, |id| InsertOutcome::Inserted(EventId::new(id))))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, EventStoreError> {
        let mut call = self.call(&CLAIM);
        call.arg(duration_millis(request.lease_duration)).arg(&request.worker);
        call.arg(request.limit).arg(u8::from(request.in_order));
        let (now, claimed): (i64, Vec<Fields>) = self.run(&call).await?;
        let claimed = claimed.iter().map(|fields| {
            let event = stored_event(fields, now);
            row::claimed(event, text(fields, "claims"))
        });
        Ok(claimed.collect())
    }

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), EventStoreError> {
        let mut call = self.call(&EXTEND);
        call.arg(lease.id().as_str()).arg(lease.token()).arg(duration_millis(duration));
        row::check_held(self.run(&call).await?, lease)
    }

    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), EventStoreError> {
        let (state, after, error) = row::finished(outcome);
        let mut call = self.call(&FINISH);
        call.arg(lease.id().as_str()).arg(lease.token());
        call.arg(state).arg(after.map_or(0, duration_millis)).arg(error.unwrap_or_default());
        row::check_held(self.run(&call).await?, lease)
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, EventStoreError> {
        let mut call = self.call(&FORGET);
        call.arg(key_text(key));
        self.run(&call).await
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, EventStoreError> {
        let now = self.now().await?;
        let events = self.events(&[id.as_str().to_owned()], now).await?;
        Ok(events.into_iter().next())
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, EventStoreError> {
        let now = self.now().await?;
        let index = match query.state {
            Some(EventState::Handled) => "handled",
            Some(EventState::Dead) => "dead",
            _ => "all",
        };
        let mut before = match &query.before {
            Some(id) => format!("({id}"),
            None => "+inf".to_owned(),
        };
        let mut events = Vec::new();
        let mut connection = self.connection.clone();
        while events.len() < query.limit {
            let count = isize::try_from(BATCH).unwrap_or(isize::MAX);
            let ids: Vec<String> = connection
                .zrevrangebyscore_limit(self.key(index), &before, "-inf", 0, count)
                .await
                .map_err(redis_error)?;
            let Some(last) = ids.last() else { break };
            before = format!("({last}");
            let page = self.events(&ids, now).await?.into_iter();
            let matching =
                page.filter(|event| query.state.is_none_or(|state| event.state == state));
            events.extend(matching.take(query.limit - events.len()));
        }
        Ok(events)
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, EventStoreError> {
        let mut connection = self.connection.clone();
        let ids: Result<Vec<String>, RedisError> = match filter {
            ReplayFilter::Id(id) => Ok(vec![id.as_str().to_owned()]),
            ReplayFilter::Dead => connection.zrange(self.key("dead"), 0, -1).await,
            ReplayFilter::ReceivedIn(range) => {
                let to = format!("({}", to_millis(range.end));
                let key = self.key("received");
                connection.zrangebyscore(key, to_millis(range.start), to).await
            }
        };
        self.replay_ids(ids.map_err(redis_error)?).await
    }

    async fn purge(&self, age: Duration) -> Result<u64, EventStoreError> {
        let mut count = 0;
        loop {
            let mut call = self.call(&PURGE);
            call.arg(duration_millis(age));
            match self.run::<u64>(&call).await? {
                0 => return Ok(count),
                purged => count += purged,
            }
        }
    }

    async fn stats(&self) -> Result<StoreStats, EventStoreError> {
        let call = self.call(&STATS);
        let (pending, leased, handled, dead, oldest): (i64, i64, i64, i64, i64) =
            self.run(&call).await?;
        // Without an unfinished event, the age is negative.
        let oldest = Some(oldest).filter(|age| *age >= 0);
        Ok(row::stats([pending, leased, handled, dead], oldest))
    }

    async fn wait_for_events(&self, timeout: Duration) {
        let waited = async {
            let mut waiting = self.waiting.lock().await;
            if waiting.is_none() {
                // The response comes after the wait, so it has no timeout of its own.
                let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
                let connection = self.client.get_multiplexed_async_connection_with_config(&config);
                *waiting = Some(connection.await?);
            }
            let Some(connection) = waiting.as_mut() else { return Ok(()) };
            let mut wait = redis::cmd("BLPOP");
            wait.arg(self.key("wake")).arg(timeout.as_secs_f64().max(0.01));
            let result: Result<redis::Value, RedisError> = wait.query_async(connection).await;
            if result.is_err() {
                *waiting = None;
            }
            result.map(drop)
        };
        if let Err(error) = waited.await {
            tracing::debug!("cannot wait for events: {error}");
            tokio::time::sleep(timeout).await;
        }
    }
}

impl fmt::Debug for RedisEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a password.
        f.debug_struct("RedisEventStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

fn stored_event(fields: &Fields, now: i64) -> StoredEvent {
    let time = |name| text(fields, name).parse().ok();
    let due_at: Option<i64> = time("due_at");
    let state = row::state(&text(fields, "state"), due_at.is_some_and(|until| until > now));
    let (event_type, resource_id) = (text(fields, "event_type"), text(fields, "resource_id"));
    let has_key = !text(fields, "key").is_empty();
    StoredEvent {
        id: EventId::new(text(fields, "id")),
        dedupe_key: has_key.then(|| DedupeKey::new(&event_type, resource_id)),
        event_type,
        headers: headers::from_json(&text(fields, "headers")),
        body: fields.get("body").cloned().map(Bytes::from).unwrap_or_default(),
        received_at: from_millis(time("received_at").unwrap_or_default()),
        state,
        attempts: text(fields, "attempts").parse().unwrap_or_default(),
        due_at: due_at.map(from_millis),
        finished_at: time("finished_at").map(from_millis),
        last_error: fields.contains_key("last_error").then(|| text(fields, "last_error")),
    }
}

fn text(fields: &Fields, name: &str) -> String {
    let bytes = fields.get(name).map(Vec::as_slice).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// A name of an event contains no line break, so that different keys have different texts.
fn key_text(key: &DedupeKey) -> String {
    format!("{}\n{}", key.event(), key.resource_id())
}

fn redis_error(error: RedisError) -> EventStoreError {
    EventStoreError::unavailable("Redis failed", error)
}
