//! Plans and their per-minute budgets.

use super::Budget;
use crate::open_enum::open_enum;

/// How many reads go with each write of a key's budget, unless the deployment says otherwise.
pub const READ_MULTIPLE: u32 = 40;
/// How many reads go with each write for requests without a key.
pub const UNAUTHENTICATED_READ_MULTIPLE: u32 = 4;

open_enum! {
    /// The plan of a workspace.
    pub enum Plan {
        /// 120 writes a minute.
        Free = "free",
        /// 300 writes a minute.
        Pro = "pro",
        /// 600 writes a minute.
        Startup = "startup",
        /// 1200 writes a minute.
        Scale = "scale",
        /// As contracted; as [`Plan::Scale`] until provisioned.
        Enterprise = "enterprise",
    }
}

impl Plan {
    /// Writes a minute. A plan that this build does not know gets those of [`Plan::Free`].
    #[must_use]
    pub const fn writes_per_minute(&self) -> u32 {
        match self {
            Self::Free | Self::Other(_) => 120,
            Self::Pro => 300,
            Self::Startup => 600,
            Self::Scale | Self::Enterprise => 1200,
        }
    }

    /// Requests a minute of that budget, with the standard read multiple.
    ///
    /// A client should believe the `ratelimit-limit` header instead.
    #[must_use]
    pub const fn per_minute(&self, budget: Budget) -> u32 {
        match budget {
            Budget::Write => self.writes_per_minute(),
            Budget::Read => self.writes_per_minute() * READ_MULTIPLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_those_of_the_specification() {
        let rows = [
            (Plan::Free, 120, 4800),
            (Plan::Pro, 300, 12000),
            (Plan::Startup, 600, 24000),
            (Plan::Scale, 1200, 48000),
            (Plan::Enterprise, 1200, 48000),
        ];
        for (plan, writes, reads) in rows {
            assert_eq!(plan.per_minute(Budget::Write), writes, "{plan}");
            assert_eq!(plan.per_minute(Budget::Read), reads, "{plan}");
        }
    }
}
