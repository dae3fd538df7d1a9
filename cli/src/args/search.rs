//! Flags of search commands.

use clap::Args;
use svc_sdk::types::Search;

/// Flags of a search command.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Search query
    #[arg(value_name = "QUERY")]
    query: String,
    /// Maximum number of results
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl SearchArgs {
    /// Converts the flags into a request body.
    pub(crate) fn into_body(self) -> Search {
        let search = Search::new(self.query);
        match self.limit {
            Some(limit) => search.limit(limit),
            None => search,
        }
    }
}
