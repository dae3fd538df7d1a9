//! The account: who a key is, what it may do, what is left and what was spent.

use serde::{Deserialize, Serialize};

use super::{Assumed, Extra, JobId, RunId, TopUpId, Usd};
use crate::contract::{Plan, Scope};
use crate::open_enum::open_enum;

/// Whether the service is up. Its fields are assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Health {
    /// For example `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Who calls: the answer of `GET /v1/me`, with which a new key is verified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Me {
    /// The key; never its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyMetadata>,
    /// Whose key it is. The shape is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<serde_json::Value>,
    /// The workspace that pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Assumed<Workspace>>,
    /// How many jobs may be in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_limits: Option<Assumed<GenerationLimits>>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is told of a key: never its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeyMetadata {
    /// Identifies the key.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The first characters of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// What it may do; fixed when it was made.
    #[serde(default, deserialize_with = "super::assumed::null_is_empty")]
    pub scopes: Vec<Scope>,
    /// When it was last used (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A workspace: what pays, and whose plan sets the limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Workspace {
    /// Identifies the workspace.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How many jobs may be in flight at once; another limit than that of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GenerationLimits {
    /// At most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent_jobs: Option<u64>,
    /// Now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is left to spend. Its fields are assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Balance {
    /// What can be spent.
    pub available_usd: Usd,
    /// What jobs in flight have reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_usd: Option<Usd>,
    /// For example `USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

open_enum! {
    /// What an entry of the usage ledger is.
    pub enum UsageKind {
        /// A submit put money aside.
        Reservation = "reservation",
        /// A completed job took what was put aside.
        Capture = "capture",
        /// A failed or canceled job gave it back.
        Refund = "refund",
        /// Money came in.
        TopUp = "top_up",
    }
}

/// An entry of the usage ledger. That there are the four kinds is the specification's; the fields
/// are assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UsageEntry {
    /// Identifies the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is.
    pub kind: UsageKind,
    /// How much; the kind says in which direction.
    pub amount_usd: Usd,
    /// The job that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// The run that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The top-up that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_up_id: Option<TopUpId>,
    /// When (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
