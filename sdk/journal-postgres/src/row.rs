//! Rows as intents.

use std::time::SystemTime;

use svc_sdk::journal::store::{Hold, IntentId, Owner, Phase, StoredIntent, StoredRecord};
use svc_sdk::types::Usd;
use tokio_postgres::{Error, Row};

/// The phases in the order of their numbers.
const PHASES: [Phase; 5] =
    [Phase::Open, Phase::Accepted, Phase::Ended, Phase::Acknowledged, Phase::Released];

pub(crate) fn phase_number(phase: Phase) -> i16 {
    match phase {
        Phase::Open => 0,
        Phase::Accepted => 1,
        Phase::Ended => 2,
        Phase::Acknowledged => 3,
        Phase::Released => 4,
    }
}

/// Reads the amounts that an intent or a budget holds.
pub(crate) fn read_hold(row: &Row) -> Result<Hold, Error> {
    Ok(Hold {
        reserved: Usd::from_micros(row.try_get("reserved")?),
        captured: Usd::from_micros(row.try_get("captured")?),
        undecided: Usd::from_micros(row.try_get("undecided")?),
    })
}

pub(crate) fn stored_intent(row: &Row) -> Result<StoredIntent, Error> {
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
