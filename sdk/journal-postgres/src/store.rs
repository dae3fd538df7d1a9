//! The store.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deadpool_postgres::Pool;
use svc_sdk::journal::store::{
    Begun, BudgetTotals, Change, Hold, IntentId, IntentPage, ListFilter, NewIntent, Owner,
    OwnerCalls, Phase, Store, StoreError, StoreFuture, StoredIntent, StoredRecord, SubmissionKey,
};
use svc_sdk::types::Usd;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::database::{Database, Parameter};
use crate::heartbeat::Heartbeat;
use crate::options::PostgresOptions;
use crate::{migrations, statements::Statements};

/// The pause of [`Store::changed`].
const PAUSE: Duration = Duration::from_millis(500);

/// The maximum number of attempts of a write that needs a new heartbeat.
const MAX_HEARTBEATS: u32 = 3;

const BEGIN: &str = "cannot write an intent to the database";
const APPEND: &str = "cannot write a record to the database";
const READ: &str = "cannot read the journal from the database";
const CLAIM: &str = "cannot claim an intent in the database";
const PURGE: &str = "cannot remove intents from the database";

/// A [`Store`] in a PostgreSQL database, which any number of machines can share.
///
/// Its clones are the same owner, which is gone when the last of them has been dropped.
#[derive(Clone)]
pub struct PostgresStore {
    database: Arc<Database>,
    heartbeat: Arc<Heartbeat>,
    calls: OwnerCalls,
    owner_timeout: Duration,
}

impl PostgresStore {
    /// Opens the store with default options, and creates its tables if they do not exist.
    ///
    /// A task on the present runtime tells the other processes that this one is running.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be reached or written, if its commits are not durable,
    /// or if its tables were created by a newer version of this crate.
    pub async fn new(pool: Pool) -> Result<Self, StoreError> {
        Self::with_options(pool, &PostgresOptions::default()).await
    }

    /// Opens the store with options, as [`new`](Self::new) does.
    ///
    /// # Errors
    ///
    /// Returns an error if an option is invalid, or for the reasons of [`new`](Self::new).
    pub async fn with_options(pool: Pool, options: &PostgresOptions) -> Result<Self, StoreError> {
        options.check()?;
        let schema = options.schema.as_deref().map(quote).unwrap_or_default();
        let database = Arc::new(Database::new(pool, Statements::new(&schema)));
        migrations::run(&database, &schema).await?;
        let heartbeat = Heartbeat::start(Arc::clone(&database), options.owner_timeout).await?;
        let (heartbeat, calls) = (Arc::new(heartbeat), OwnerCalls::default());
        Ok(Self { database, heartbeat, calls, owner_timeout: options.owner_timeout })
    }

    fn owner(&self) -> &str {
        self.heartbeat.owner()
    }
}

