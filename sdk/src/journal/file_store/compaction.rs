//! Compaction: a log is replaced by one with a higher number when most of its intents have ended, or
//! when it may have been damaged.
//!
//! Ended intents go to a file of the archive, which is never written again. The new log says where
//! they are, so that the archive is not read at the start.

use std::collections::HashMap;

use super::folder::{Folder, log_number};
use super::index::{Index, IndexEntry, LOG};
use super::line::{Archived, Budget, Line, Opened};
use super::log::{Log, Writer};
use crate::journal::store::{BudgetTotals, Hold, Phase, StoreError};

/// How many ended intents a log has at least when it is replaced.
pub(super) const MIN_ENDED: usize = if cfg!(test) { 4 } else { 1_000 };

/// How many archived intents a line of a log names.
const ARCHIVED_PER_LINE: usize = 100;

pub(super) fn is_worth(log: &Log) -> bool {
    let (in_log, ended, archived) = log.index.counts();
    // The new log lists all that is archived.
    ended >= MIN_ENDED && ended > in_log / 2 && ended > archived / 8
}

/// Replaces the log by one without ended intents.
pub(super) fn compact(folder: &Folder, mut log: Log) -> Result<Log, StoreError> {
    let Some(number) = log_number(log.path()).and_then(|number| number.checked_add(1)) else {
        return Ok(log);
    };
    let mut entries = log.index.after(0).to_vec();
    let mut ended = entries.iter_mut().filter(|entry| is_ended(entry)).peekable();
    if ended.peek().is_some() {
        folder.write_archive(number, |writer| {
            ended.try_for_each(|entry| {
                let position = writer.length();
                write_lines(&mut log, entry, writer)?;
                (entry.file, entry.position) = (number, position);
                Ok(())
            })
        })?;
    }
    folder.write_log(number, log.index.last_number(), |writer| {
        for budget in budgets_without(&log.index, &entries) {
            writer.write_line(&Line { budget: Some(budget), ..Line::new() })?;
        }
        write_entries(&mut log, &entries, writer)?;
        // A damaged line must not be the last one, which may be incomplete.
        writer.write_line(&Line { opened: Some(Opened::by_this_process()), ..Line::new() })
    })?;
    drop(log);
    let log = folder.refresh(None)?;
    let files = entries.iter().map(|entry| entry.file);
    folder.remove_old_files(number, &files.collect());
    Ok(log)
}

fn is_ended(entry: &IndexEntry) -> bool {
    entry.file == LOG && entry.phase >= Phase::Ended
}

/// Returns the sums of the budgets without what the intents of the new log hold, whose lines add that.
fn budgets_without(index: &Index, entries: &[IndexEntry]) -> Vec<Budget> {
    let mut held: HashMap<u32, BudgetTotals> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.file == LOG) {
        if let Some(budget) = entry.budget() {
            let totals = held.entry(budget).or_default();
            totals.hold.replace(Hold::default(), entry.hold);
        }
    }
    let budgets = index.budgets().map(|(number, (namespace, name), mut totals)| {
        let held = held.get(&number).copied().unwrap_or_default();
        totals.hold.replace(held.hold, Hold::default());
        Budget {
            namespace: namespace.clone(),
            name: name.clone(),
            hold: totals.hold,
            stopped: totals.is_stopped,
        }
    });
    budgets.collect()
}

/// Writes the lines of the intents that stay in the log, and where the others are.
fn write_entries(
    log: &mut Log,
    entries: &[IndexEntry],
    writer: &mut Writer,
) -> Result<(), StoreError> {
    let hashes = log.index.hashes();
    // In the order of the intents, so that they are added at the end of the index.
    for group in entries.chunk_by(|one, next| one.file != LOG && next.file != LOG) {
        for entries in group.chunks(ARCHIVED_PER_LINE) {
            if let [entry] = entries
                && entry.file == LOG
            {
                write_lines(log, entry, writer)?;
                continue;
            }
            let archived = entries.iter().map(|entry| {
                let hashes = hashes.get(&entry.number).copied().unwrap_or_default();
                Archived {
                    number: entry.number,
                    id_hash: hashes.0,
                    submission_hash: hashes.1,
                    resource_hash: hashes.2,
                    place: (entry.file, entry.position),
                    last_at: entry.last_at,
                    phase: entry.phase,
                    permanent: entry.is_permanent,
                    accepted: entry.was_accepted,
                    budget: entry.budget(),
                    hold: entry.hold,
                }
            });
            writer.write_line(&Line { archived: Some(archived.collect()), ..Line::new() })?;
        }
    }
    Ok(())
}

fn write_lines(log: &mut Log, entry: &IndexEntry, writer: &mut Writer) -> Result<(), StoreError> {
    for mut line in log.lines(entry)? {
        line.push(b'\n');
        writer.write(&line)?;
    }
    Ok(())
}
