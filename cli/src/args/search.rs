//! Flags of search commands.

use clap::Args;

use super::{BodyArgs, ListArgs};

/// Flags of a search command.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Search query
    #[arg(value_name = "QUERY", required_unless_present_any = ["params", "input"])]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    #[command(flatten)]
    pub(crate) body: BodyArgs,
}
