//! What was spent: captured amounts, less what was given back of them.

use std::collections::HashMap;

use svc_sdk::types::{JobId, RunId, UsageEntry, UsageKind};

/// An amount that was spent, or given back if it is negative.
#[derive(Debug, PartialEq)]
pub(super) struct Spend {
    /// The day, in UTC.
    pub(super) day: String,
    /// What it was spent for.
    pub(super) subject: Subject,
    /// The amount in millionths of a dollar.
    pub(super) micros: i64,
}

/// What an amount was spent for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject {
    /// A model that the entry names.
    Model(String),
    /// A job.
    Job(String),
    /// A run.
    Run,
    /// Anything else.
    Other,
}

/// The amounts of a job or run so far.
#[derive(Default)]
struct Account {
    reserved: i64,
    captured: i64,
}

/// Returns what was spent, oldest first.
///
/// A refund returns what is reserved first, which was not spent, and then what was captured.
pub(super) fn net_spend<'a>(
    newest_first: impl IntoIterator<Item = &'a UsageEntry, IntoIter: DoubleEndedIterator>,
) -> Vec<Spend> {
    let mut accounts: HashMap<&str, Account> = HashMap::new();
    let mut spends = Vec::new();
    for entry in newest_first.into_iter().rev() {
        let job = entry.job_id.as_ref().map(JobId::as_str);
        let run = entry.run_id.as_ref().map(RunId::as_str);
        let account = accounts.entry(job.or(run).unwrap_or_default()).or_default();
        let amount = entry.amount_usd.micros();
        let micros = match entry.kind {
            UsageKind::Reservation => {
                account.reserved = account.reserved.saturating_add(amount);
                0
            }
            UsageKind::Capture => {
                account.reserved = account.reserved.saturating_sub(amount).max(0);
                account.captured = account.captured.saturating_add(amount);
                amount
            }
            UsageKind::Refund => {
                let released = amount.min(account.reserved);
                let returned = (amount - released).min(account.captured);
                account.reserved -= released;
                account.captured -= returned;
                -returned
            }
            _ => 0,
        };
        if micros != 0 {
            let model = entry.extra.get_as::<String>("model");
            let subject = match (model, job, run) {
                (Some(model), ..) => Subject::Model(model),
                (None, Some(job), _) => Subject::Job(job.to_owned()),
                (None, None, Some(_)) => Subject::Run,
                (None, None, None) => Subject::Other,
            };
            let day = day_of(entry).to_owned();
            spends.push(Spend {
                day,
                subject,
                micros,
            });
        }
    }
    spends
}

/// Returns the day of an entry, as the service writes it, or an empty text if it has none.
pub(super) fn day_of(entry: &UsageEntry) -> &str {
    let moment = entry.created_at.as_ref().map_or("", |at| at.as_str());
    moment.split('T').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refunds_of_reservations_are_not_negative_spend() {
        let entry = |kind: &str, job: &str, amount: &str| json!({"kind": kind, "job_id": job, "amount_usd": amount, "created_at": "2026-01-02T10:00:00Z"});
        let rows = [
            // A job that completed for less than was reserved.
            (
                vec![
                    ("reservation", "2.0"),
                    ("capture", "0.5"),
                    ("refund", "1.5"),
                ],
                vec![500_000],
            ),
            // A job that failed.
            (vec![("reservation", "2.0"), ("refund", "2.0")], vec![]),
            // A job that was given back after it completed.
            (
                vec![
                    ("reservation", "2.0"),
                    ("capture", "2.0"),
                    ("refund", "2.0"),
                ],
                vec![2_000_000, -2_000_000],
            ),
            // The reservation is older than the entries that were read.
            (vec![("refund", "2.0")], vec![]),
            (vec![("capture", "0.25")], vec![250_000]),
        ];
        for (entries, expected) in rows {
            let newest_first = entries.iter().rev();
            let json = newest_first.map(|(kind, amount)| entry(kind, "job_1", amount));
            let entries: Vec<UsageEntry> =
                serde_json::from_value(json.collect::<Vec<_>>().into()).unwrap();
            let micros: Vec<i64> = net_spend(&entries).iter().map(|it| it.micros).collect();
            assert_eq!(micros, expected, "{entries:?}");
        }
    }

    #[test]
    fn a_spend_names_its_subject() {
        let entries: Vec<UsageEntry> = serde_json::from_value(json!([
            {"kind": "top_up", "amount_usd": "5.0", "top_up_id": "top_1"},
            {"kind": "capture", "amount_usd": "0.1"},
            {"kind": "capture", "amount_usd": "0.2", "run_id": "run_1"},
            {"kind": "capture", "amount_usd": "0.3", "job_id": "job_1"},
            {"kind": "capture", "amount_usd": "0.4", "job_id": "job_2", "model": "video-f"}
        ]))
        .unwrap();
        let subjects: Vec<Subject> = net_spend(&entries)
            .into_iter()
            .map(|it| it.subject)
            .collect();
        assert_eq!(
            subjects,
            [
                Subject::Model("video-f".into()),
                Subject::Job("job_1".into()),
                Subject::Run,
                Subject::Other
            ]
        );
    }
}
