//! Amounts and points in time as people read them. JSON contains the exact values instead.

use jiff::Timestamp;
use svc_sdk::types::{self, Artifact, AvatarVideo, ErrorBody, Redelivery, Usd};

use crate::clock;
use crate::output::Table;
use crate::text::sanitize;

const DAY: i64 = 86_400;

/// Formats an amount: `$0.29`, with more digits only where they are needed.
pub(crate) fn money(amount: Usd) -> String {
    let micros = amount.as_micros();
    // Half a unit of the last place is rounded up.
    let units = (micros.unsigned_abs() + 50) / 100;
    let (dollars, fraction) = (units / 10_000, format!("{:04}", units % 10_000));
    let places = fraction.trim_end_matches('0').len().max(2);
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}${dollars}.{fraction:.places$}")
}

/// Formats an amount, or returns an empty text if there is none.
pub(crate) fn optional_money(amount: Option<Usd>) -> String {
    amount.map(money).unwrap_or_default()
}

/// Formats the time since a point in time: `3 min ago`. Empty if there is none.
pub(crate) fn time_ago(then: Option<&types::Timestamp>) -> String {
    then.map(|then| ago(then.unix_seconds())).unwrap_or_default()
}

/// Formats the time since a point in time, and the time itself: `3 min ago (2026-01-02 10:00:05 UTC)`.
pub(crate) fn time_ago_and_date(then: Option<&types::Timestamp>) -> Option<String> {
    let then = then?;
    Some(format!("{} ({} UTC)", ago(then.unix_seconds()), date_and_time(then)))
}

/// Formats a point in time to the second: `2026-01-02 10:00:05`, in UTC.
pub(crate) fn date_and_time(at: &types::Timestamp) -> String {
    match Timestamp::from_second(at.unix_seconds()) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => at.to_string(),
    }
}

/// Formats the time since a second of Unix time: `3 min ago`.
pub(crate) fn ago(then: i64) -> String {
    format_age(clock::now().as_second().saturating_sub(then))
}

/// A negative number of seconds, from a clock ahead of this one, is 0.
fn format_age(seconds: i64) -> String {
    let (count, unit) = match seconds.max(0) {
        seconds @ ..60 => (seconds, "s"),
        seconds @ ..3600 => (seconds / 60, "min"),
        seconds @ ..DAY => (seconds / 3600, "h"),
        seconds => match seconds / DAY {
            1 => (1, "day"),
            days @ ..60 => (days, "days"),
            days @ ..730 => (days / 30, "months"),
            days => (days / 365, "years"),
        },
    };
    format!("{count} {unit} ago")
}

pub(crate) fn artifact_label(artifact: &Artifact) -> &str {
    artifact.content_type.as_deref().unwrap_or("artifact")
}

/// Returns the code of an error, or its message if it has no code.
pub(crate) fn error_label(error: &ErrorBody) -> &str {
    match error.code.as_str() {
        "" => &error.message,
        code => code,
    }
}

pub(crate) fn error_text(error: &ErrorBody) -> String {
    match error.message.as_str() {
        "" => sanitize(error.code.as_str()),
        message if message.contains(error.code.as_str()) => sanitize(message),
        message => sanitize(&format!("{message} ({})", error.code)),
    }
}

pub(crate) fn add_artifacts<'a>(
    table: &mut Table,
    artifacts: impl IntoIterator<Item = &'a Artifact>,
) {
    for artifact in artifacts {
        table.field(artifact_label(artifact), artifact.url.as_ref());
    }
}

pub(crate) fn avatar_video(video: &AvatarVideo) -> Table {
    let mut table = Table::of(video, "id, status, avatar=avatar_handle, job=job_id");
    add_artifacts(&mut table, &video.artifacts);
    table
}

pub(crate) fn redelivery(redelivery: &Redelivery) -> Table {
    let mut table = Table::of(redelivery, "job=job_id, run=run_id, event");
    if let Some(delivery) = &redelivery.webhook_delivery {
        table.status_field("previous delivery", delivery.status.as_ref());
        let fields = "attempts, last status code=last_status_code, last error=last_error";
        table.fields(delivery, fields);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_two_to_four_decimal_places() {
        let rows = [
            (0, "$0.00"),
            (290_000, "$0.29"),
            (500_000, "$0.50"),
            (703_500, "$0.7035"),
            (120, "$0.0001"),
            (150, "$0.0002"),
            (1, "$0.00"),
            (12_000_000, "$12.00"),
            (-290_000, "-$0.29"),
            (i64::MIN, "-$9223372036854.7758"),
        ];
        for (micros, expected) in rows {
            assert_eq!(money(Usd::from_micros(micros)), expected);
        }
    }

    #[test]
    fn ages_have_one_unit() {
        let rows = [
            (-5, "0 s ago"),
            (59, "59 s ago"),
            (185, "3 min ago"),
            (7199, "1 h ago"),
            (DAY, "1 day ago"),
            (5 * DAY, "5 days ago"),
            (90 * DAY, "3 months ago"),
            (800 * DAY, "2 years ago"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(format_age(seconds), expected);
        }
    }

    #[test]
    fn dates_have_no_fraction_of_a_second() {
        let at: types::Timestamp = "2026-01-02T11:00:05.123456+01:00".parse().unwrap();
        assert_eq!(date_and_time(&at), "2026-01-02 10:00:05");
    }
}
