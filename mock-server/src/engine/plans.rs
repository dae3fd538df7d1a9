//! The limits of plans: requests per minute and concurrent jobs.

use serde::{Deserialize, Serialize};
use svc_sdk::contract::Plan;

/// The number of reads that a key has for each write, unless the deployment is configured otherwise.
pub(crate) const READS_PER_WRITE: u32 = 40;
/// The number of reads that an address without a key has for each write.
pub(crate) const UNAUTHENTICATED_READS_PER_WRITE: u32 = 4;

/// The limits of each plan: those of the specification, unless they are set.
///
/// ```
/// use svc_mock_server::engine::PlanLimits;
/// use svc_sdk::contract::Plan;
///
/// let mut limits = PlanLimits::default();
/// assert_eq!(limits.writes_per_minute(&Plan::Free), 120);
/// limits.set_writes_per_minute(Plan::Free, 10);
/// assert_eq!(limits.writes_per_minute(&Plan::Free), 10);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanLimits {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes_per_minute: Vec<(Plan, u32)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    concurrent_jobs: Vec<(Plan, u32)>,
}

impl PlanLimits {
    /// Returns the number of writes per minute. An unknown plan has those of [`Plan::Free`].
    #[must_use]
    pub fn writes_per_minute(&self, plan: &Plan) -> u32 {
        limit_of(&self.writes_per_minute, plan).unwrap_or(match plan {
            Plan::Pro => 300,
            Plan::Startup => 600,
            Plan::Scale | Plan::Enterprise => 1200,
            _ => 120,
        })
    }

    /// Returns the maximum number of jobs in flight. The specification does not define it; the
    /// defaults are the mock's own.
    #[must_use]
    pub fn concurrent_jobs(&self, plan: &Plan) -> u32 {
        limit_of(&self.concurrent_jobs, plan).unwrap_or(match plan {
            Plan::Pro => 200,
            Plan::Startup => 400,
            Plan::Scale | Plan::Enterprise => 800,
            _ => 100,
        })
    }

    /// Sets the number of writes per minute of a plan.
    pub fn set_writes_per_minute(&mut self, plan: Plan, writes: u32) {
        set_limit(&mut self.writes_per_minute, plan, writes);
    }

    /// Sets the maximum number of jobs in flight of a plan.
    pub fn set_concurrent_jobs(&mut self, plan: Plan, jobs: u32) {
        set_limit(&mut self.concurrent_jobs, plan, jobs);
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn limit_of(limits: &[(Plan, u32)], plan: &Plan) -> Option<u32> {
    let limit = limits.iter().find(|(known, _)| known == plan);
    limit.map(|(_, limit)| *limit)
}

fn set_limit(limits: &mut Vec<(Plan, u32)>, plan: Plan, limit: u32) {
    limits.retain(|(known, _)| *known != plan);
    limits.push((plan, limit));
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANS: [Plan; 5] = [Plan::Free, Plan::Pro, Plan::Startup, Plan::Scale, Plan::Enterprise];

    #[test]
    fn the_limit_of_one_plan_can_be_set() {
        let mut limits = PlanLimits::default();
        limits.set_writes_per_minute(Plan::Enterprise, 1);
        limits.set_writes_per_minute(Plan::Enterprise, 5000);
        limits.set_concurrent_jobs(Plan::Free, 2);
        assert_eq!(PLANS.map(|plan| limits.writes_per_minute(&plan)), [120, 300, 600, 1200, 5000]);
        assert_eq!(PLANS.map(|plan| limits.concurrent_jobs(&plan)), [2, 200, 400, 800, 800]);
    }
}
