//! Compaction: a log is replaced by one with a higher number when most of its intents have ended, or
//! when it may have been damaged.
//!
//! Ended intents go to a file of the archive, which is never written again. The new log says where
//! they are, so that the archive is not read at the start.

use super::folder::{Folder, log_number};
use super::index::IndexEntry;
use super::line::{Line, Opened};
use super::log::{Log, Writer};
use crate::journal::store::{Hold, StoreError};

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
    let mut entries = log.index.entries().to_vec();
    let mut ended = entries.iter_mut().filter(|entry| entry.is_ended_in_log()).peekable();
    if ended.peek().is_some() {
        folder.write_archive(number, |writer| {
            ended.try_for_each(|entry| {
                let position = writer.length();
                write_lines(&mut log, entry, writer)?;
                (entry.archive, entry.last_line) = (Some((number, position)), None);
                Ok(())
            })
        })?;
    }
    let mut budgets = log.index.budgets().clone();
    for entry in entries.iter().filter(|entry| entry.is_in_log()) {
        // The lines of the intent add what it holds.
        if let Some(budget) = budgets.get_mut(&entry.budget) {
            budget.hold.replace(entry.hold, Hold::default());
        }
    }
    folder.write_log(number, log.index.last_number(), |writer| {
        for budget in budgets.into_values() {
            writer.write_line(&Line { budget: Some(budget), ..Line::new() })?;
        }
        write_entries(&mut log, &entries, writer)?;
        // A damaged line must not be the last one, which may be incomplete.
        writer.write_line(&Line { opened: Some(Opened::by_this_process()), ..Line::new() })
    })?;
    drop(log);
    let log = folder.refresh(None)?;
    let files = log.index.entries().iter().filter_map(|entry| entry.archive);
    folder.remove_old_files(number, &files.map(|(file, _)| file).collect());
    Ok(log)
}

/// Writes the lines of the intents that stay in the log, and where the others are, in the order of the
/// intents, so that they are added at the end of the index.
fn write_entries(
    log: &mut Log,
    entries: &[IndexEntry],
    writer: &mut Writer,
) -> Result<(), StoreError> {
    for group in entries.chunk_by(|one, next| !one.is_in_log() && !next.is_in_log()) {
        for entries in group.chunks(ARCHIVED_PER_LINE) {
            match entries {
                [entry] if entry.is_in_log() => write_lines(log, entry, writer)?,
                _ => {
                    let archived = Some(entries.to_vec());
                    writer.write_line(&Line { archived, ..Line::new() })?;
                }
            }
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
