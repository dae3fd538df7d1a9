//! Plans of a workspace.

use crate::open_enum::open_enum;

open_enum! {
    /// The plan of a workspace, which sets its rate limits.
    pub enum Plan {
        /// 120 writes per minute.
        Free = "free",
        /// 300 writes per minute.
        Pro = "pro",
        /// 600 writes per minute.
        Startup = "startup",
        /// 1200 writes per minute.
        Scale = "scale",
        /// As contracted; until then the same as [`Plan::Scale`].
        Enterprise = "enterprise",
    }
}
