//! The rate limits of plans.

use svc_sdk::contract::Plan;

/// The number of reads that a key has for each write, unless the deployment is configured otherwise.
pub(crate) const READS_PER_WRITE: u32 = 40;
/// The number of reads that an address without a key has for each write.
pub(crate) const UNAUTHENTICATED_READS_PER_WRITE: u32 = 4;

/// Returns the number of writes per minute. An unknown plan has those of [`Plan::Free`].
pub(crate) const fn writes_per_minute(plan: &Plan) -> u32 {
    match plan {
        Plan::Pro => 300,
        Plan::Startup => 600,
        Plan::Scale | Plan::Enterprise => 1200,
        _ => 120,
    }
}