impl Store for PostgresStore {
    fn begin<'a>(&'a self, intent: &'a NewIntent) -> StoreFuture<'a, Begun> {
        Box::pin(async {
            let generation = i64::from(intent.generation);
            let reservation = intent.reservation.as_ref();
            let budget = reservation.map(|reservation| &reservation.budget);
            let amount = reservation.map(|reservation| reservation.amount.as_micros());
            let limit = reservation.map(|reservation| reservation.limit.as_micros());
            let parameters: [Parameter<'_>; 11] = [
                (&intent.id.as_str(), Type::TEXT),
                (&intent.namespace, Type::TEXT),
                (&intent.account, Type::TEXT),
                (&intent.submission_id, Type::TEXT),
                (&generation, Type::INT8),
                (&intent.is_permanent, Type::BOOL),
                (&intent.facts, Type::TEXT),
                (&budget, Type::TEXT),
                (&amount, Type::INT8),
                (&limit, Type::INT8),
                (&self.owner(), Type::TEXT),
            ];
            let sql = &self.database.statements.begin;
            let mut looked_again = false;
            for _ in 0..=MAX_HEARTBEATS {
                let read = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
                let read = self.database.query_one(BEGIN, sql, &parameters, read).await?;
                let (begun_at, is_later, is_fresh): (Option<SystemTime>, bool, bool) = read;
                match (begun_at, budget) {
                    (Some(begun_at), _) => return Ok(Begun::Written(begun_at)),
                    (None, _) if is_later => return Ok(Begun::GenerationTaken),
                    (None, _) if !is_fresh => self.heartbeat.refresh().await?,
                    // What used up the budget may be this very intent, begun on a connection that was lost.
                    (None, Some(_)) if !looked_again => looked_again = true,
                    (None, Some(budget)) => {
                        let totals = self.budget(&intent.namespace, budget).await?;
                        return Ok(Begun::OverBudget(totals));
                    }
                    (None, None) => return Ok(Begun::GenerationTaken),
                }
            }
            Err(StoreError::message(BEGIN))
        })
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        Box::pin(async {
            let phase = change.phase.map(phase_number);
            let reserved = change.hold.map(|hold| hold.reserved.as_micros());
            let captured = change.hold.map(|hold| hold.captured.as_micros());
            let undecided = change.hold.map(|hold| hold.undecided.as_micros());
            let parameters: [Parameter<'_>; 9] = [
                (&id.as_str(), Type::TEXT),
                (&change.record, Type::TEXT),
                (&phase, Type::INT2),
                (&reserved, Type::INT8),
                (&captured, Type::INT8),
                (&undecided, Type::INT8),
                (&change.stops_budget, Type::BOOL),
                (&change.resource, Type::TEXT),
                (&self.owner(), Type::TEXT),
            ];
            let sql = &self.database.statements.append;
            for _ in 0..MAX_HEARTBEATS {
                let read = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
                let rows = self.database.query(APPEND, sql, &parameters, read).await?;
                match rows.first().ok_or_else(StoreError::not_found)? {
                    (true, true) => return Ok(()),
                    (true, false) => self.heartbeat.refresh().await?,
                    (false, _) => return Err(StoreError::not_owner()),
                }
            }
            Err(StoreError::message(APPEND))
        })
    }

    fn get<'a>(&'a self, submission: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>> {
        Box::pin(async {
            let parameters: [Parameter<'_>; 4] = [
                (&submission.namespace, Type::TEXT),
                (&submission.account, Type::TEXT),
                (&submission.submission_id, Type::TEXT),
                (&self.owner(), Type::TEXT),
            ];
            let sql = &self.database.statements.get;
            self.database.query(READ, sql, &parameters, stored_intent).await
        })
    }

    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>> {
        Box::pin(async {
            let parameters: [Parameter<'_>; 2] =
                [(&id.as_str(), Type::TEXT), (&self.owner(), Type::TEXT)];
            let sql = &self.database.statements.claim;
            let intents = self.database.query(CLAIM, sql, &parameters, stored_intent).await?;
            Ok(intents.into_iter().next())
        })
    }

    fn list<'a>(&'a self, filter: &'a ListFilter) -> StoreFuture<'a, IntentPage> {
        Box::pin(async {
            let position = i64::try_from(filter.position()?).unwrap_or(i64::MAX);
            // One more than asked for tells whether there are more.
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX).saturating_add(1);
            let parameters: [Parameter<'_>; 6] = [
                (&position, Type::INT8),
                (&filter.namespace, Type::TEXT),
                (&filter.include_closed, Type::BOOL),
                (&limit, Type::INT8),
                (&filter.resource, Type::TEXT),
                (&self.owner(), Type::TEXT),
            ];
            let sql = &self.database.statements.list;
            let read = |row: &Row| Ok((stored_intent(row)?, row.try_get("position")?));
            let mut rows = self.database.query(READ, sql, &parameters, read).await?;
            let has_more = rows.len() > filter.limit;
            rows.truncate(filter.limit);
            let last: i64 = rows.last().map_or(position, |(_, position)| *position);
            let intents = rows.into_iter().map(|(intent, _)| intent).collect();
            Ok(IntentPage { intents, next: has_more.then(|| last.to_string()) })
        })
    }

