//! Account reads: the key, its workspace, the balance and the usage ledger.

use super::response::response_body;
use super::{JobId, RunId, Timestamp, TopUpId, Usd};
use crate::contract::{Plan, Scope};
use crate::open_enum::open_enum;

response_body! {
    /// The health of the service. Its fields are assumed.
    #[derive(Default)]
    pub struct Health {
        /// The status, for example `ok`.
        optional status: String,
    }
}

response_body! {
    /// The caller, as `GET /v1/me` returns it to verify a key.
    #[derive(Default)]
    pub struct Me {
        /// The API key, without its secret.
        optional key: KeyMetadata,
        /// The owner of the key. The shape is not shown.
        optional owner: serde_json::Value,
        /// The workspace that is billed. Assumed.
        optional workspace: Workspace,
        /// The concurrency limits of generation jobs. Assumed.
        optional generation_limits: GenerationLimits,
    }
}

response_body! {
    /// Metadata of an API key. The secret is never returned.
    pub struct KeyMetadata {
        /// The key's identifier.
        required id: String,
        /// The key's name.
        optional name: String,
        /// The first characters of the key.
        optional prefix: String,
        /// The scopes, fixed when the key was created.
        list scopes: Scope,
        /// When the key was last used.
        optional last_used_at: Timestamp,
    }
}

response_body! {
    /// A workspace. It is billed, and its plan sets the limits.
    pub struct Workspace {
        /// The workspace's identifier.
        required id: String,
        /// The workspace's name.
        optional name: String,
        /// The workspace's plan.
        optional plan: Plan,
    }
}

response_body! {
    /// The concurrency limits of generation jobs. They are independent of the rate limits.
    #[derive(Default)]
    pub struct GenerationLimits {
        /// The maximum number of jobs in flight.
        optional concurrent_jobs: u64,
        /// The current number of jobs in flight.
        optional in_flight: u64,
    }
}

response_body! {
    /// The prepaid balance. Its fields are assumed.
    pub struct Balance {
        /// The amount that can be spent.
        required_amount available_usd: Usd,
        /// The amount reserved by jobs in flight.
        amount reserved_usd: Usd,
        /// The currency, for example `USD`.
        optional currency: String,
    }
}

open_enum! {
    /// The kind of an entry of the usage ledger.
    pub enum UsageKind {
        /// An amount was reserved when a job or run was submitted.
        Reservation = "reservation",
        /// A reserved amount was charged.
        Capture = "capture",
        /// A reserved amount was returned after a job failed or was canceled.
        Refund = "refund",
        /// The balance was topped up.
        TopUp = "top_up",
    }
}

response_body! {
    /// An entry of the usage ledger. The fields and their names are assumed.
    pub struct UsageEntry {
        /// The entry's identifier.
        optional id: String,
        /// The kind of the entry.
        required kind: UsageKind,
        /// The amount. The kind determines its direction.
        required_amount amount_usd: Usd,
        /// The job that the entry belongs to.
        optional job_id: JobId,
        /// The run that the entry belongs to.
        optional run_id: RunId,
        /// The top-up that the entry belongs to.
        optional top_up_id: TopUpId,
        /// When the entry was made.
        optional created_at: Timestamp,
    }
}
