//! `svc webhook inbox purge`: the removal of old events.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::StoreArgs;
use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;
use crate::webhook::store_failure;

/// The flags of `svc webhook inbox purge`.
#[derive(Args, Debug)]
pub(crate) struct Purge {
    #[command(flatten)]
    store: StoreArgs,
    /// Minimum time since the event became handled or dead, such as 12h or 30d
    #[arg(long, value_name = "AGE", default_value = "7d")]
    older_than: Age,
}

/// An age: a number with `s`, `m`, `h` or `d`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Age(Duration);

#[derive(Serialize)]
struct Purged {
    /// The number of events that were removed.
    purged: u64,
}

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, factor) = match text.char_indices().last() {
            Some((at, 's')) => (&text[..at], 1),
            Some((at, 'm')) => (&text[..at], 60),
            Some((at, 'h')) => (&text[..at], 3600),
            Some((at, 'd')) => (&text[..at], 86_400),
            _ => (text, 1),
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = is_number
            .then(|| number.parse::<u64>().ok()?.checked_mul(factor))
            .flatten();
        let seconds = seconds.ok_or("expected an age such as 90s, 15m, 12h or 30d")?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Purge) -> Result<(), Failure> {
    let address = args.store.require(session)?;
    let store = address.open_existing().await?;
    let purged = store.purge(args.older_than.0).await;
    let purged = purged.map_err(|error| store_failure(&error))?;
    session.printer.print_item(&Purged { purged }, |report| {
        let mut table = Table::key_value();
        table.field("purged", Some(report.purged));
        table
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit_or_are_seconds() {
        let age = |text: &str| text.parse().map(|Age(age)| age.as_secs());
        assert_eq!(age("30d"), Ok(30 * 86_400));
        assert_eq!(age("12h"), Ok(12 * 3600));
        assert_eq!(age("0"), Ok(0));
        for wrong in ["", "d", "-1d", "1w", "99999999999999999999d"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