    fn budget<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, BudgetTotals> {
        Box::pin(async move {
            let parameters: [Parameter<'_>; 2] = [(&namespace, Type::TEXT), (&name, Type::TEXT)];
            let sql = &self.database.statements.budget;
            let read = |row: &Row| {
                Ok(BudgetTotals { hold: read_hold(row)?, is_stopped: row.try_get("is_stopped")? })
            };
            let totals = self.database.query(READ, sql, &parameters, read).await?;
            Ok(totals.first().copied().unwrap_or_default())
        })
    }

    fn purge(&self, older_than: SystemTime) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let parameters: [Parameter<'_>; 1] = [(&older_than, Type::TIMESTAMPTZ)];
            let sql = &self.database.statements.purge;
            let read = |row: &Row| row.try_get::<_, i64>(0);
            let count = self.database.query_one(PURGE, sql, &parameters, read).await?;
            Ok(count.unsigned_abs())
        })
    }

    fn changed(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            tokio::time::sleep(PAUSE).await;
            Ok(())
        })
    }

    fn owner_calls(&self) -> OwnerCalls {
        self.calls.clone()
    }

    fn owner_timeout(&self) -> Duration {
        self.owner_timeout
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The configuration of the pool may contain a password.
        f.debug_struct("PostgresStore").field("owner", &self.owner()).finish_non_exhaustive()
    }
}

/// Returns the quoted name of a schema and a dot, as a prefix of table names.
fn quote(schema: &str) -> String {
    format!("\"{}\".", schema.replace('"', "\"\""))
}

/// The phases in the order of their numbers.
const PHASES: [Phase; 5] =
    [Phase::Open, Phase::Accepted, Phase::Ended, Phase::Acknowledged, Phase::Released];

fn phase_number(phase: Phase) -> i16 {
    match phase {
        Phase::Open => 0,
        Phase::Accepted => 1,
        Phase::Ended => 2,
        Phase::Acknowledged => 3,
        Phase::Released => 4,
    }
}

/// Reads the amounts that an intent or a budget holds.
fn read_hold(row: &Row) -> Result<Hold, Error> {
    Ok(Hold {
        reserved: Usd::from_micros(row.try_get("reserved")?),
        captured: Usd::from_micros(row.try_get("captured")?),
        undecided: Usd::from_micros(row.try_get("undecided")?),
    })
}

fn stored_intent(row: &Row) -> Result<StoredIntent, Error> {
    let records: Vec<String> = row.try_get("records")?;
    let times: Vec<SystemTime> = row.try_get("record_times")?;
    let records = records.into_iter().zip(times);
    let phase: i16 = row.try_get("phase")?;
    let generation: i64 = row.try_get("generation")?;
    let owner: &str = row.try_get("owner_state")?;
    Ok(StoredIntent {
        id: IntentId::new(row.try_get::<_, String>("id")?),
        namespace: row.try_get("namespace")?,
        account: row.try_get("account")?,
        submission_id: row.try_get("submission_id")?,
        generation: u32::try_from(generation).unwrap_or(u32::MAX),
        facts: row.try_get("facts")?,
        records: records.map(|(record, at)| StoredRecord { record, at }).collect(),
        begun_at: row.try_get("begun_at")?,
        read_at: row.try_get("now")?,
        // The table has a constraint on the numbers.
        phase: usize::try_from(phase)
            .ok()
            .and_then(|phase| PHASES.get(phase).copied())
            .unwrap_or(Phase::Open),
        owner: match owner {
            "this" => Owner::This,
            "other" => Owner::Other,
            _ => Owner::Gone,
        },
        budget: row.try_get("budget")?,
        hold: read_hold(row)?,
    })
}
