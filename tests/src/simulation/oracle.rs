//! What must hold of every simulation, and the checks of the service's books.

use std::fmt;

use serde_json::Value;
use svc_sdk::types::Usd;

/// Declares the oracles, each with its name in reports.
macro_rules! oracles {
    ($($(#[$doc:meta])+ $oracle:ident => $name:literal,)+) => {
        /// A property that must hold at all times.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Oracle {
            $($(#[$doc])+ $oracle,)+
        }

        impl Oracle {
            pub const ALL: &[Self] = &[$(Self::$oracle),+];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$oracle => $name,)+
                }
            }
        }
    };
}

oracles! {
    /// The ledger of each workspace adds up.
    Ledger => "ledger",
    /// Nothing is carried out twice, and nothing is sent twice that must not be.
    Once => "once",
    /// Each call ends by its time limit.
    Timeout => "timeout",
    /// What was paid for has its id or its key in a journal.
    NothingLost => "nothing_lost",
    /// Spend limits are kept, and what they hold adds up.
    Budget => "budget",
    /// No credential leaves its origin.
    Credential => "credential",
    /// A client alone on its key meets no 429, and waits as long as the service asks.
    RateLimit => "rate_limit",
    /// A restored service answers as the original.
    Restore => "restore",
    /// Webhooks are signed with the workspace's secret.
    Webhook => "webhook",
    /// A downloaded file is the artifact.
    Download => "download",
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

pub(super) fn micros(value: &Value, field: &str) -> i64 {
    text(value, field).parse::<Usd>().map_or(i64::MIN / 8, Usd::as_micros)
}

/// The movements of one job, run or top-up.
#[derive(Debug, Default)]
pub(super) struct Movements {
    pub(super) reserved: Vec<i64>,
    pub(super) captured: Vec<i64>,
    pub(super) refunded: Vec<i64>,
    /// How much of its charge is in the sums of spend limits.
    pub(super) counted: i64,
}

impl Movements {
    /// Returns what it costs, as far as that is known.
    pub(super) fn charge(&self) -> i64 {
        self.reserved.iter().sum::<i64>() - self.refunded.iter().sum::<i64>()
    }

    /// Returns why they do not add up.
    pub(super) fn check(&self, id: &str) -> Option<String> {
        let sums = [&self.reserved, &self.captured, &self.refunded];
        let [reserved, captured, refunded] = sums.map(|amounts| amounts.iter().sum::<i64>());
        (captured + refunded > reserved).then(|| {
            format!("{id}: {reserved} reserved, but {captured} captured, {refunded} refunded")
        })
    }
}

/// Returns what an entry of the ledger is about.
pub(super) fn subject(entry: &Value) -> &str {
    let fields = ["job_id", "run_id", "top_up_id"];
    fields.iter().find_map(|field| entry[field].as_str()).unwrap_or_default()
}

/// Returns why the movements of a job do not agree with its status.
pub(super) fn check_job(job: &Value, movements: &Movements) -> Option<String> {
    let Movements { reserved, captured, refunded, .. } = movements;
    let expected: (&[i64], &[i64]) = match text(job, "status") {
        "completed" => (reserved, &[]),
        "failed" | "canceled" => (&[], reserved),
        _ => (&[], &[]),
    };
    let is_right = reserved.len() == 1 && (captured.as_slice(), refunded.as_slice()) == expected;
    (!is_right).then(|| {
        let (id, status) = (text(job, "id"), text(job, "status"));
        format!(
            "{id} is {status}: reserved {reserved:?}, captured {captured:?}, refunded {refunded:?}"
        )
    })
}

/// Returns the first place at which two documents differ.
pub(super) fn difference(left: &Value, right: &Value, path: &str) -> Option<String> {
    // Most documents are equal, and paths are not needed for those.
    if left == right {
        return None;
    }
    match (left, right) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(name, value)| {
                difference(value, b.get(name).unwrap_or(&Value::Null), &format!("{path}/{name}"))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (a, b))| difference(a, b, &format!("{path}/{index}")))
        }
        _ => Some(path.to_owned()),
    }
}
