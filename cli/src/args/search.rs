//! Flags of a search.

use clap::Args;
use svc_sdk::types::Search;

/// The flags of a search.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What is looked for.
    #[arg(value_name = "QUERY")]
    query: String,
    /// How many at most.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl SearchArgs {
    /// The request's body.
    pub(crate) fn body(self) -> Search {
        let search = Search::new(self.query);
        match self.limit {
            Some(limit) => search.limit(limit),
            None => search,
        }
    }
}
